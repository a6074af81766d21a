//! What the TLS library's errors mean to a person.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, Error as TlsError};

/// The TLS library's error within an error of a connection.
pub(crate) fn cause(error: &io::Error) -> Option<&TlsError> {
    error.get_ref()?.downcast_ref()
}

/// The alert by which the server refused something, if that is what is behind an error.
pub(crate) fn alert_in(error: &(dyn Error + 'static)) -> Option<TlsError> {
    let mut behind = Some(error);
    while let Some(error) = behind {
        let within = error.downcast_ref::<io::Error>().and_then(cause);
        if let Some(alert @ TlsError::AlertReceived(_)) = within {
            return Some(alert.clone());
        }
        behind = error.source();
    }
    None
}

/// What a person does about a handshake that failed.
pub(crate) fn hint(error: &io::Error) -> &'static str {
    match cause(error) {
        Some(TlsError::InvalidCertificate(problem)) => certificate_hint(problem),
        Some(TlsError::AlertReceived(alert)) => alert_hint(*alert),
        Some(TlsError::PeerIncompatible(_)) => "the server must speak TLS 1.2 or 1.3",
        Some(_) | None => {
            "check that the port speaks TLS; for a server without it set disable_tls and its other port"
        }
    }
}

fn certificate_hint(problem: &CertificateError) -> &'static str {
    match problem {
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnhandledCriticalExtension => {
            "set root_ca to the certificate of the server's authority, or to the server's own certificate \
             where no authority issued it"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "set tls_host to a name in the server's certificate"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "renew the server's certificate, or set this machine's clock"
        }
        CertificateError::Revoked => "the server needs a new certificate",
        _ => "the server needs another certificate, or root_ca another authority",
    }
}

fn alert_hint(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CertificateRequired
        | AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied
        | AlertDescription::DecryptError => {
            "the server wants a client certificate that an authority of its choice issued: set certificate and \
             private_key (of client_tls, for PostgreSQL)"
        }
        AlertDescription::UnrecognisedName => "set tls_host to a name that the server answers to",
        AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity => {
            "the server must speak TLS 1.2 or 1.3"
        }
        _ => "see the server's log for why it refused",
    }
}
