//! Answers of the API while a catalog of many mirrors is asked for steadily.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tarn_harness::{Tarn, until_within};

use crate::measure::{Table, progress};

/// Mirrors in the catalog: at rest, so that what is measured is the API.
const MIRRORS: u64 = 200;
/// Requests a second, at fixed times whatever the answers take.
const REQUESTS_A_SECOND: u64 = 500;
/// Requests in all: twenty seconds.
const REQUESTS: u64 = 20 * REQUESTS_A_SECOND;
/// Clients that take turns; each opens a connection for each request, as `curl` does.
const CLIENTS: u64 = 16;
/// How long all mirrors may take to rest.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures from the moment a request is due to the end of its answer.
pub fn run(table: &mut Table) {
    progress("api");
    let tarn = Tarn::start();
    furnish(&tarn);
    let begun = Instant::now();
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let tarn = &tarn;
                    move || ask(tarn, client, begun)
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("every request is answered")).collect()
    });
    let took = begun.elapsed();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    table.add(
        format!("API, {MIRRORS} mirrors, {REQUESTS_A_SECOND} requests a second"),
        format!("p50 {:.1} ms, p99 {:.1} ms, slowest {:.1} ms", at(0.5), at(0.99), at(1.0)),
        format!("{} answers in {:.1} s", times.len(), took.as_secs_f64()),
    );
}

/// Two peers that nothing listens at, and mirrors between them that rest.
fn furnish(tarn: &Tarn) {
    let nowhere = json!({"host": "127.0.0.1", "port": 1, "user": "u", "password": "p", "database": "d"});
    for (name, kind, key) in [("source", 3, "postgres_config"), ("target", 8, "clickhouse_config")] {
        let peer = json!({"name": name, "type": kind, key: nowhere});
        post(tarn, "peers/create", &json!({"peer": peer, "disable_validation": true}));
    }
    for mirror in 0..MIRRORS {
        let tables: Vec<_> = (0..10)
            .map(|table| {
                json!({"source_table_identifier": format!("public.t{table}"),
                    "destination_table_identifier": format!("m{mirror}_t{table}")})
            })
            .collect();
        let configs = json!({"flow_job_name": format!("m{mirror}"), "source_name": "source",
            "destination_name": "target", "table_mappings": tables, "do_initial_snapshot": true});
        post(tarn, "flows/cdc/create", &json!({"connection_configs": configs, "skip_validation": true}));
        let pause = json!({"flowJobName": format!("m{mirror}"), "requestedFlowState": "STATUS_PAUSED"});
        assert_eq!(post(tarn, "mirrors/state_change", &pause)["ok"], true);
    }
    until_within(PATIENCE, "every mirror rests", || {
        let list = tarn.get("/api/v1/mirrors/list").json();
        let mirrors = list["mirrors"].as_array()?;
        mirrors.iter().all(|mirror| mirror["status"] == "STATUS_PAUSED").then_some(())
    });
}

/// One client's share of the requests, each at its time.
fn ask(tarn: &Tarn, client: u64, begun: Instant) -> Vec<Duration> {
    let own = (client..REQUESTS).step_by(CLIENTS as usize);
    own.map(|number| {
        let due = begun + Duration::from_secs_f64(number as f64 / REQUESTS_A_SECOND as f64);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let mirror = format!("m{}", number * 7 % MIRRORS);
        let answer = match number % 6 {
            0 => tarn.get("/api/v1/mirrors/list"),
            1 => tarn.get("/api/v1/peers/list"),
            2 => {
                tarn.post("/api/v1/mirrors/status", &json!({"flowJobName": mirror, "includeFlowInfo": true}))
            }
            3 => tarn.post("/api/v1/mirrors/cdc/batches", &json!({"flowJobName": mirror, "limit": 10})),
            4 => tarn
                .post("/api/v1/mirrors/logs", &json!({"flowJobName": mirror, "page": 1, "numPerPage": 20})),
            _ => tarn.get("/api/v1/scripts/-1"),
        };
        assert_eq!(answer.status, 200, "{}", answer.text());
        due.elapsed()
    })
    .collect()
}

fn post(tarn: &Tarn, path: &str, body: &Value) -> Value {
    let answer = tarn.post(&format!("/api/v1/{path}"), body);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}
