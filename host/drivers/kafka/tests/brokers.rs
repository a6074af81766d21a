//! The driver against a broker, and against one that answers what a test asks for.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tarn_batch::{BatchWriter, Op, Outgoing, RowHeader, Table, Version};
use tarn_harness::Kafka;
use tarn_kafka::{Client, NewTopic, Producer, ProducerSettings, Trouble};
use tarn_model::{FailureClass, KafkaConfig, Secret};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Messages `(topic, key, value)` as a batch.
fn messages(messages: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let mut writer = BatchWriter::default();
    let table = Table { id: 0, schema: String::new(), name: String::new(), version: 0, columns: Vec::new() };
    let table = writer.add_table(table);
    let header = RowHeader {
        op: Op::Outgoing,
        version: Version { commit: 1, ordinal: 0 },
        commit_time_us: RowHeader::TIME_UNKNOWN,
        transaction: 0,
    };
    for (topic, key, value) in messages {
        let message = Outgoing {
            topic: Some(topic),
            key: Some(key.as_bytes()),
            value: Some(value),
            ..Outgoing::default()
        };
        writer.outgoing(table, &header, &message);
    }
    writer.finish()
}

fn config(server: String) -> KafkaConfig {
    KafkaConfig { servers: vec![server], disable_tls: true, ..KafkaConfig::default() }
}

fn settings(id: &str) -> ProducerSettings {
    ProducerSettings { id: id.to_owned(), positions: "positions".to_owned(), timeout_ms: 60_000 }
}

fn topic(name: &str, partitions: i32) -> NewTopic {
    NewTopic { name: name.to_owned(), partitions, replication: 1 }
}

async fn with_topics(client: &Client) {
    client.create_topics(vec![topic("t", 3), topic("positions", 16)]).await.expect("made");
}

