//! Waiting for a store is not the guest's run time; running between waits is.

use std::time::{Duration, Instant};

use tarn_clickhouse::Client;
use tarn_model::ClickHouseConfig;
use tarn_wasm::{Capabilities, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::sandbox::{Lines, instance, read, tight};

/// A store on loopback that answers every request with nothing after a while.
struct SlowStore {
    client: Client,
    task: JoinHandle<()>,
}

impl SlowStore {
    async fn start(delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("address").port();
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("connection");
            let mut request = vec![0; 64 << 10];
            while stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
                // The store's own slowness: what the test is about.
                tokio::time::sleep(delay).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.expect("answer");
            }
        });
        let config = ClickHouseConfig {
            host: "127.0.0.1".to_owned(),
            port,
            disable_tls: true,
            ..ClickHouseConfig::default()
        };
        Self { client: Client::new(&config).expect("client"), task }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::clickhouse(Lines::new(), self.client.clone())
    }
}

impl Drop for SlowStore {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn waiting_for_a_store_is_not_charged() {
    let store = SlowStore::start(Duration::from_millis(600)).await;
    let limits = Limits { run_time_max: Duration::from_millis(200), ..tight() };
    let mut source = instance("waiting", store.capabilities(), limits).await;
    let began = Instant::now();
    let failure = read(&mut source).await.expect_err("the guest says that it waited");
    assert_eq!(failure.code, "waited", "{failure}");
    assert!(began.elapsed() >= Duration::from_millis(600));
}

#[tokio::test]
async fn running_between_waits_is_charged() {
    let store = SlowStore::start(Duration::ZERO).await;
    let limits = Limits { run_time_max: Duration::from_millis(200), host_calls_max: u64::MAX, ..tight() };
    let mut source = instance("working-and-waiting", store.capabilities(), limits).await;
    let failure = read(&mut source).await.expect_err("stopped");
    assert_eq!(failure.code, "plugin_run_time_limit", "{failure}");
}

#[tokio::test]
async fn a_store_that_is_not_bound_says_so() {
    let mut source = instance("waiting", Capabilities::none(), tight()).await;
    let failure = read(&mut source).await.expect_err("no store");
    assert!(failure.message.contains("this instance has no clickhouse peer"), "{failure}");
}
