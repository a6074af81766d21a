//! What goes wrong with a bucket, and what a person does about it.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, chain};

use crate::config::MESSAGE_BYTES_MAX;

/// Why a call has no result. No text holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings cannot be used.
    #[error("{field} {reason}")]
    Settings {
        /// The field, as a peer has it.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection: nothing was sent.
    #[error("cannot reach the bucket's service at {address}")]
    Connect {
        /// Host and port.
        address: String,
        /// Why.
        source: Arc<tarn_transport::Error>,
    },
    /// No answer in time: whether a put or a delete was done is unknown.
    #[error("the bucket's service at {address} did not answer within {} s", deadline.as_secs())]
    Silent {
        /// Host and port.
        address: String,
        /// How long it was waited for.
        deadline: Duration,
    },
    /// The connection ended before the answer did.
    #[error("the connection to the bucket's service at {address} was lost: {reason}")]
    Lost {
        /// Host and port.
        address: String,
        /// What the HTTP library said.
        reason: String,
    },
    /// There is no such object.
    #[error("there is no object {key}")]
    Missing {
        /// Its name.
        key: String,
    },
    /// The service refused.
    #[error("the bucket's service refused: {0}")]
    Refused(Refusal),
    /// What came is not what such a service sends.
    #[error("the answer is not that of S3: {0}")]
    NotS3(String),
}

/// Parts what is told of a refusal where only a text is handed on.
const MARK: char = '\u{1f}';

/// A refusal, as far as it is handed on: services repeat parts of the request in theirs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} (HTTP {status}){}{message}", if message.is_empty() { "" } else { ": " })]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// S3's code, such as `NoSuchBucket`; empty where the answer has none.
    pub code: String,
    /// The beginning of its message.
    pub message: String,
}

impl Refusal {
    /// Reads the XML of an error, as far as it is needed.
    pub(crate) fn read(status: u16, body: &str) -> Self {
        let element = |name: &str| {
            let (_, rest) = body.split_once(&format!("<{name}>"))?;
            let (text, _) = rest.split_once(&format!("</{name}>"))?;
            Some(text.to_owned())
        };
        let code = element("Code").filter(|code| code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.'));
        let mut message = element("Message").unwrap_or_default().replace(char::is_control, " ");
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        let code = code.unwrap_or_else(|| by_status(status).to_owned());
        Self { status, code, message }
    }

    /// As the text of an answer that the library may quote.
    pub(crate) fn marked(&self) -> String {
        format!("{MARK}{}{MARK}{}{MARK}{}", self.status, self.code, self.message)
    }

    /// Finds one in a text that quotes it.
    pub(crate) fn quoted(text: &str) -> Option<Self> {
        let mut parts = text.split(MARK).skip(1);
        let (status, code, message) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { status: status.parse().ok()?, code: code.to_owned(), message: message.to_owned() })
    }

    fn hint(&self) -> &'static str {
        match (self.code.as_str(), self.status) {
            ("NoSuchBucket", _) => "make the bucket, or correct s3_path",
            ("InvalidAccessKeyId" | "SignatureDoesNotMatch" | "ExpiredToken" | "InvalidToken", _) => {
                "correct access_key_id and secret_access_key"
            }
            ("RequestTimeTooSkewed", _) => "set this machine's clock right",
            (
                "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException",
                _,
            )
            | (_, 301 | 307 | 308) => "correct region and endpoint: the bucket is elsewhere",
            ("EntityTooLarge" | "QuotaExceeded" | "XMinioStorageFull", _) | (_, 507) => {
                "make room in the bucket"
            }
            (_, 401 | 403) => {
                "give the owner of access_key_id the right to get, put, delete and list objects there, or correct \
                 the keys"
            }
            (_, 404) => "correct s3_path and endpoint",
            (_, 500..) => "see the service's own state; nothing is lost meanwhile",
            _ => "correct s3_path, region and endpoint",
        }
    }
}

/// What a status says where nothing else does: an answer to HEAD or DELETE has no body.
fn by_status(status: u16) -> &'static str {
    match status {
        301 | 307 | 308 => "PermanentRedirect",
        401 | 403 => "AccessDenied",
        404 => "NotFound",
        429 | 503 => "SlowDown",
        _ => "Error",
    }
}

impl Error {
    /// The error with its causes, for people.
    pub fn report(&self) -> String {
        chain(self)
    }

    /// What a person does about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Settings { .. } => "correct the field",
            Self::Connect { source, .. } if source.is_permanent() => source.hint(),
            Self::Connect { .. } | Self::Silent { .. } | Self::Lost { .. } => {
                "check endpoint, region and firewall, and that the service runs"
            }
            Self::Missing { .. } => "",
            Self::Refused(refusal) => refusal.hint(),
            Self::NotS3(_) => "check that endpoint is that of the S3 interface",
        }
    }

    /// The error as a failure with its remedy. All of them pass once somebody has mended the cause: whoever waits for
    /// the bucket goes on by itself.
    pub fn to_failure(&self) -> Failure {
        let code = match self {
            Self::Settings { .. } => "bucket_settings",
            Self::Connect { .. } | Self::Silent { .. } | Self::Lost { .. } => "bucket_unreachable",
            Self::Missing { .. } => "bucket_object_missing",
            Self::Refused(refusal) if refusal.code == "NoSuchBucket" => "bucket_missing",
            Self::Refused(Refusal { status: 401 | 403, .. }) => "bucket_denied",
            Self::Refused(_) | Self::NotS3(_) => "bucket_error",
        };
        Failure::retry(code, self.report()).with_hint(self.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_found_in_what_quotes_it() {
        let refusal =
            Refusal::read(503, "<Error><Code>SlowDown</Code><Message>Please wait</Message></Error>");
        assert_eq!(Refusal::quoted(&format!("Server said {}", refusal.marked())), Some(refusal));
        assert_eq!(Refusal::quoted("nothing"), None);
    }

    #[test]
    fn a_refusal_hands_on_code_and_message_and_nothing_else() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>The request signature we \
                    calculated does not match</Message><AWSAccessKeyId>AKIA</AWSAccessKeyId><StringToSign>s\
                    </StringToSign></Error>";
        let refusal = Refusal::read(403, body);
        assert_eq!(
            refusal.to_string(),
            "SignatureDoesNotMatch (HTTP 403): The request signature we calculated does not match"
        );
        let failure = Error::Refused(refusal).to_failure();
        assert_eq!(
            (failure.code.as_str(), failure.hint.contains("secret_access_key")),
            ("bucket_denied", true)
        );
        assert_eq!(Refusal::read(403, "<html>proxy</html>").to_string(), "AccessDenied (HTTP 403)");
        assert_eq!(Refusal::read(301, "").hint(), "correct region and endpoint: the bucket is elsewhere");
    }
}
