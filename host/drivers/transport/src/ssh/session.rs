//! What an SSH session tells of itself while it runs.

use std::sync::Arc;

use russh::client::{DisconnectReason, Handler, Session};
use russh::keys::PublicKeyOrCertificate;
use russh::{ChannelId, ChannelOpenFailure};

use super::error::SshError;
use super::host_key::{HostKeys, describe};
use super::inbox::{End, Inbox};

/// Judges the host key, and puts what the channel brings into the inbox.
pub(super) struct Watch {
    server: String,
    expected: HostKeys,
    inbox: Arc<Inbox>,
}

impl Watch {
    pub(super) fn new(server: &str, expected: HostKeys, inbox: &Arc<Inbox>) -> Self {
        Self { server: server.to_owned(), expected, inbox: Arc::clone(inbox) }
    }
}

impl Handler for Watch {
    type Error = SshError;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, SshError> {
        let key = shown.public_key();
        let presented = describe(&key);
        if !self.expected.takes(&key) {
            return Err(SshError::HostKey { presented, expected: self.expected.describe() });
        }
        if self.expected.is_empty() {
            tracing::info!(
                server = self.server,
                host_key = presented,
                "the ssh server's host key is not checked; set ssh_config.host_key to it to have it checked"
            );
        }
        Ok(true)
    }

    async fn channel_open_failure(
        &mut self,
        _: ChannelId,
        _: ChannelOpenFailure,
        description: &str,
        _: &str,
        _: &mut Session,
    ) -> Result<(), SshError> {
        self.inbox.note_refusal(description);
        Ok(())
    }

    async fn data(&mut self, _: ChannelId, data: &[u8], _: &mut Session) -> Result<(), SshError> {
        self.inbox.put(data);
        Ok(())
    }

    async fn channel_eof(&mut self, _: ChannelId, _: &mut Session) -> Result<(), SshError> {
        self.inbox.finish(End::Closed);
        Ok(())
    }

    async fn channel_close(&mut self, _: ChannelId, _: &mut Session) -> Result<(), SshError> {
        self.inbox.finish(End::Closed);
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<SshError>) -> Result<(), SshError> {
        let (text, outcome) = match reason {
            DisconnectReason::ReceivedDisconnect(told) => {
                (format!("the server said {:?}", told.message), Ok(()))
            }
            DisconnectReason::Error(SshError::Ended(text)) => (text.clone(), Err(SshError::Ended(text))),
            DisconnectReason::Error(error) => (error.to_string(), Err(error)),
        };
        self.inbox.finish(End::Lost(text));
        outcome
    }
}
