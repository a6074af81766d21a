//! The address of a server: `http://host:port`, `https://host:port`, or `host:port`.

use std::fmt;
use std::str::FromStr;

/// The server's own default.
const PORT: u16 = 8113;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Whether it speaks HTTPS.
    pub(crate) scheme: Scheme,
    /// Name or address, without brackets.
    pub(crate) host: String,
    /// TCP port.
    pub(crate) port: u16,
    /// What stands before `/api/v1`, behind a proxy; without a slash at its end.
    pub(crate) base: String,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS, verified.
    Https,
}

impl Address {
    /// Host and port as a URL and a `Host` header have them.
    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}{}", self.authority(), self.base)
    }
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scheme, rest, default_port) = match text.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest, 80),
            Some(("https", rest)) => (Scheme::Https, rest, 443),
            Some(_) => return Err("http:// or https:// is expected"),
            None => (Scheme::Http, text, PORT),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        if authority.contains('@') {
            return Err(
                "user and password do not belong into the address; set TARN_USERNAME and TARN_PASSWORD",
            );
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, port) = bracketed.split_once(']').ok_or("a closing bracket is missing")?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.rsplit_once(':') {
                // Two colons without brackets are an address of IPv6.
                Some((host, port)) if !host.contains(':') => (host, Some(port)),
                _ => (authority, None),
            },
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("the host is missing; write http://host:port");
        }
        let port = match port {
            None => default_port,
            Some(port) => port.parse().map_err(|_| "the port must be a number up to 65535")?,
        };
        let base = path.trim_end_matches('/').to_owned();
        Ok(Self { scheme, host: host.to_owned(), port, base })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_with_and_without_scheme_and_port() {
        for (text, shown) in [
            ("127.0.0.1:9", "http://127.0.0.1:9"),
            ("tarn.internal", "http://tarn.internal:8113"),
            ("http://tarn.internal/", "http://tarn.internal:80"),
            ("https://tarn.example.org", "https://tarn.example.org:443"),
            ("https://proxy:8443/data/tarn/", "https://proxy:8443/data/tarn"),
            ("[::1]:8113", "http://[::1]:8113"),
            ("::1", "http://[::1]:8113"),
        ] {
            assert_eq!(text.parse::<Address>().expect(text).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "ftp://x", "http://", "x:port", "x:70000", "http://ann:pw@x", "a b", "[::1"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
