//! An SSH server with a user, a host key and a configuration of its own.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config::{START_ATTEMPTS_MAX, START_DEADLINE};
use crate::port::free_port;
use crate::process::{self, Process, children, signal};
use crate::unprivileged;
use crate::wait::until_within;

/// The one user. It is nobody of this machine: a library in front of the system's list of users knows it.
const USER: &str = "tarn";

/// That user's password, and what `openssl passwd -6` makes of it.
const PASSWORD: &str = "tarn-test ssh p@ss:w/?ord#%";
const PASSWORD_HASH: &str =
    "$6$tarntest$Jn2a2/MmJvm2awgsUpzi4my3NaTT62pAHV0EBzl6RqJDdyxFRrVSzieuEWY/t7Obxa0XQjqhOWVF4HZ7Wf2PZ1";

/// The loopback address by a name that this server alone knows.
const INNER_HOST: &str = "store.internal";

/// What every server of a test is set to, after the test's own settings: the first of a name counts.
const SETTINGS: &[(&str, &str)] = &[
    ("ListenAddress", "127.0.0.1"),
    ("PidFile", "none"),
    ("UsePAM", "no"),
    // The folder belongs to the test, whoever runs it.
    ("StrictModes", "no"),
    ("PasswordAuthentication", "yes"),
    ("KbdInteractiveAuthentication", "no"),
    ("MaxStartups", "200"),
    ("LogLevel", "VERBOSE"),
];

/// OpenSSH's server, never as root.
#[derive(Debug)]
pub struct Sshd {
    /// `None` while stopped. Before the folder, so that it ends first.
    process: Option<Process>,
    folder: TempDir,
    port: u16,
}

