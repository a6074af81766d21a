//! What ties a password to the TLS connection it travels on: `tls-server-end-point` of RFC 5929.

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The hash of a server's certificate (DER) that its signature algorithm calls for; nothing where the
/// RFC leaves it open (RSA-PSS, Ed25519), so that the password then goes without binding.
pub(crate) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = hash_algorithm(signature_algorithm(certificate)?)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

fn hash_algorithm(oid: &[u8]) -> Option<&'static Algorithm> {
    // MD5 and SHA-1 count as SHA-256.
    match oid.split_last()? {
        (4 | 5 | 11, RSA) => Some(&SHA256),
        (12, RSA) => Some(&SHA384),
        (13, RSA) => Some(&SHA512),
        (2, ECDSA_SHA2) => Some(&SHA256),
        (3, ECDSA_SHA2) => Some(&SHA384),
        (4, ECDSA_SHA2) => Some(&SHA512),
        _ if oid == ECDSA_SHA1 => Some(&SHA256),
        _ => None,
    }
}

/// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, … }, … }`
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (inside, _) = element(certificate, SEQUENCE)?;
    let (_, after_body) = element(inside, SEQUENCE)?;
    let (algorithm, _) = element(after_body, SEQUENCE)?;
    let (oid, _) = element(algorithm, OBJECT_IDENTIFIER)?;
    Some(oid)
}

/// Splits one DER element with the given tag off: its content and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *first != tag {
        return None;
    }
    let (length, rest) = if *length < 0x80 {
        (usize::from(*length), rest)
    } else {
        let digits = usize::from(*length & 0x7f);
        if digits > 4 || rest.len() < digits {
            return None;
        }
        let (digits, rest) = rest.split_at(digits);
        (digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    (length <= rest.len()).then(|| rest.split_at(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(algorithm: &'static rcgen::SignatureAlgorithm) -> Vec<u8> {
        let key = rcgen::KeyPair::generate_for(algorithm).expect("a key");
        let params = rcgen::CertificateParams::new(vec!["x".to_owned()]).expect("a name");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    #[test]
    fn the_hash_is_the_one_of_the_signature() {
        let der = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert_eq!(server_end_point(&der), Some(digest(&SHA256, &der).as_ref().to_vec()));
        let der = certificate(&rcgen::PKCS_ECDSA_P384_SHA384);
        assert_eq!(server_end_point(&der), Some(digest(&SHA384, &der).as_ref().to_vec()));
    }

    #[test]
    fn an_algorithm_without_a_rule_binds_nothing() {
        assert_eq!(server_end_point(&certificate(&rcgen::PKCS_ED25519)), None);
    }

    #[test]
    fn bytes_that_are_no_certificate_bind_nothing() {
        for bytes in [&b""[..], b"\x30", b"\x30\x85", b"\x30\x84\xff\xff\xff\xff", b"hello"] {
            assert_eq!(server_end_point(bytes), None);
        }
    }
}
