//! A bucket of S3: moto, with its check of signatures.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config::{START_ATTEMPTS_MAX, START_DEADLINE};
use crate::http::{HttpAnswer, Request, percent_encoded};
use crate::port::free_port;
use crate::process::{self, Process};
use crate::venv;
use crate::wait::until_within;

/// The bucket's name.
const NAME: &str = "tarn-rows";

const KEY: &str = "AKIATARNTESTKEY00001";

/// It holds characters that URLs and signatures treat specially.
const SECRET: &str = "tarn/test+s3=secret/0123456789abcdefghij";

/// A bucket of its own, with a key pair that may do everything. What is in it is lost when it is killed.
#[derive(Debug)]
pub struct Bucket {
    /// `None` while killed. Before the folder, so that it ends first.
    process: Option<Process>,
    folder: TempDir,
    port: u16,
    https: Option<Https>,
}

/// Certificate and key, PEM files, and the port.
#[derive(Debug)]
struct Https {
    certificate: PathBuf,
    key: PathBuf,
    port: u16,
}

impl Bucket {
    /// An empty one.
    #[must_use]
    pub fn start() -> Self {
        Self::started(None)
    }

    /// One whose endpoint speaks HTTPS, with a certificate and its key, PEM files.
    #[must_use]
    pub fn start_with_https(certificate: PathBuf, key: PathBuf) -> Self {
        Self::started(Some(Https { certificate, key, port: 0 }))
    }

    fn started(https: Option<Https>) -> Self {
        let folder = tempfile::Builder::new().prefix("tarn-bucket-").tempdir().expect("a folder can be made");
        let mut bucket = Self { process: None, folder, port: 0, https };
        for _ in 0..START_ATTEMPTS_MAX {
            bucket.port = free_port();
            if let Some(https) = &mut bucket.https {
                https.port = free_port();
            }
            if bucket.serve() {
                return bucket;
            }
        }
        panic!("the bucket does not start; its log ends:\n{}", process::log_tail(bucket.folder.path()));
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The access key.
    #[must_use]
    pub fn key(&self) -> &'static str {
        KEY
    }

    /// The secret of the access key.
    #[must_use]
    pub fn secret(&self) -> &'static str {
        SECRET
    }

    /// The service's address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        match &self.https {
            Some(https) => format!("https://127.0.0.1:{}", https.port),
            None => format!("http://127.0.0.1:{}", self.port),
        }
    }

    /// The staging fields of a `clickhouse_config`, with a prefix.
    #[must_use]
    pub fn staging(&self) -> Value {
        json!({
            "s3_path": format!("s3://{NAME}/some/prefix"),
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "region": "us-east-1",
            "endpoint": self.endpoint(),
        })
    }

    /// Closes the port; the objects stay.
    pub fn close(&self) {
        self.signal("USR1");
        until_within(START_DEADLINE, "the bucket is away", || {
            self.ask("GET", "objects/x", &[]).is_err().then_some(())
        });
    }

    /// Opens the port again.
    pub fn open(&self) {
        self.signal("USR2");
        until_within(START_DEADLINE, "the bucket is back", || self.ask("GET", "objects/x", &[]).ok());
    }

    /// Stops the process in the middle of whatever it does: connections stay and nobody answers.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Names and sizes of all objects.
    #[must_use]
    pub fn objects(&self) -> Vec<(String, u64)> {
        let answer = self.behind("GET", &format!("objects/{NAME}"), &[]).json();
        let objects = answer.as_array().into_iter().flatten();
        objects
            .map(|object| {
                (object[0].as_str().unwrap_or_default().to_owned(), object[1].as_u64().unwrap_or(0))
            })
            .collect()
    }

    /// Puts an object behind everybody's back.
    pub fn plant(&self, name: &str, content: &[u8]) {
        self.behind("PUT", &format!("objects/{NAME}/{}", percent_encoded(name)), content);
    }

    /// The content of an object.
    #[must_use]
    pub fn content(&self, name: &str) -> Vec<u8> {
        let answer = self.behind("GET", &format!("objects/{NAME}/{}", percent_encoded(name)), &[]).json();
        // Bytes as characters of Latin-1.
        answer.as_str().unwrap_or_default().chars().map(|c| u8::try_from(c).unwrap_or(0)).collect()
    }

    /// Takes an object away.
    pub fn take(&self, name: &str) {
        self.behind("DELETE", &format!("objects/{NAME}/{}", percent_encoded(name)), &[]);
    }

    /// Another key pair is the only one that is taken from now on.
    pub fn set_keys(&self, key: &str, secret: &str) {
        self.behind("PUT", "keys", format!("{key} {secret}").as_bytes());
    }

    /// The keys' owner may do this and nothing else from now on, such as `s3:PutObject`.
    pub fn allow(&self, actions: &[&str]) {
        self.behind("PUT", "rights", actions.join(" ").as_bytes());
    }

    /// Removes the bucket with everything in it.
    pub fn remove(&self) {
        self.behind("DELETE", &format!("bucket/{NAME}"), &[]);
    }

    /// Makes the bucket that was removed.
    pub fn make(&self) {
        self.behind("PUT", &format!("bucket/{NAME}"), &[]);
    }

    /// Everything that the service has logged: a line for each request.
    #[must_use]
    pub fn log(&self) -> String {
        process::log(self.folder.path())
    }

    fn signal(&self, name: &str) {
        self.process.as_ref().expect("the bucket runs").signal(name);
    }

    #[track_caller]
    fn behind(&self, method: &str, path: &str, body: &[u8]) -> HttpAnswer {
        let answer = self.ask(method, path, body).expect("the bucket answers");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    }

    fn ask(&self, method: &str, path: &str, body: &[u8]) -> std::io::Result<HttpAnswer> {
        let path = format!("/-/{path}");
        Request { method, path: &path, headers: &[], body }.send("127.0.0.1", self.port)
    }

    /// Starts the process and waits; false when it ended instead.
    fn serve(&mut self) -> bool {
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("bucket/server.py");
        let mut command = Command::new(venv::program("python"));
        command
            .arg(script)
            .args(["--port", &self.port.to_string(), "--bucket", NAME])
            .env("BUCKET_KEY", KEY)
            .env("BUCKET_SECRET", SECRET)
            .current_dir(self.folder.path());
        if let Some(Https { certificate, key, port }) = &self.https {
            command.args(["--https-port", &port.to_string()]);
            command.arg("--certificate").arg(certificate).arg("--private-key").arg(key);
        }
        let mut process = Process::start(&mut command, self.folder.path());
        let serves = until_within(START_DEADLINE, "the bucket serves", || {
            if process.has_ended() {
                return Some(false);
            }
            self.ask("GET", "objects/x", &[]).is_ok().then_some(true)
        });
        self.process = serves.then_some(process);
        serves
    }
}