impl Sshd {
    /// A server that takes the password, and the keys that [`Sshd::make_key`] makes.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further settings of `sshd_config`.
    #[must_use]
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new().prefix("tarn-sshd-").tempdir().expect("a folder can be made");
        let mut sshd = Self { process: None, folder, port: 0 };
        sshd.furnish(settings);
        for _ in 0..START_ATTEMPTS_MAX {
            sshd.port = free_port();
            if sshd.serve() {
                return sshd;
            }
        }
        panic!("the SSH server does not start; its log ends:\n{}", process::log_tail(sshd.folder.path()));
    }

    /// The server's host.
    #[must_use]
    pub fn host(&self) -> &'static str {
        "127.0.0.1"
    }

    /// The server's port; a restart keeps it.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A name that only this server can look up: who gets to a store by it came through the server.
    #[must_use]
    pub fn inner_host(&self) -> &'static str {
        INNER_HOST
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> &'static str {
        USER
    }

    /// The user's password.
    #[must_use]
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The server's Ed25519 host key, as OpenSSH writes a public key. It has an RSA key, too.
    #[must_use]
    pub fn host_key(&self) -> String {
        self.read("host_ed25519.pub")
    }

    /// Makes a key that lets the user in and returns the private part. `arguments` are `ssh-keygen`'s: kind
    /// (`-t`, `-b`) and form (`-m PEM`, `-m PKCS8`; OpenSSH's own without).
    #[must_use]
    pub fn make_key(&self, arguments: &[&str], passphrase: &str) -> String {
        self.make_limited_key(arguments, passphrase, "")
    }

    /// The same with options of `authorized_keys`, such as `permitopen="127.0.0.1:1"`.
    #[must_use]
    pub fn make_limited_key(&self, arguments: &[&str], passphrase: &str, options: &str) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("key_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.keygen(&name, arguments, passphrase);
        // Appended in one piece: tests that share the server make keys at the same time.
        let line = format!("{options} {}", self.read(&format!("{name}.pub")));
        let list = OpenOptions::new().append(true).open(self.path("authorized_keys"));
        list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of keys can be written");
        self.read(&name)
    }

    /// An `ssh_config` of the API with password and host key.
    #[must_use]
    pub fn peer_config(&self) -> Value {
        json!({
            "host": self.host(),
            "port": self.port(),
            "user": self.user(),
            "password": self.password(),
            "host_key": self.host_key(),
        })
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.process.as_ref().map_or(0, |process| children(process.id()).len())
    }

    /// Kills every session at once; the server goes on.
    pub fn kill_sessions(&self) {
        let Some(process) = &self.process else { return };
        let mut sessions = children(process.id());
        let within: Vec<u32> = sessions.iter().flat_map(|session| children(*session)).collect();
        sessions.extend(within);
        sessions.iter().for_each(|session| signal(*session, "KILL"));
    }

    /// Kills the server and its sessions; `start_again` starts it.
    pub fn kill(&mut self) {
        // A client that comes back at once must not find it between the two.
        if let Some(process) = &self.process {
            signal(process.id(), "STOP");
        }
        self.kill_sessions();
        // Dropping kills.
        drop(self.process.take());
    }

    /// Starts the killed server on its port and waits until it serves.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "the SSH server is running");
        assert!(
            self.serve(),
            "the SSH server does not start again; its log ends:\n{}",
            process::log_tail(self.folder.path())
        );
    }

    /// What the server has logged.
    #[must_use]
    pub fn log(&self) -> String {
        process::log(self.folder.path())
    }

    /// Fills the folder: the programs, so that the server's user reaches them wherever they are kept, keys,
    /// lists of users.
    fn furnish(&self, settings: &[(&str, &str)]) {
        for entry in programs().read_dir().expect("OpenSSH's folder is readable").flatten() {
            std::fs::copy(entry.path(), self.path(&entry.file_name().to_string_lossy()))
                .expect("a program can be copied");
        }
        self.keygen("host_ed25519", &["-t", "ed25519"], "");
        self.keygen("host_rsa", &["-t", "rsa", "-b", "2048"], "");
        std::fs::write(self.path("authorized_keys"), "").expect("the list of keys can be written");
        unprivileged::give(self.folder.path());
        let owner = self.folder.path().metadata().expect("the folder is there");
        let (uid, gid, home) = (owner.uid(), owner.gid(), self.folder.path().display());
        let lists = [
            ("passwd", format!("{USER}:x:{uid}:{gid}::{home}:/bin/sh\n")),
            ("group", format!("{USER}:x:{gid}:\n")),
            ("shadow", format!("{USER}:{PASSWORD_HASH}:19000:0:99999:7:::\n")),
            ("hosts", format!("127.0.0.1 {INNER_HOST}\n")),
            ("sshd_config", self.configuration(settings)),
        ];
        for (name, text) in lists {
            std::fs::write(self.path(name), text).expect("a file of the server can be written");
        }
    }

    fn configuration(&self, settings: &[(&str, &str)]) -> String {
        let mut text = String::new();
        let mut set = |name: &str, value: &str| text.push_str(&format!("{name} {value}\n"));
        for (name, value) in settings.iter().chain(SETTINGS) {
            set(name, value);
        }
        let files = [
            ("HostKey", "host_ed25519"),
            ("HostKey", "host_rsa"),
            ("AuthorizedKeysFile", "authorized_keys"),
            // Newer servers consist of several programs.
            ("SshdSessionPath", "sshd-session"),
            ("SshdAuthPath", "sshd-auth"),
        ];
        for (name, file) in files {
            if self.path(file).exists() {
                set(name, &self.path(file).display().to_string());
            }
        }
        text
    }

    /// Starts the server and waits; false when it ended instead (its port was taken).
    fn serve(&mut self) -> bool {
        // By `env`, so that the program which takes root's rights away sees the machine's own users.
        let mut command = unprivileged::command(Path::new("env"), self.folder.path());
        for (name, file) in [
            ("LD_LIBRARY_PATH", ""),
            ("LD_PRELOAD", "libnss_wrapper.so"),
            ("NSS_WRAPPER_PASSWD", "passwd"),
            ("NSS_WRAPPER_GROUP", "group"),
            ("NSS_WRAPPER_SHADOW", "shadow"),
            ("NSS_WRAPPER_HOSTS", "hosts"),
        ] {
            command.arg(format!("{name}={}", self.path(file).display()));
        }
        command.arg(self.path("sshd")).args(["-D", "-e", "-p", &self.port.to_string(), "-f"]);
        command.arg(self.path("sshd_config"));
        let mut process = Process::start(&mut command, self.folder.path());
        let serves = until_within(START_DEADLINE, "the SSH server serves", || {
            if process.has_ended() {
                return Some(false);
            }
            std::net::TcpStream::connect((self.host(), self.port)).is_ok().then_some(true)
        });
        self.process = serves.then_some(process);
        serves
    }

    fn keygen(&self, name: &str, arguments: &[&str], passphrase: &str) {
        let output = Command::new(self.path("ssh-keygen"))
            .args(["-q", "-C", name, "-N", passphrase, "-f"])
            .arg(self.path(name))
            .args(arguments)
            .env("LD_LIBRARY_PATH", self.folder.path())
            .output()
            .expect("ssh-keygen starts");
        assert!(output.status.success(), "ssh-keygen failed: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file of the server can be read")
    }
}

impl Drop for Sshd {
    /// Sessions outlive the server that they came by.
    fn drop(&mut self) {
        self.kill_sessions();
    }
}

/// The folder that `tests/harness/setup` unpacks OpenSSH into.
fn programs() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/setup/openssh");
    assert!(folder.join("sshd").exists(), "no {}: run tests/harness/setup", folder.join("sshd").display());
    folder
}
