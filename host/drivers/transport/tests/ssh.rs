//! Tunnels through OpenSSH's own server: every way in, every hop that can fail, and what a reader that rests
//! does to the bytes that go the other way.

use std::sync::OnceLock;
use std::time::Duration;

use tarn_harness::{Sshd, until};
use tarn_model::{Secret, SshConfig};
use tarn_transport::{Error, Stream, connect_through};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const DEADLINE: Duration = Duration::from_secs(12);

/// The server of the tests that neither configure nor kill one.
fn shared() -> &'static Sshd {
    static SERVER: OnceLock<Sshd> = OnceLock::new();
    SERVER.get_or_init(Sshd::start)
}

fn by_password(sshd: &Sshd) -> SshConfig {
    SshConfig {
        host: sshd.host().to_owned(),
        port: sshd.port(),
        user: sshd.user().to_owned(),
        password: Secret::new(sshd.password()),
        host_key: sshd.host_key(),
        ..SshConfig::default()
    }
}

fn by_key(sshd: &Sshd, key: &str, password: &str) -> SshConfig {
    SshConfig { password: Secret::new(password), private_key: Secret::new(key), ..by_password(sshd) }
}

/// A store that sends back what it gets.
struct Echo {
    port: u16,
    _connections: JoinSet<()>,
}

impl Echo {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut echoing = JoinSet::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                echoing.spawn(async move {
                    let (mut reader, mut writer) = socket.split();
                    tokio::io::copy(&mut reader, &mut writer).await
                });
            }
        });
        Self { port, _connections: connections }
    }
}

async fn tunnel(ssh: &SshConfig, port: u16) -> Result<Stream, Error> {
    connect_through(ssh, "127.0.0.1", port, DEADLINE).await
}

/// The error with its causes, as people read it.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Why there is no tunnel.
async fn refusal(ssh: &SshConfig, port: u16) -> Error {
    tunnel(ssh, port).await.expect_err("no tunnel")
}