#[tokio::test]
async fn a_committed_position_is_what_the_next_producer_finds_and_an_earlier_one_is_fenced() {
    let broker = Kafka::start();
    let client = Client::new(&config(broker.address())).expect("settings");
    assert_eq!(client.cluster().await.expect("it is there").version, "Kafka with 1 broker");
    with_topics(&client).await;
    let topics = client.topics(vec!["t".to_owned(), "none".to_owned()]).await.expect("an answer");
    assert_eq!(
        topics.iter().map(|topic| (topic.name.as_str(), topic.partitions)).collect::<Vec<_>>(),
        [("t", 3)]
    );
    let first = Producer::open(&client, settings("tarn.m")).await.expect("opened");
    assert_eq!(first.position(), [0; 0]);
    first.send(messages(&[("t", "a", b"1"), ("t", "b", b"2")])).await.expect("sent");
    first.commit(vec![1, 77, 5]).await.expect("committed");
    // What it sends and does not commit is given up by the next one.
    first.send(messages(&[("t", "a", b"3")])).await.expect("sent");
    let second = Producer::open(&client, settings("tarn.m")).await.expect("opened");
    assert_eq!(second.position(), [1, 77, 5]);
    first.commit(vec![1, 99, 5]).await.expect_err("it was fenced");
    drop(first);
    second.commit(vec![1, 78, 6]).await.expect("a position of its own");
    let third = Producer::open(&client, settings("tarn.m")).await.expect("opened");
    assert_eq!(third.position(), [1, 78, 6]);
    let other = Producer::open(&client, settings("tarn.other")).await.expect("opened");
    assert_eq!(other.position(), [0; 0]);
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_with_the_message_it_concerns() {
    let broker = Kafka::start();
    let client = Client::new(&KafkaConfig { max_record_batch_bytes: 2_000, ..config(broker.address()) });
    let client = client.expect("settings");
    with_topics(&client).await;
    let producer = Producer::open(&client, settings("tarn.m")).await.expect("opened");
    let large = vec![b'x'; 3_000];
    let error =
        producer.send(messages(&[("t", "a", b"1"), ("t", "b", &large)])).await.expect_err("too large");
    assert_eq!((error.trouble, error.at, error.topic.as_str()), (Trouble::Unfit, Some(1), "t"));
    let producer = Producer::open(&client, settings("tarn.m")).await.expect("opened");
    let error = producer.send(messages(&[("missing", "a", b"1")])).await.expect_err("no topic");
    assert_eq!((error.trouble, error.at, error.topic.as_str()), (Trouble::UnknownTopic, Some(0), "missing"));
}

#[tokio::test]
async fn nobody_there_is_told_within_the_deadline_and_settings_that_cannot_be_are_refused() {
    let client = Client::new(&config("127.0.0.1:1".to_owned())).expect("settings");
    let error = client.cluster().await.expect_err("nobody is there");
    assert_eq!(error.trouble, Trouble::Unavailable);
    assert!(error.message.contains("refused"), "{error}");
    let broken = KafkaConfig {
        disable_tls: false,
        certificate: "no certificate".to_owned(),
        private_key: Secret::new("planted-secret"),
        ..config("127.0.0.1:1".to_owned())
    };
    let error = Client::new(&broken).expect("looked at later").cluster().await.expect_err("no certificate");
    assert_eq!(error.trouble, Trouble::Refused);
    assert!(!error.to_string().contains("planted-secret"), "{error}");
}

/// A broker that answers what it is told to: each of its answers has its class, and none is a panic or a wait for ever.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_answers_are_classed() {
    use RDKafkaRespErr as Answer;
    let cases: &[(RDKafkaApiKey, Answer, Option<Trouble>)] = &[
        // What passes is tried again by the library.
        (RDKafkaApiKey::Produce, Answer::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, None),
        (RDKafkaApiKey::Produce, Answer::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, None),
        (RDKafkaApiKey::EndTxn, Answer::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, None),
        (RDKafkaApiKey::Produce, Answer::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Some(Trouble::Unfit)),
        (
            RDKafkaApiKey::Produce,
            Answer::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
            Some(Trouble::Unauthorized),
        ),
        // It is told where the topic enters the transaction, and messages are given up because of it.
        (
            RDKafkaApiKey::AddPartitionsToTxn,
            Answer::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
            Some(Trouble::Unauthorized),
        ),
        (RDKafkaApiKey::EndTxn, Answer::RD_KAFKA_RESP_ERR_PRODUCER_FENCED, Some(Trouble::Fenced)),
        (
            RDKafkaApiKey::InitProducerId,
            Answer::RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            Some(Trouble::Unauthorized),
        ),
        (
            RDKafkaApiKey::InitProducerId,
            Answer::RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT,
            Some(Trouble::Refused),
        ),
    ];
    for (request, answer, expected) in cases {
        let cluster = MockCluster::<DefaultProducerContext>::new(1).expect("a cluster");
        cluster.create_topic("t", 3, 1).expect("a topic");
        let client = Client::new(&config(cluster.bootstrap_servers())).expect("settings");
        cluster.request_errors(*request, &[*answer]);
        let unplaced = ProducerSettings { positions: String::new(), ..settings("tarn.m") };
        let outcome = async {
            let producer = Producer::open(&client, unplaced).await?;
            producer.send(messages(&[("t", "a", b"1")])).await?;
            producer.commit(Vec::new()).await
        };
        let trouble = outcome.await.err().map(|error| error.trouble);
        assert_eq!(trouble, *expected, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_the_user_may_not_write_to_is_named_though_its_messages_were_only_given_up() {
    let cluster = MockCluster::<DefaultProducerContext>::new(1).expect("a cluster");
    cluster.create_topic("t", 1, 1).expect("a topic");
    let client = Client::new(&config(cluster.bootstrap_servers())).expect("settings");
    let unplaced = ProducerSettings { positions: String::new(), ..settings("tarn.m") };
    // Whether the refusal comes before the commit or while it waits, it is the reason.
    for _ in 0..3 {
        cluster.request_errors(
            RDKafkaApiKey::AddPartitionsToTxn,
            &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED],
        );
        let producer = Producer::open(&client, unplaced.clone()).await.expect("opened");
        producer.send(messages(&[("t", "a", b"1"), ("t", "b", b"2")])).await.expect("sent");
        let error = producer.commit(Vec::new()).await.expect_err("refused");
        assert_eq!((error.trouble, error.topic.as_str()), (Trouble::Unauthorized, "t"), "{error:?}");
        assert!(error.message.ends_with("(topic t)"), "{error}");
        assert!(error.message.contains("authorization failed"), "{error}");
        let failure = error.to_failure();
        assert!(failure.class == FailureClass::Permanent && !failure.hint.is_empty(), "{failure:?}");
        producer.close().await;
    }
    // Once it is allowed, the next producer of the id goes on.
    let producer = Producer::open(&client, unplaced).await.expect("opened");
    producer.send(messages(&[("t", "a", b"1")])).await.expect("sent");
    producer.commit(Vec::new()).await.expect("committed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_larger_than_what_waits_otherwise_is_sent_where_the_peer_takes_it() {
    let cluster = MockCluster::<DefaultProducerContext>::new(1).expect("a cluster");
    cluster.create_topic("t", 1, 1).expect("a topic");
    let bytes = 40 << 20;
    let large = KafkaConfig {
        max_record_batch_bytes: u32::try_from(bytes).expect("small") + 1_000,
        ..config(cluster.bootstrap_servers())
    };
    let client = Client::new(&large).expect("settings");
    let producer = Producer::open(&client, ProducerSettings::default()).await.expect("opened");
    let value = vec![b'x'; bytes];
    for key in ["a", "b"] {
        producer.send(messages(&[("t", key, &value)])).await.expect("there is room for it");
    }
    producer.commit(Vec::new()).await.expect("both are there");
}

/// A front that stands for a broker that asks who the user is: it answers the library's handshake, takes `PLAIN` from
/// whoever says what it expects, and hands everything else to a broker that asks nobody. Written after Kafka's protocol
/// guide: ApiVersions 3, SaslHandshake 1, SaslAuthenticate 0 to 2.
fn serve_plain(listener: TcpListener, broker: String, expected: &'static str) -> Arc<Mutex<Vec<String>>> {
    let logins = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&logins);
    // It ends with the test's runtime.
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (broker, seen) = (broker.clone(), Arc::clone(&seen));
            tokio::spawn(async move {
                // A client that goes away, or is sent away, ends the connection.
                let _either_ended = plain_connection(client, &broker, expected, &seen).await;
            });
        }
    });
    logins
}

