//! The secrets that are planted, in every form in which they could come to light.

use serde_json::{Value, json};
use tarn_e2e::Scene;

/// The mirrored table. It is no secret: it must be found where guests are looked at.
pub const MARKER_TABLE: &str = "public.planted_marker_table";

/// Texts that must be found nowhere.
pub struct Planted(Vec<String>);

impl Planted {
    /// The working passwords of a scene, and those of [`broken_peers`].
    pub fn of(scene: &Scene) -> Self {
        let mut secrets = vec![
            scene.postgres.password().to_owned(),
            scene.clickhouse.password().to_owned(),
            scene.tarn.password().to_owned(),
            // All that is planted below begins like this.
            "planted-secret".to_owned(),
            "planted-misplaced".to_owned(),
            "planted-guess".to_owned(),
        ];
        // As HTTP carries them, and as URLs do.
        let basic = [
            (scene.clickhouse.user(), scene.clickhouse.password()),
            ("", scene.tarn.password()),
            ("", "planted-guess"),
        ];
        secrets.extend(basic.map(|(user, password)| base64(&format!("{user}:{password}"))));
        let encoded: Vec<_> = secrets.iter().map(|secret| percent_encoded(secret)).collect();
        secrets.extend(encoded);
        Self(secrets)
    }

    /// The texts, for those who search themselves.
    pub fn needles(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// Fails where one of them is found.
    #[track_caller]
    pub fn assert_absent(&self, place: &str, bytes: &[u8]) {
        for secret in &self.0 {
            if let Some(at) = find(bytes, secret.as_bytes()) {
                let from = at.saturating_sub(200);
                let context =
                    String::from_utf8_lossy(&bytes[from..(at + secret.len() + 50).min(bytes.len())]);
                panic!("{place} holds {secret}: …{context}…");
            }
        }
    }
}

/// Where a text begins.
pub fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let (first, rest) = text.split_first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| byte == first) {
        from += at + 1;
        if bytes[from..].starts_with(rest) {
            return Some(from - 1);
        }
    }
    None
}

/// Peers with a secret in every field that there is, none of which serves.
pub fn broken_peers(scene: &Scene) -> Vec<Value> {
    let mut source = scene.postgres.peer_config();
    source["password"] = json!("planted-secret-source-password");
    let mut target = scene.clickhouse.peer_config();
    target["password"] = json!("planted-secret-target-password");
    let tls = json!({"host": "127.0.0.1", "port": 1, "user": "u", "database": "d", "password": "planted-secret-1",
        "require_tls": true, "client_tls": {"certificate": "no certificate", "private_key": "planted-secret-2"}});
    let ssh = json!({"host": "127.0.0.1", "port": 1, "user": "u", "database": "d", "password": "planted-secret-3",
        "ssh_config": {"host": "127.0.0.1", "port": 1, "user": "u", "password": "planted-secret-4",
            "private_key": "planted-secret-5"}});
    let staged = json!({"host": "127.0.0.1", "port": 1, "password": "planted-secret-6", "certificate": "none",
        "private_key": "planted-secret-7", "s3_path": "s3://bucket/x", "access_key_id": "planted-secret-8",
        "endpoint": "http://127.0.0.1:1", "secret_access_key": "planted-secret-9"});
    let nested = json!({"host": "127.0.0.1", "port": 1, "disable_tls": true, "s3": {"url": "s3://bucket/x",
        "endpoint": "http://127.0.0.1:1", "accessKeyId": "planted-secret-10", "secretAccessKey": "planted-secret-11"}});
    let foreign = json!({"private_key": "planted-secret-12", "password": "planted-secret-13"});
    vec![
        json!({"name": "source-wrong", "type": 3, "postgres_config": source}),
        json!({"name": "target-wrong", "type": 8, "clickhouse_config": target}),
        json!({"name": "tls", "type": 3, "postgres_config": tls}),
        json!({"name": "ssh", "type": 3, "postgres_config": ssh}),
        json!({"name": "staged", "type": 8, "clickhouse_config": staged}),
        json!({"name": "nested", "type": 8, "clickhouse_config": nested}),
        json!({"name": "snow", "type": 1, "snowflake_config": foreign}),
        json!({"name": "kafka", "type": 9, "kafka_config": {"servers": ["h:1"], "password": "planted-secret-14"}}),
        json!({"name": "plugin", "type": 100, "plugin_config": {"config": {"token": "planted-secret-15"}}}),
    ]
}

fn base64(text: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            encoded.push(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize].into());
        }
    }
    // Padding is left out: what stands without it stands with it too.
    encoded
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

#[test]
fn the_search_finds_what_is_there() {
    assert_eq!(find(b"aab needle", b"needle"), Some(4));
    assert_eq!((find(b"nneedl", b"needle"), find(b"", b"x")), (None, None));
    assert_eq!(base64(":planted-guess"), "OnBsYW50ZWQtZ3Vlc3M");
}