async fn assert_echoes(mut stream: Stream, text: &str) {
    stream.write_all(text.as_bytes()).await.expect("the store reads");
    stream.shutdown().await.expect("an end can be sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("the store answers");
    assert_eq!(answer, text);
}

#[tokio::test]
async fn a_password_opens_a_tunnel() {
    let echo = Echo::start().await;
    let stream = tunnel(&by_password(shared()), echo.port).await.expect("a tunnel");
    assert!(!stream.is_encrypted(), "the last stretch is in clear");
    assert_echoes(stream, "hello").await;
}

#[tokio::test]
async fn every_kind_and_form_of_key_opens_a_tunnel() {
    let sshd = shared();
    let echo = Echo::start().await;
    let kinds: [&[&str]; 7] = [
        &["-t", "ed25519"],
        &["-t", "rsa", "-b", "2048"],
        &["-t", "ecdsa", "-b", "256"],
        &["-t", "ecdsa", "-b", "384", "-m", "PKCS8"],
        &["-t", "rsa", "-b", "2048", "-m", "PEM"],
        &["-t", "rsa", "-b", "2048", "-m", "PKCS8"],
        &["-t", "ecdsa", "-b", "256", "-m", "PEM"],
    ];
    for kind in kinds {
        let key = sshd.make_key(kind, "");
        let stream = tunnel(&by_key(sshd, &key, ""), echo.port).await;
        assert_echoes(stream.unwrap_or_else(|error| panic!("{kind:?}: {}", told(&error))), "hello").await;
    }
}

#[tokio::test]
async fn with_key_and_password_the_password_is_the_keys_passphrase() {
    let sshd = shared();
    let echo = Echo::start().await;
    let kinds: [&[&str]; 4] = [
        &["-t", "ed25519"],
        &["-t", "rsa", "-b", "2048", "-m", "PEM"],
        &["-t", "rsa", "-b", "2048", "-m", "PKCS8"],
        &["-t", "ecdsa", "-b", "256", "-m", "PKCS8"],
    ];
    for kind in kinds {
        let key = sshd.make_key(kind, "pass phrase é");
        let stream = tunnel(&by_key(sshd, &key, "pass phrase é"), echo.port).await;
        assert_echoes(stream.unwrap_or_else(|error| panic!("{kind:?}: {}", told(&error))), "hello").await;
        for (password, part) in [("", "set ssh_config.password"), ("another", "is not its passphrase")] {
            let error = refusal(&by_key(sshd, &key, password), echo.port).await;
            assert!(told(&error).starts_with("ssh_config.private_key is not usable"), "{}", told(&error));
            assert!(told(&error).contains(part), "{kind:?}: {}", told(&error));
            assert!(error.is_permanent());
        }
    }
}

#[tokio::test]
async fn a_server_that_wants_key_and_password_gets_both() {
    let sshd = Sshd::start_with(&[("AuthenticationMethods", "publickey,password")]);
    let echo = Echo::start().await;
    let key = sshd.make_key(&["-t", "ed25519"], "");
    let stream = tunnel(&by_key(&sshd, &key, sshd.password()), echo.port).await.expect("a tunnel");
    assert_echoes(stream, "hello").await;
    let error = refusal(&by_key(&sshd, &key, ""), echo.port).await;
    assert!(told(&error).contains("its key did not do; it takes password"), "{}", told(&error));
}

#[tokio::test]
async fn a_passphrase_is_never_sent_as_a_password() {
    let sshd = Sshd::start();
    let echo = Echo::start().await;
    // Another server's key, under a passphrase that is the password here: sent, it would let us in.
    let stranger = shared().make_key(&["-t", "ed25519"], sshd.password());
    let error = refusal(&by_key(&sshd, &stranger, sshd.password()), echo.port).await;
    assert!(told(&error).contains("its key did not do; it takes publickey, password"), "{}", told(&error));
    assert!(!sshd.log().contains("Accepted password"), "{}", sshd.log());
}

#[tokio::test]
async fn a_host_key_is_checked_where_one_is_given() {
    let sshd = shared();
    let echo = Echo::start().await;
    for host_key in ["", &sshd.host_key(), &format!("jump.example.org {}", sshd.host_key())] {
        let ssh = SshConfig { host_key: host_key.to_owned(), ..by_password(sshd) };
        assert_echoes(tunnel(&ssh, echo.port).await.expect("a tunnel"), "hello").await;
    }
    let other = Sshd::start();
    let ssh = SshConfig { host_key: other.host_key(), ..by_password(sshd) };
    let error = refusal(&ssh, echo.port).await;
    let text = told(&error);
    assert!(text.starts_with(&format!("no way through the ssh server 127.0.0.1:{}", sshd.port())), "{text}");
    assert!(text.contains("shows the host key ssh-ed25519 SHA256:"), "{text}");
    assert!(error.hint().contains("ssh_config.host_key"), "{}", error.hint());
    assert!(error.is_permanent());
    // What the message names can be set, and does.
    let shown =
        text.split("ssh-ed25519 ").nth(1).expect("a fingerprint").split(',').next().expect("a fingerprint");
    let ssh = SshConfig { host_key: shown.to_owned(), ..by_password(sshd) };
    assert_echoes(tunnel(&ssh, echo.port).await.expect("a tunnel"), "hello").await;
}

#[tokio::test]
async fn a_host_key_of_a_kind_that_the_server_lacks_is_named() {
    let sshd = Sshd::start_with(&[("HostKeyAlgorithms", "rsa-sha2-512")]);
    let error = refusal(&by_password(&sshd), 1).await;
    let text = told(&error);
    assert!(text.contains("host keys of the kinds rsa-sha2-512, and only ssh-ed25519"), "{text}");
    assert!(error.is_permanent() && error.hint().contains("ssh_config.host_key"));
}

#[tokio::test]
async fn a_login_that_fails_names_user_and_methods_and_no_secret() {
    let sshd = shared();
    let wrong = SshConfig { password: Secret::new("planted-password"), ..by_password(sshd) };
    let nobody = SshConfig { user: "nobody-known".to_owned(), ..by_password(sshd) };
    let nothing = SshConfig { password: Secret::default(), ..by_password(sshd) };
    for (ssh, part) in [
        (wrong, "refuses user \"tarn\": its password did not do; it takes publickey, password"),
        (nobody, "refuses user \"nobody-known\""),
        (nothing, "the peer has neither a password nor a key"),
    ] {
        let error = refusal(&ssh, 1).await;
        assert!(told(&error).contains(part), "{}", told(&error));
        assert!(!format!("{error:?}{}{ssh:?}", told(&error)).contains("planted"));
        assert!(error.is_permanent() && error.hint().contains("ssh_config.user"));
    }
}

#[tokio::test]
async fn a_refused_way_on_names_the_setting_that_refuses() {
    let echo = Echo::start().await;
    let sshd = Sshd::start_with(&[("AllowTcpForwarding", "no")]);
    let limited = shared().make_limited_key(&["-t", "ed25519"], "", "permitopen=\"127.0.0.1:9\"");
    for ssh in [by_password(&sshd), by_key(shared(), &limited, "")] {
        let error = refusal(&ssh, echo.port).await;
        let text = told(&error);
        assert!(text.contains(&format!("refuses to forward to 127.0.0.1:{}", echo.port)), "{text}");
        assert!(error.is_permanent() && error.hint().contains("AllowTcpForwarding"), "{}", error.hint());
    }
}

#[tokio::test]
async fn a_store_that_the_ssh_server_cannot_reach_is_tried_again() {
    let error = refusal(&by_password(shared()), 1).await;
    assert!(told(&error).contains("the ssh server cannot reach 127.0.0.1:1"), "{}", told(&error));
    assert!(!error.is_permanent() && error.hint().contains("as the ssh server sees them"));
}

#[tokio::test]
async fn an_ssh_server_that_is_not_there_is_tried_again() {
    let ssh = SshConfig { port: 1, ..by_password(shared()) };
    let error = refusal(&ssh, 1).await;
    let text = told(&error);
    assert!(
        text.contains("ssh server 127.0.0.1:1") && text.contains("cannot connect to 127.0.0.1:1"),
        "{text}"
    );
    assert!(!error.is_permanent() && error.hint().contains("ssh_config.host"));
}

#[tokio::test]
async fn what_is_no_ssh_server_ends_at_the_deadline_and_says_which_step() {
    // It accepts and says nothing, or echoes what we say.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = silent.local_addr().expect("an address").port();
    let ssh = SshConfig { port, ..by_password(shared()) };
    let error = connect_through(&ssh, "127.0.0.1", 1, Duration::from_millis(200)).await.expect_err("silence");
    assert!(told(&error).contains("the greeting took longer than"), "{}", told(&error));
    assert!(!error.is_permanent());
}

#[tokio::test]
async fn large_amounts_pass_in_both_directions() {
    let echo = Echo::start().await;
    let stream = tunnel(&by_password(shared()), echo.port).await.expect("a tunnel");
    let (mut reader, mut writer) = tokio::io::split(stream);
    let sent: Vec<u8> = (0..40_000_000_u32).map(|n| (n % 251) as u8).collect();
    let expected = sent.clone();
    let writing = async move {
        writer.write_all(&sent).await.expect("the store reads");
        writer.shutdown().await.expect("an end can be sent");
    };
    let mut received = Vec::new();
    let (_, read) = tokio::join!(writing, reader.read_to_end(&mut received));
    read.expect("the store answers");
    assert!(received == expected, "{} of {} bytes came back", received.len(), expected.len());
}

#[tokio::test]
async fn a_reader_that_rests_holds_nothing_up_that_goes_the_other_way() {
    // A store that sends without end and counts what it gets.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (counted, mut count) = tokio::sync::watch::channel(0);
    let mut store = JoinSet::new();
    store.spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a client");
        let (mut reader, mut writer) = socket.split();
        let flood = async {
            let chunk = vec![7_u8; 100];
            while writer.write_all(&chunk).await.is_ok() {}
        };
        let counting = async {
            let mut buffer = vec![0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut buffer).await {
                counted.send_modify(|count| *count += read);
            }
        };
        tokio::join!(flood, counting);
    });
    let mut stream = tunnel(&by_password(shared()), port).await.expect("a tunnel");
    for round in 1..=50_usize {
        let written = tokio::time::timeout(DEADLINE, stream.write_all(&[1; 1000]));
        written.await.expect("writing never waits for reading").expect("the store reads");
        let arrived = tokio::time::timeout(DEADLINE, count.wait_for(|count| *count >= round * 1000));
        arrived.await.expect("what was written arrives").expect("the store lives");
    }
    // And what was held back comes when it is asked for.
    let mut buffer = vec![0; 8 << 20];
    stream.read_exact(&mut buffer).await.expect("the store sends");
    assert!(buffer.iter().all(|byte| *byte == 7));
}

#[tokio::test]
async fn a_killed_session_is_a_lost_connection_that_names_the_tunnel() {
    let sshd = Sshd::start();
    let echo = Echo::start().await;
    let mut stream = tunnel(&by_password(&sshd), echo.port).await.expect("a tunnel");
    sshd.kill_sessions();
    let error = stream.read_u8().await.expect_err("nothing comes any more");
    assert!(error.to_string().contains("the ssh tunnel through 127.0.0.1:"), "{error}");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    // The server is still there: the next one opens.
    assert_echoes(tunnel(&by_password(&sshd), echo.port).await.expect("a tunnel"), "hello").await;
}

#[tokio::test]
async fn a_dropped_tunnel_ends_its_session() {
    let sshd = Sshd::start();
    let echo = Echo::start().await;
    let stream = tunnel(&by_password(&sshd), echo.port).await.expect("a tunnel");
    assert_eq!(sshd.sessions(), 1);
    drop(stream);
    tokio::task::spawn_blocking(move || {
        until("the session is gone", || (sshd.sessions() == 0).then_some(()))
    })
    .await
    .expect("it ends");
}
