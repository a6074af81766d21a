//! Where a bucket is, and who asks for it.

use hyper::Uri;
use tarn_model::{ClickHouseConfig, Secret};

use crate::Error;

/// The region where none is given; services that know no regions take it.
const REGION: &str = "us-east-1";

/// A bucket as a peer or the server's settings name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketSettings {
    /// `s3://bucket/prefix`.
    pub path: String,
    /// Access key.
    pub access_key_id: Secret,
    /// Its secret.
    pub secret_access_key: Secret,
    /// Region; empty means the usual one.
    pub region: String,
    /// `http://…` or `https://…` of a service that is not AWS; empty means AWS.
    pub endpoint: String,
    /// PEM of the authorities to trust; empty means the machine's.
    pub root_ca: String,
}

impl BucketSettings {
    /// The staging area of a peer, if it names one.
    pub fn of_peer(config: &ClickHouseConfig) -> Option<Self> {
        (!config.s3_path.is_empty()).then(|| Self {
            path: config.s3_path.clone(),
            access_key_id: config.access_key_id.clone(),
            secret_access_key: config.secret_access_key.clone(),
            region: config.region.clone(),
            endpoint: config.endpoint.clone(),
            root_ca: config.s3_root_ca.clone(),
        })
    }

    /// What tells this bucket and prefix from others, for people too: `s3://bucket/prefix`, and the endpoint where
    /// there is one.
    pub fn place(&self) -> String {
        let path = self.path.trim_end_matches('/');
        match self.endpoint.trim_end_matches('/') {
            "" => path.to_owned(),
            endpoint => format!("{path} at {endpoint}"),
        }
    }

    /// Bucket and prefix; the prefix is empty or has no slash at either end.
    pub(crate) fn parts(&self) -> Result<(&str, &str), Error> {
        let wrong = |reason: &str| Error::Settings { field: "s3_path", reason: reason.to_owned() };
        let rest =
            self.path.strip_prefix("s3://").ok_or_else(|| wrong("is not of the form s3://bucket/prefix"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(is_name) {
            return Err(wrong(
                "has no bucket of 3 to 63 lower-case letters, digits, dots and hyphens after s3://",
            ));
        }
        let prefix = prefix.trim_matches('/');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=+@/".contains(c);
        if !prefix.chars().all(is_plain) || prefix.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(wrong("has a prefix with other characters than letters, digits, - _ . = + @ and /"));
        }
        Ok((bucket, prefix))
    }

    /// The region to sign for.
    pub(crate) fn region(&self) -> &str {
        if self.region.is_empty() { REGION } else { &self.region }
    }

    /// Where requests go.
    pub(crate) fn endpoint(&self) -> Result<String, Error> {
        if self.endpoint.is_empty() {
            return Ok(format!("https://s3.{}.amazonaws.com", self.region()));
        }
        let wrong = |reason: &str| Error::Settings { field: "endpoint", reason: reason.to_owned() };
        let uri: Uri = self.endpoint.parse().map_err(|_| wrong("is no URL"))?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        if !is_http || authority.is_none() || !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("is not of the form https://host:port or http://host:port"));
        }
        Ok(self.endpoint.trim_end_matches('/').to_owned())
    }

    /// Both keys. The machine's own rights are not used: whoever may write a peer need not have them.
    pub(crate) fn keys(&self) -> Result<(&str, &str), Error> {
        for (field, key) in
            [("access_key_id", &self.access_key_id), ("secret_access_key", &self.secret_access_key)]
        {
            if key.is_empty() {
                return Err(Error::Settings { field, reason: "is empty".to_owned() });
            }
        }
        Ok((self.access_key_id.expose(), self.secret_access_key.expose()))
    }

    /// A text without the keys in it.
    pub(crate) fn struck(&self, text: &str) -> String {
        [&self.access_key_id, &self.secret_access_key]
            .into_iter()
            .filter(|key| !key.is_empty())
            .fold(text.to_owned(), |text, key| text.replace(key.expose(), tarn_model::MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> BucketSettings {
        BucketSettings { path: path.into(), ..BucketSettings::default() }
    }

    #[test]
    fn a_path_is_a_bucket_and_perhaps_a_prefix() {
        for (path, parts) in [
            ("s3://rows", ("rows", "")),
            ("s3://rows/", ("rows", "")),
            ("s3://my-rows.eu/a/b=1/", ("my-rows.eu", "a/b=1")),
        ] {
            assert_eq!(at(path).parts().expect(path), parts);
        }
        for path in
            ["", "rows", "https://rows", "s3://", "s3://a", "s3://Rows", "s3://rows/a b", "s3://rows/../x"]
        {
            assert!(at(path).parts().expect_err(path).to_string().starts_with("s3_path"), "{path}");
        }
    }

    #[test]
    fn an_endpoint_is_a_server_and_nothing_else() {
        let with = |endpoint: &str| BucketSettings { endpoint: endpoint.into(), ..at("s3://rows") };
        assert_eq!(with("").endpoint().expect("AWS"), "https://s3.us-east-1.amazonaws.com");
        assert_eq!(with("http://minio:9000/").endpoint().expect("good"), "http://minio:9000");
        assert_eq!(with("http://minio:9000/").place(), "s3://rows at http://minio:9000");
        for endpoint in
            ["minio:9000", "ftp://minio", "https://user:pw@minio", "https://minio/rows", "https://minio?x"]
        {
            with(endpoint).endpoint().expect_err(endpoint);
        }
    }
}
