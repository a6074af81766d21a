//! Where a server of one's own is: `TARN_TEST_POSTGRES_URL`, `TARN_TEST_CLICKHOUSE_URL`.

/// `scheme://user:password@host:port`; what follows the port is ignored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl ServerUrl {
    /// The variable's value; `None` when unset or empty.
    pub(crate) fn from_env(variable: &str, schemes: &[&str], port: u16, user: &str) -> Option<Self> {
        let url = std::env::var(variable).ok().filter(|url| !url.is_empty())?;
        let parsed = Self::parse(&url, schemes, port, user);
        Some(parsed.unwrap_or_else(|| {
            panic!("{variable} is not {}://user:password@host:port", schemes.join(":// or "))
        }))
    }

    fn parse(url: &str, schemes: &[&str], port: u16, user: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?']).next()?;
        let (userinfo, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (name, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (host, port),
        };
        schemes.contains(&scheme).then(|| Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            user: if name.is_empty() { user.to_owned() } else { percent_decoded(name) },
            password: percent_decoded(password),
        })
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_percent_decoded() {
        let url = ServerUrl::parse("http://u:p%40s%3As@db:81/x", &["http"], 1, "d");
        let url = url.expect("a URL");
        assert_eq!((url.host.as_str(), url.port), ("db", 81));
        assert_eq!((url.user.as_str(), url.password.as_str()), ("u", "p@s:s"));
    }

    #[test]
    fn port_and_user_have_defaults_and_the_scheme_must_fit() {
        let url = ServerUrl::parse("http://db", &["http"], 8123, "default").expect("a URL");
        assert_eq!((url.port, url.user.as_str()), (8123, "default"));
        assert_eq!(ServerUrl::parse("https://db", &["http"], 8123, "default"), None);
    }
}
