//! Proving who we are, and with SCRAM also who the server is.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::frontend;
use tarn_model::Secret;

use crate::error::Error;

/// What authentication needs to know.
pub(crate) struct Credentials<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a Secret,
    /// The hash that binds SCRAM to the TLS connection, where there is one.
    pub(crate) end_point: Option<Vec<u8>>,
}

/// A conversation about the password.
pub(crate) struct Authentication<'a> {
    credentials: Credentials<'a>,
    scram: Scram,
}

enum Scram {
    NotUsed,
    Running(Box<ScramSha256>),
    /// The server proved that it knows the password.
    Finished,
}

/// What to do after a request of the server.
pub(crate) enum Step {
    Send(BytesMut),
    Nothing,
    /// The server is content.
    Done,
}

impl<'a> Authentication<'a> {
    pub(crate) fn new(credentials: Credentials<'a>) -> Self {
        Self { credentials, scram: Scram::NotUsed }
    }

    /// Answers the body of an authentication message: a code, then what the code calls for.
    pub(crate) fn answer(&mut self, body: &[u8]) -> Result<Step, Error> {
        let malformed = || Error::Protocol("a malformed authentication request".to_owned());
        let (code, rest) = body.split_first_chunk::<4>().ok_or_else(malformed)?;
        match u32::from_be_bytes(*code) {
            0 => self.done(),
            3 => self.plain(|password| password.to_vec()),
            5 => {
                let salt = rest.first_chunk::<4>().ok_or_else(malformed)?;
                let user = self.credentials.user.as_bytes();
                self.plain(|password| md5_hash(user, password, *salt).into_bytes())
            }
            10 => self.start_scram(rest),
            11 => self.go_on_with_scram(rest),
            12 => self.finish_scram(rest),
            code => Err(Error::Authentication(format!(
                "the server asks for method {code}, and only passwords (plain, md5, scram-sha-256) are supported"
            ))),
        }
    }

    fn password(&self) -> Result<&'a Secret, Error> {
        if self.credentials.password.is_empty() {
            return Err(Error::Authentication(
                "the server asks for a password, and the peer has none".to_owned(),
            ));
        }
        Ok(self.credentials.password)
    }

    fn plain(&self, encode: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<Step, Error> {
        let encoded = encode(self.password()?.expose().as_bytes());
        let mut message = BytesMut::new();
        frontend::password_message(&encoded, &mut message)
            .map_err(|_| Error::Authentication("the password holds a zero byte".to_owned()))?;
        Ok(Step::Send(message))
    }

    fn start_scram(&mut self, mechanisms: &[u8]) -> Result<Step, Error> {
        let offered: Vec<&[u8]> = mechanisms.split(|byte| *byte == 0).collect();
        let offers = |mechanism: &str| offered.contains(&mechanism.as_bytes());
        let (mechanism, binding) = match self.credentials.end_point.take() {
            Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
                (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))
            }
            Some(_) if offers(SCRAM_SHA_256) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None if offers(SCRAM_SHA_256) => (SCRAM_SHA_256, ChannelBinding::unsupported()),
            _ => {
                let reason = "the server offers no method that this connection can serve";
                return Err(Error::Authentication(reason.to_owned()));
            }
        };
        let scram = ScramSha256::new(self.password()?.expose().as_bytes(), binding);
        let mut message = BytesMut::new();
        frontend::sasl_initial_response(mechanism, scram.message(), &mut message).map_err(refused)?;
        self.scram = Scram::Running(Box::new(scram));
        Ok(Step::Send(message))
    }

    fn go_on_with_scram(&mut self, challenge: &[u8]) -> Result<Step, Error> {
        let Scram::Running(scram) = &mut self.scram else { return Err(out_of_order()) };
        scram.update(challenge).map_err(refused)?;
        let mut message = BytesMut::new();
        frontend::sasl_response(scram.message(), &mut message).map_err(refused)?;
        Ok(Step::Send(message))
    }

    fn finish_scram(&mut self, proof: &[u8]) -> Result<Step, Error> {
        let Scram::Running(scram) = &mut self.scram else { return Err(out_of_order()) };
        scram.finish(proof).map_err(|_| {
            Error::Authentication("the server could not prove that it knows the password".to_owned())
        })?;
        self.scram = Scram::Finished;
        Ok(Step::Nothing)
    }

    fn done(&self) -> Result<Step, Error> {
        match self.scram {
            Scram::NotUsed | Scram::Finished => Ok(Step::Done),
            Scram::Running(_) => Err(out_of_order()),
        }
    }
}

fn refused(error: std::io::Error) -> Error {
    Error::Authentication(format!("the scram exchange failed: {error}"))
}

fn out_of_order() -> Error {
    Error::Authentication("the server's scram messages come out of order".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(user: &str, password: &str, body: &[u8]) -> Result<Vec<u8>, Error> {
        let password = Secret::new(password);
        let mut exchange = Authentication::new(Credentials { user, password: &password, end_point: None });
        match exchange.answer(body)? {
            Step::Send(message) => Ok(message.to_vec()),
            Step::Nothing | Step::Done => Ok(Vec::new()),
        }
    }

    #[test]
    fn passwords_go_as_they_are_however_odd() {
        let message = sent("u", "p@ss:w/?ord# test", &[0, 0, 0, 3]).expect("a message");
        assert_eq!(message, b"p\0\0\0\x16p@ss:w/?ord# test\0");
    }

    #[test]
    fn md5_hashes_password_and_user_and_then_the_salt() {
        let message = sent("md5_user", "password", &[0, 0, 0, 5, 0x2a, 0x3d, 0x8f, 0xe0]).expect("a message");
        assert_eq!(&message[5..message.len() - 1], b"md562af4dd09bbb41884907a838a3233294");
    }

    #[test]
    fn what_cannot_be_served_is_refused_by_name() {
        let error = sent("u", "p", &[0, 0, 0, 7]).expect_err("gss");
        assert!(error.to_string().contains("method 7"), "{error}");
        let error = sent("u", "", &[0, 0, 0, 3]).expect_err("no password");
        assert!(error.to_string().contains("the peer has none"), "{error}");
        let error = sent("u", "p", b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0").expect_err("no binding");
        assert!(error.to_string().contains("no method"), "{error}");
    }

    #[test]
    fn a_server_cannot_skip_its_proof() {
        let password = Secret::new("p");
        let mut exchange =
            Authentication::new(Credentials { user: "u", password: &password, end_point: None });
        exchange.answer(b"\0\0\0\x0aSCRAM-SHA-256\0\0").expect("the first message");
        assert!(matches!(exchange.answer(&[0, 0, 0, 0]), Err(Error::Authentication(_))));
        assert!(matches!(exchange.answer(b"\0\0\0\x0cv=AAAA"), Err(Error::Authentication(_))));
    }
}
