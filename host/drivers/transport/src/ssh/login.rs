//! Logging in at an SSH server.

use std::sync::Arc;

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg};
use russh::{MethodKind, MethodSet};
use tarn_model::Secret;

use super::credentials::Credentials;
use super::error::SshError;
use super::session::Watch;
use crate::config::SSH_PROMPTS_MAX;

/// Logs in by key, then by password, as far as the server takes them. A server may want both.
pub(super) async fn log_in(
    session: &mut Handle<Watch>,
    user: &str,
    credentials: &Credentials,
) -> Result<(), SshError> {
    let mut login = Login { session, user, tried: Vec::new(), accepted: MethodSet::empty() };
    // The server names its methods to who has shown nothing yet.
    if login.show_nothing().await? {
        return Ok(());
    }
    if let Some(key) = &credentials.key
        && login.takes(MethodKind::PublicKey)
        && login.show_key(key).await?
    {
        return Ok(());
    }
    if let Some(password) = &credentials.password {
        if login.takes(MethodKind::Password) && login.tell_password(password).await? {
            return Ok(());
        }
        if login.takes(MethodKind::KeyboardInteractive) && login.answer_prompts(password).await? {
            return Ok(());
        }
    }
    Err(login.refused(credentials))
}

struct Login<'a> {
    session: &'a mut Handle<Watch>,
    user: &'a str,
    tried: Vec<&'static str>,
    accepted: MethodSet,
}

impl Login<'_> {
    fn takes(&self, method: MethodKind) -> bool {
        self.accepted.contains(&method)
    }

    async fn show_nothing(&mut self) -> Result<bool, SshError> {
        let result = self.session.authenticate_none(self.user).await?;
        self.note(result)
    }

    async fn show_key(&mut self, key: &Arc<PrivateKey>) -> Result<bool, SshError> {
        self.tried.push("its key");
        let hash = if key.algorithm().is_rsa() {
            self.session.best_supported_rsa_hash().await?.flatten().or(Some(russh::keys::HashAlg::Sha256))
        } else {
            None
        };
        let key = PrivateKeyWithHashAlg::new(Arc::clone(key), hash);
        let result = self.session.authenticate_publickey(self.user, key).await?;
        self.note(result)
    }

    async fn tell_password(&mut self, password: &Secret) -> Result<bool, SshError> {
        self.tried.push("its password");
        let result = self.session.authenticate_password(self.user, password.expose()).await?;
        self.note(result)
    }

    /// Answers the one hidden question that servers ask in place of a plain password. Whoever asks for
    /// more wants a person.
    async fn answer_prompts(&mut self, password: &Secret) -> Result<bool, SshError> {
        self.tried.push("its password as an answer");
        let mut reply = self.session.authenticate_keyboard_interactive_start(self.user, None).await?;
        for _ in 0..SSH_PROMPTS_MAX {
            let prompts = match reply {
                KeyboardInteractiveAuthResponse::Success => return Ok(true),
                KeyboardInteractiveAuthResponse::Failure { remaining_methods, partial_success } => {
                    return self.note(AuthResult::Failure { remaining_methods, partial_success });
                }
                KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => prompts,
            };
            let answers = match prompts.as_slice() {
                [] => Vec::new(),
                [prompt] if !prompt.echo => vec![password.expose().to_owned()],
                _ => return Ok(false),
            };
            reply = self.session.authenticate_keyboard_interactive_respond(answers).await?;
        }
        Ok(false)
    }

    /// Whether the server is content; else which methods it takes from here on.
    fn note(&mut self, result: AuthResult) -> Result<bool, SshError> {
        match result {
            AuthResult::Success => Ok(true),
            AuthResult::Failure { .. } if self.session.is_closed() => {
                Err(SshError::Ended("the server closed the connection during the login".to_owned()))
            }
            AuthResult::Failure { remaining_methods, .. } => {
                self.accepted = remaining_methods;
                Ok(false)
            }
        }
    }

    fn refused(self, credentials: &Credentials) -> SshError {
        let tried = match (self.tried.as_slice(), &credentials.key, &credentials.password) {
            ([], None, None) => "the peer has neither a password nor a key".to_owned(),
            ([], None, Some(_)) => "the peer has a password only".to_owned(),
            ([], Some(_), None) => "the peer has a key only".to_owned(),
            ([], Some(_), Some(_)) => "it takes neither key nor password".to_owned(),
            (tried, ..) => format!("{} did not do", tried.join(" and ")),
        };
        let names: Vec<&str> = self.accepted.iter().map(Into::into).collect();
        let accepted = if names.is_empty() { "no method".to_owned() } else { names.join(", ") };
        SshError::Login { user: self.user.to_owned(), tried, accepted }
    }
}
