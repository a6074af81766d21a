//! The demo, step by step.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tarn_clickhouse::Client as ClickHouse;
use tarn_model::Secret;
use tarn_postgres::{Client as Postgres, Connection};

use super::client::Client;
use super::comparison::{Comparison, compare};
use super::endpoint::Endpoint;
use super::{DemoArgs, DemoError, dataset};
use crate::config::{ARRIVAL_DEADLINE, LOAD_DEADLINE, POLL_INTERVAL, ROUND_INTERVAL};
use crate::serve::Server;
use crate::settings::Settings;

/// The mirror's name.
const MIRROR: &str = "demo";
/// The script between both sides: it masks the e-mail column.
const SCRIPT: &str = include_str!("../../../../examples/scripts/mask.lua");

/// A running server with a client, and both stores.
pub struct Demo {
    args: DemoArgs,
    server: Server,
    api: Client,
    password: Secret,
    source_at: Endpoint,
    target_at: Endpoint,
    source: Connection,
    destination: ClickHouse,
    /// Keeps the data folder until the demo ends.
    _folder: Option<tempfile::TempDir>,
}

impl Demo {
    /// Connects to both sides and starts the server on a free port of the loopback address.
    pub async fn start(mut args: DemoArgs) -> Result<Self, DemoError> {
        let folder = match args.data_dir {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("tarn-demo-").tempdir()?),
        };
        if let Some(folder) = &folder {
            args.data_dir = Some(folder.path().to_owned());
        }
        let (source_at, target_at) =
            (args.postgres.endpoint("--postgres")?, args.clickhouse.endpoint("--clickhouse")?);
        let source = Postgres::new(source_at.postgres()).open().await?;
        let destination = ClickHouse::new(&target_at.clickhouse())?;
        destination.query("SELECT 1").await?;
        let password = crate::password::generate();
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            data_dir: args.data_dir.clone().expect("set above"),
            password: Some(password.clone()),
            ..Settings::default()
        };
        let server = Server::start(settings, false).await?;
        let api = Client::new(server.address(), password.clone());
        Ok(Self { args, server, api, password, source_at, target_at, source, destination, _folder: folder })
    }

    /// Every step, then the comparison.
    pub async fn run(mut self) -> Result<(), DemoError> {
        let outcome = self.steps().await;
        if outcome.is_ok() && !self.args.once && std::io::stdout().is_terminal() {
            say("\nThe server goes on running; press Ctrl-C to end it.");
            // An error here means that no signal can be waited for: the demo ends then.
            let _ = tokio::signal::ctrl_c().await;
        }
        self.server.shutdown().await;
        outcome
    }

    async fn steps(&mut self) -> Result<(), DemoError> {
        let address = self.server.address();
        say(&format!(
            "Tarn runs at http://{address}\nexport TARN_ADDRESS=http://{address} TARN_PASSWORD={}",
            self.password.expose()
        ));
        self.make_table().await?;
        self.create_peers().await?;
        self.create_mirror().await?;
        self.watch_load().await?;
        self.change_rows().await?;
        let comparison = self.compare().await?;
        report(&comparison);
        if comparison.differing > 0 {
            return Err(DemoError::Different(comparison.differing));
        }
        self.verify().await
    }

    async fn make_table(&mut self) -> Result<(), DemoError> {
        title(&format!("1. {} rows of twelve columns in {}", self.args.rows, dataset::SOURCE_TABLE));
        self.destination.query(&format!("DROP TABLE IF EXISTS {}", dataset::DESTINATION_TABLE)).await?;
        let bar = bar(self.args.rows, "made");
        dataset::create(&mut self.source, self.args.rows, |made| bar.set_position(made)).await?;
        bar.finish();
        Ok(())
    }

    async fn create_peers(&mut self) -> Result<(), DemoError> {
        title("2. Two peers and a script");
        for (name, kind, key, endpoint) in [
            ("source", 3, "postgres_config", self.source_at.clone()),
            ("target", 8, "clickhouse_config", self.target_at.clone()),
        ] {
            let body = |password: &str| {
                json!({"peer": {"name": name, "type": kind, key: {
                    "host": endpoint.host, "port": endpoint.port, "user": endpoint.user,
                    "password": password, "database": endpoint.database, "disable_tls": true}},
                    "allow_update": true})
            };
            let command = format!(
                "tarn peer create {} {name} --host {} --port {} --user {} --database {} --disable-tls --update",
                key.trim_end_matches("_config"),
                endpoint.host,
                endpoint.port,
                endpoint.user,
                endpoint.database
            );
            let (sent, shown) = (body(endpoint.password.expose()), body("********"));
            let answer = self.call(&command, "peers/create", &sent, &shown).await?;
            if answer["status"] != "CREATED" {
                let reason = answer["message"].as_str().unwrap_or_default().to_owned();
                return Err(DemoError::Api { path: "peers/create".into(), reason });
            }
        }
        let body =
            |source: &str| json!({"script": {"id": -1, "lang": "lua", "name": "mask", "source": source}});
        let command = "tarn script put examples/scripts/mask.lua";
        self.call(command, "scripts", &body(SCRIPT), &body("… examples/scripts/mask.lua …")).await?;
        Ok(())
    }

    async fn create_mirror(&mut self) -> Result<(), DemoError> {
        title("3. The mirror");
        let body = json!({"connection_configs": {
            "flow_job_name": MIRROR, "source_name": "source", "destination_name": "target",
            "table_mappings": [{"source_table_identifier": dataset::SOURCE_TABLE,
                                "destination_table_identifier": dataset::DESTINATION_TABLE}],
            "do_initial_snapshot": true, "idle_timeout_seconds": 1, "script": "mask"}});
        let command = format!(
            "tarn mirror create {MIRROR} --source source --destination target --table {}:{} --idle-timeout 1 --script mask",
            dataset::SOURCE_TABLE,
            dataset::DESTINATION_TABLE
        );
        self.call(&command, "flows/cdc/create", &body, &body).await?;
        Ok(())
    }

    /// Calls the API and shows how: the command that does the same, and the bare call.
    async fn call(&self, command: &str, path: &str, body: &Value, shown: &Value) -> Result<Value, DemoError> {
        say(&format!("{command}\n# or\n{}", self.api.curl(path, Some(shown))));
        self.api.post(path, body).await
    }

    async fn watch_load(&mut self) -> Result<(), DemoError> {
        title("4. The load");
        let bar = bar(self.args.rows, "loaded");
        let begun = Instant::now();
        let request = json!({"flowJobName": MIRROR, "includeFlowInfo": true, "excludeBatches": true});
        loop {
            let status = self.api.post("mirrors/status", &request).await?;
            let rows = &status["cdcStatus"]["snapshotStatus"]["clones"][0]["numRowsSynced"];
            bar.set_position(number(rows));
            match status["currentFlowState"].as_str().unwrap_or_default() {
                "STATUS_RUNNING" => break,
                "STATUS_FAILED" => return Err(self.failure().await),
                "STATUS_TERMINATING" | "STATUS_TERMINATED" => return Err(DemoError::Dropped),
                _ if begun.elapsed() > LOAD_DEADLINE => {
                    return Err(DemoError::Late { what: "the load".into(), after: LOAD_DEADLINE });
                }
                _ => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
        bar.set_position(self.args.rows);
        bar.finish();
        let seconds = begun.elapsed().as_secs_f64();
        say(&format!(
            "{} rows in {seconds:.1} s, {:.0} rows/s",
            self.args.rows,
            self.args.rows as f64 / seconds
        ));
        Ok(())
    }

    /// The last lines of the mirror's log, for a person.
    async fn failure(&self) -> DemoError {
        let request = json!({"flow_job_name": MIRROR, "level": "ERROR", "page": 1, "num_per_page": 1});
        let answer = self.api.post("mirrors/logs", &request).await.unwrap_or(Value::Null);
        let line = answer["errors"][0]["errorMessage"].as_str().unwrap_or("its log says nothing");
        DemoError::Mirror(line.to_owned())
    }

    async fn change_rows(&mut self) -> Result<(), DemoError> {
        title("5. Live inserts, updates and deletes");
        let bar = bar(self.args.seconds, "seconds of changes");
        let begun = Instant::now();
        let (mut rounds, mut changes, mut arrivals) = (0, 0, Vec::new());
        while begun.elapsed() < Duration::from_secs(self.args.seconds) {
            changes += dataset::change(&mut self.source, self.args.rows, rounds).await?;
            if rounds % 10 == 0 {
                arrivals.push(self.arrival(rounds).await?);
            }
            rounds += 1;
            bar.set_position(begun.elapsed().as_secs());
            tokio::time::sleep(ROUND_INTERVAL).await;
        }
        bar.finish();
        self.arrival(rounds - 1).await?;
        arrivals.sort();
        let median = arrivals[arrivals.len() / 2].as_millis();
        let slowest = arrivals[arrivals.len() - 1].as_millis();
        say(&format!(
            "{changes} changes in {rounds} transactions; from commit to visible: median {median} ms, slowest {slowest} ms"
        ));
        Ok(())
    }

    /// How long the last row of a round takes to be seen at the destination.
    async fn arrival(&self, round: u64) -> Result<Duration, DemoError> {
        let last = dataset::last_key(self.args.rows, round);
        let sql =
            format!("SELECT count() FROM {} FINAL WHERE id = {last} FORMAT TSV", dataset::DESTINATION_TABLE);
        let begun = Instant::now();
        while begun.elapsed() < ARRIVAL_DEADLINE {
            if self.destination.query(&sql).await?.starts_with(b"1") {
                return Ok(begun.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(DemoError::Late { what: format!("the arrival of row {last}"), after: ARRIVAL_DEADLINE })
    }

    async fn compare(&mut self) -> Result<Comparison, DemoError> {
        title("6. Both sides, row by row");
        let bar = bar(self.args.rows, "compared");
        let comparison = compare(&mut self.source, &self.destination, |rows| {
            bar.set_length(rows.max(bar.length().unwrap_or_default()));
            bar.set_position(rows);
        })
        .await?;
        bar.finish();
        Ok(comparison)
    }

    /// The same by the server itself, which needs no agreed text form and works while rows change.
    async fn verify(&mut self) -> Result<(), DemoError> {
        title("7. The same by the server, which also works while rows change");
        let body = json!({"flow_job_name": MIRROR});
        let command = format!("tarn mirror verify {MIRROR}");
        let started = self.call(&command, "mirrors/verify", &body, &body).await?;
        let path = format!("mirrors/verify/{}", number(&started["verifyId"]));
        let bar = bar(self.args.rows, "verified");
        let begun = Instant::now();
        while begun.elapsed() < LOAD_DEADLINE {
            let answer = self.api.get(&path).await?;
            let (differing, compared) = verified(&answer);
            bar.set_position(compared);
            match (answer["state"].as_str(), answer["verdict"].as_str()) {
                (Some("VERIFICATION_DONE"), Some("VERDICT_EQUAL")) => {
                    bar.finish();
                    say("EQUAL by the server's own comparison, too");
                    return Ok(());
                }
                (Some("VERIFICATION_PLANNED" | "VERIFICATION_RUNNING" | "VERIFICATION_WAITING"), _) => {}
                (Some(_), Some("VERDICT_DIFFERENT")) => return Err(DemoError::Different(differing)),
                _ => return Err(DemoError::Api { path, reason: answer.to_string() }),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Err(DemoError::Late { what: "the end of the verification".into(), after: LOAD_DEADLINE })
    }
}

/// Differences and rows compared of a verification's tables.
fn verified(answer: &Value) -> (u64, u64) {
    let tables = answer["tables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sum = |field: &str| tables.iter().map(|table| number(&table[field])).sum();
    (sum("rowsDiffering"), sum("rowsCompared"))
}

fn report(comparison: &Comparison) {
    if comparison.differing == 0 {
        say(&format!("EQUAL: {} rows are the same on both sides", comparison.equal));
        return;
    }
    say(&format!(
        "DIFFERENT: {} rows differ, {} are the same; the first:",
        comparison.differing, comparison.equal
    ));
    for difference in &comparison.first {
        say(&difference.to_string());
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default()
}

fn bar(length: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} {msg}, {elapsed}, {per_sec}")
        .expect("the template is well-formed");
    ProgressBar::new(length).with_style(style).with_message(what)
}

fn title(text: &str) {
    say(&format!("\n{text}"));
}

#[expect(clippy::print_stdout, reason = "the demo speaks to the person who started it")]
fn say(text: &str) {
    println!("{text}");
}