async fn plain_connection(
    mut client: TcpStream,
    broker: &str,
    expected: &str,
    logins: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    const API_VERSIONS: i16 = 18;
    const HANDSHAKE: i16 = 17;
    const AUTHENTICATE: i16 = 36;
    const REFUSED: i16 = 58;
    loop {
        let length = client.read_u32().await?;
        let mut request = vec![0; length as usize];
        client.read_exact(&mut request).await?;
        let number = |at: usize| i16::from_be_bytes([request[at], request[at + 1]]);
        let (api, version, correlation) = (number(0), number(2), &request[4..8]);
        let mut answer = correlation.to_vec();
        match api {
            API_VERSIONS => {
                // No version but the first is known here: the client asks again in it.
                let error: i16 = if version == 0 { 0 } else { 35 };
                answer.extend(error.to_be_bytes());
                let apis =
                    [(0, 0, 7), (3, 0, 4), (HANDSHAKE, 0, 1), (API_VERSIONS, 0, 0), (AUTHENTICATE, 0, 0)];
                answer.extend(i32::try_from(apis.len()).expect("few").to_be_bytes());
                for (api, least, most) in apis {
                    for number in [api, least, most] {
                        answer.extend(number.to_be_bytes());
                    }
                }
            }
            HANDSHAKE => {
                answer.extend(0_i16.to_be_bytes());
                answer.extend(1_i32.to_be_bytes());
                answer.extend(5_i16.to_be_bytes());
                answer.extend(b"PLAIN");
            }
            AUTHENTICATE => {
                // The client's id, then the bytes with their length before them.
                let at = 10 + usize::try_from(number(8).max(0)).expect("a length") + 4;
                let login = String::from_utf8_lossy(&request[at..]).into_owned();
                let accepted = login == expected;
                logins.lock().expect("no panic").push(login);
                answer.extend((if accepted { 0 } else { REFUSED }).to_be_bytes());
                let message: &[u8] = if accepted { b"" } else { b"Authentication failed" };
                answer.extend(i16::try_from(message.len()).expect("short").to_be_bytes());
                answer.extend(message);
                answer.extend(0_i32.to_be_bytes()); // no bytes
                if accepted {
                    send(&mut client, &answer).await?;
                    let mut server = TcpStream::connect(broker).await?;
                    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
                    return Ok(());
                }
            }
            other => panic!("the client asks {other} before it says who it is"),
        }
        send(&mut client, &answer).await?;
    }
}

async fn send(client: &mut TcpStream, answer: &[u8]) -> std::io::Result<()> {
    client.write_u32(u32::try_from(answer.len()).expect("small")).await?;
    client.write_all(answer).await
}

#[tokio::test]
async fn a_user_logs_in_by_plain_and_a_refused_login_is_told_without_the_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let front = listener.local_addr().expect("an address");
    let broker = Kafka::start_behind(Some(front.port()));
    let logins = serve_plain(listener, broker.address(), "\0tarn\0planted-secret");
    let right = KafkaConfig {
        username: "tarn".to_owned(),
        password: Secret::new("planted-secret"),
        ..config(front.to_string())
    };
    let cluster = Client::new(&right).expect("settings").cluster().await;
    assert_eq!(cluster.expect("it is let in").version, "Kafka with 1 broker");
    assert!(logins.lock().expect("no panic").iter().all(|login| login == "\0tarn\0planted-secret"));
    let wrong = KafkaConfig { password: Secret::new("planted-mistake"), sasl: "PLAIN".to_owned(), ..right };
    let asked = Instant::now();
    let error = Client::new(&wrong).expect("settings").cluster().await.expect_err("it is not let in");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!(logins.lock().expect("no panic").contains(&"\0tarn\0planted-mistake".to_owned()));
    assert_eq!(error.trouble, Trouble::Unauthorized, "{error}");
    assert!(error.message.contains("Authentication failed"), "{error}");
    let failure = error.to_failure();
    assert!(failure.class == FailureClass::Permanent && failure.hint.contains("password"), "{failure:?}");
    assert!(!format!("{failure:?}").contains("planted"), "{failure:?}");
    let asked = Instant::now();
    let producer =
        ProducerSettings { id: "refused".to_owned(), timeout_ms: 60_000, ..ProducerSettings::default() };
    let opened = Producer::open(&Client::new(&wrong).expect("settings"), producer).await;
    let Err(error) = opened else { panic!("it is let in") };
    assert_eq!(error.trouble, Trouble::Unauthorized, "{error}");
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
}

/// Serves TLS, and hands what comes to a broker that has none.
fn serve_tls(listener: TcpListener, broker: String, own: &rcgen::CertifiedKey<rcgen::KeyPair>) {
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    // It ends with the test's runtime.
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, broker) = (acceptor.clone(), broker.clone());
            tokio::spawn(async move {
                // A client that does not trust the certificate goes away.
                let Ok(mut client) = acceptor.accept(socket).await else { return };
                let mut server = TcpStream::connect(&broker).await.expect("the broker is there");
                let _either_ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
}

#[tokio::test]
async fn a_broker_with_tls_is_verified_against_the_peers_authority() {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let front = listener.local_addr().expect("an address");
    let broker = Kafka::start_behind(Some(front.port()));
    serve_tls(listener, broker.address(), &own);
    let trusted =
        KafkaConfig { servers: vec![front.to_string()], root_ca: own.cert.pem(), ..KafkaConfig::default() };
    let cluster = Client::new(&trusted).expect("settings").cluster().await;
    assert_eq!(cluster.expect("it is who it should be").version, "Kafka with 1 broker");
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let untrusted = KafkaConfig { root_ca: other.cert.pem(), ..trusted };
    let error = Client::new(&untrusted).expect("settings").cluster().await.expect_err("another authority");
    assert!(error.message.contains("certificate"), "{error}");
}
