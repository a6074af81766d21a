//! Runs a program on the real services.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{Attempt, Session};

use super::letters;
use super::oracle;
use super::program::{Program, SESSIONS, Script, Step};

/// The mirror.
pub const MIRROR: &str = "m";

/// How long the destination may take to have everything, loads and restarts before it included.
const CATCH_UP: Duration = Duration::from_secs(150);

/// Refusals that are part of a program: a lock that another connection holds, a deadlock, a statement after one that
/// failed, a key that is taken, a division by zero, a row that nothing refers to any more, a value that is referred to.
const REFUSALS: &[&str] = &["55P03", "40P01", "25P02", "23505", "22012", "23503", "25P01", "3B001"];

/// A run of a program.
pub struct Play {
    scene: Scene,
    script: Script,
    script_id: i64,
    sessions: [Option<Session>; SESSIONS],
    tarn_runs: bool,
    clickhouse_runs: bool,
}

impl Play {
    /// Starts the services, makes the tables and the mirror.
    pub fn new(program: &Program) -> Self {
        let scene = Scene::start();
        for statement in &program.setup {
            scene.postgres.query(statement);
        }
        let mut further = json!({"snapshot_num_rows_per_partition": 700, "snapshot_max_parallel_workers": 2});
        let (language, source) = script(program.script);
        let mut script_id = 0;
        if program.script != Script::None {
            script_id = scene.script_in(language, "on_the_way", source);
            further["script"] = "on_the_way".into();
        }
        if program.script == Script::Refuse {
            further["record_error_policy"] = "DEAD_LETTER".into();
            further["record_error_limit"] = 100_000.into();
        }
        if program.script == Script::Skip {
            further["record_error_policy"] = "SKIP".into();
            further["record_error_limit"] = 100_000.into();
        }
        let names: Vec<_> =
            program.mirrored.iter().map(|name| (format!("public.{name}"), name.clone())).collect();
        let tables: Vec<_> =
            names.iter().map(|(source, target)| (source.as_str(), target.as_str())).collect();
        scene.mirror(MIRROR, &tables, &further);
        let sessions = std::array::from_fn(|_| None);
        Self { scene, script: program.script, script_id, sessions, tarn_runs: true, clickhouse_runs: true }
    }

    /// What happened, for a failure's text.
    pub fn story(&self) -> String {
        let log = self.scene.tarn.log();
        let tail = log.lines().rev().take(30).collect::<Vec<_>>();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
        let of_mirror = if self.tarn_runs { self.scene.log(MIRROR) } else { String::new() };
        format!("{of_mirror}\n\nthe server's log ends:\n{tail}")
    }

    /// Does one step.
    ///
    /// # Errors
    /// What went wrong: a difference, a mirror that failed or does not catch up, a statement that should have
    /// succeeded.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Sql { session, statements } => return self.sql(*session, statements),
            Step::KillTarn => {
                self.scene.tarn.kill();
                self.tarn_runs = false;
            }
            Step::StopTarn => {
                if !self.scene.tarn.stop() {
                    return Err("tarn did not stop with success".to_owned());
                }
                self.tarn_runs = false;
            }
            Step::StartTarn => self.start_tarn(),
            Step::RestartPostgres { killed } => {
                if *killed {
                    self.scene.postgres.kill()
                } else {
                    self.scene.postgres.stop()
                }
                self.sessions = std::array::from_fn(|_| None);
                self.scene.postgres.start_again();
            }
            Step::StopClickHouse { killed } => {
                if *killed {
                    self.scene.clickhouse.kill()
                } else {
                    self.scene.clickhouse.stop()
                }
                self.clickhouse_runs = false;
            }
            Step::StartClickHouse => self.start_clickhouse(),
            Step::EndWalsender => {
                self.scene.postgres.query("SELECT pg_terminate_backend(pid) FROM pg_stat_replication");
            }
            Step::Pause => self.request("STATUS_PAUSED"),
            Step::Resume => self.request("STATUS_RUNNING"),
            Step::Resync => self.request("STATUS_RESYNC"),
            Step::Edit { removed, added } => return self.edit(removed, added),
            Step::Wait(milliseconds) => std::thread::sleep(Duration::from_millis(*milliseconds)),
            Step::Compare => return self.compare(),
        }
        Ok(())
    }

    /// Ends what is open, brings everything up, waits, and compares.
    ///
    /// # Errors
    /// As of [`Play::step`].
    pub fn compare(&mut self) -> Result<(), String> {
        self.sessions = std::array::from_fn(|_| None);
        self.start_clickhouse();
        self.start_tarn();
        // What became of a table's columns comes with its next row.
        for table in self.mirrored() {
            self.scene
                .postgres
                .query(&format!("UPDATE {table} SET n = n WHERE ctid = (SELECT ctid FROM {table} LIMIT 1)"));
        }
        let lsn = self.scene.postgres.scalar("SELECT pg_current_wal_lsn()").expect("a place");
        self.catch_up(&lsn)?;
        if self.script == Script::Refuse {
            letters::replay_all(&self.scene, self.script_id)?;
        }
        for table in self.mirrored() {
            oracle::difference(&self.scene, &table, self.script)?;
        }
        let verification = self.scene.verify(MIRROR);
        // It cannot compare what the script refuses, nor a table whose changed columns came with no row, and says so.
        let may_be_incomplete = |table: &str| {
            let rows = self.scene.postgres.scalar(&format!("SELECT count(*) FROM {table}"));
            self.script == Script::Skip || rows.as_deref() == Some("0")
        };
        let is_equal = |table: &Value| match table["verdict"].as_str() {
            Some("VERDICT_EQUAL") => true,
            Some("VERDICT_INCOMPLETE") => {
                table["rowsDiffering"] == "0" && table["sourceTable"].as_str().is_some_and(may_be_incomplete)
            }
            _ => false,
        };
        let tables = verification["tables"].as_array();
        if !tables.is_some_and(|tables| tables.len() == self.mirrored().len() && tables.iter().all(is_equal))
        {
            return Err(format!("the server's own verification: {verification:#}"));
        }
        if self.script == Script::Refuse {
            letters::refuse_again(&self.scene, self.script_id);
        }
        Ok(())
    }

    fn sql(&mut self, session: usize, statements: &[String]) -> Result<(), String> {
        let open = self.sessions[session].get_or_insert_with(|| {
            let mut open = self.scene.postgres.session_that_goes_on();
            // Of two transactions that meet at a row one gives up; one thread plays them all.
            open.attempt("SET lock_timeout = '300ms'");
            open
        });
        for statement in statements {
            let alters = ["ALTER", "VACUUM", "CLUSTER"].iter().any(|word| statement.starts_with(word));
            if alters {
                // A load may be reading the table.
                open.attempt("SET lock_timeout = '60s'");
            }
            match open.attempt(statement) {
                Attempt::Done(_) => {}
                Attempt::Refused { code, .. } if REFUSALS.contains(&code.as_str()) && !alters => {}
                Attempt::Refused { code, message } => {
                    return Err(format!("{code} {message}\nof: {statement}"));
                }
                Attempt::Ended => return Err(format!("the connection ended at: {statement}")),
            }
            if alters {
                open.attempt("SET lock_timeout = '300ms'");
            }
        }
        Ok(())
    }

    fn start_tarn(&mut self) {
        if !self.tarn_runs {
            self.scene.tarn.start_again();
            self.tarn_runs = true;
        }
    }

    fn start_clickhouse(&mut self) {
        if !self.clickhouse_runs {
            self.scene.clickhouse.start_again();
            self.clickhouse_runs = true;
        }
    }

    /// Asks for a state. One that the mirror cannot take now is refused, and that is all.
    fn request(&self, state: &str) {
        if self.tarn_runs {
            let body = json!({"flowJobName": MIRROR, "requestedFlowState": state});
            let answer = self.scene.try_post("mirrors/state_change", &body);
            assert!([200, 400].contains(&answer.status), "{}", answer.text());
        }
    }

    fn status(&self) -> Value {
        self.scene.post("mirrors/status", &json!({"flowJobName": MIRROR, "includeFlowInfo": true}))
    }

    /// The tables that are in the mirror.
    fn mirrored(&self) -> Vec<String> {
        let status = self.status();
        let mappings = status["cdcStatus"]["config"]["tableMappings"].as_array().cloned().unwrap_or_default();
        let names = mappings.iter().filter_map(|mapping| mapping["destinationTableIdentifier"].as_str());
        names.map(str::to_owned).collect()
    }

    /// Waits for a look that gives a value; fails at once where the mirror failed.
    fn wait<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
        let begun = Instant::now();
        loop {
            if let Some(value) = look() {
                return Ok(value);
            }
            if self.scene.state(MIRROR) == "STATUS_FAILED" {
                return Err(format!("the mirror failed while waiting until {what}"));
            }
            if begun.elapsed() > CATCH_UP {
                return Err(format!(
                    "waited in vain until {what}; the mirror is {}",
                    self.scene.state(MIRROR)
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn edit(&mut self, removed: &[String], added: &[String]) -> Result<(), String> {
        self.start_tarn();
        // Until the mirror is in a state from which it can be paused, and is.
        self.wait("the mirror is paused", || {
            self.request("STATUS_PAUSED");
            (self.scene.state(MIRROR) == "STATUS_PAUSED").then_some(())
        })?;
        let mapping = |name: &&String| json!({"sourceTableIdentifier": format!("public.{name}"), "destinationTableIdentifier": name});
        let there = self.mirrored();
        let added: Vec<_> = added.iter().filter(|name| !there.contains(name)).collect();
        for name in &added {
            // A table with rows of before is refused, with this as the remedy.
            let way = if added.len() == 1 { "TRUNCATE" } else { "DROP" };
            self.scene.clickhouse.query(&format!("{way} TABLE IF EXISTS {name}"));
        }
        let removed: Vec<_> = removed.iter().filter(|name| there.contains(name)).collect();
        let update = json!({
            "removedTables": removed.iter().map(mapping).collect::<Vec<_>>(),
            "additionalTables": added.iter().map(mapping).collect::<Vec<_>>(),
        });
        let edit = json!({"flowJobName": MIRROR, "requestedFlowState": "STATUS_RUNNING",
            "flowConfigUpdate": {"cdcFlowConfigUpdate": update}});
        let mut answer = self.scene.try_post("mirrors/state_change", &edit);
        if answer.text().contains(" is there, and ") {
            // Its columns are others by now, and this is the remedy.
            for name in &added {
                self.scene.clickhouse.query(&format!("DROP TABLE IF EXISTS {name}"));
            }
            answer = self.scene.try_post("mirrors/state_change", &edit);
        }
        if answer.status != 200 || answer.json() != json!({}) && answer.json()["ok"] != true {
            return Err(format!("an edit is refused: {}", answer.text()));
        }
        Ok(())
    }

    /// Whether rows of a table that was written anew are still to come, as the log tells.
    fn is_read_again(&self) -> bool {
        let (mut due, mut opening) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        for line in self.scene.log(MIRROR).lines() {
            let Some(rest) = line.strip_prefix("info: ") else { continue };
            let of = |before: &str, after: &str| {
                rest.strip_prefix(before)?.split_once(after).map(|(name, _)| name.to_owned())
            };
            if rest.contains("loaded tables took the place")
                || rest.contains("tables removed")
                || rest.starts_with("loading ") && rest.ends_with(" beside the stream")
            {
                due.clear();
                opening.clear();
            } else if rest.starts_with("streaming") {
                // A stream says what is due while it is opened. What had ended before a kill may be in no line.
                due = std::mem::take(&mut opening);
            } else if rest.starts_with("went on after") {
                due.append(&mut opening);
            } else if let Some(table) = of("the rows of ", " were read again") {
                due.remove(&table);
                opening.remove(&table);
            } else if let Some(table) =
                of("the rows of ", " were written anew").or_else(|| of("reading the rows of ", " again"))
            {
                opening.remove(&table);
                due.insert(table);
            } else if let Some(table) = of("the rows of ", " are to be read again") {
                opening.insert(table);
            }
        }
        !due.is_empty() || !opening.is_empty()
    }

    /// Waits until everything up to a place of the source's log is at the destination, and nothing loads.
    fn catch_up(&self, lsn: &str) -> Result<(), String> {
        let passed = format!(
            "SELECT count(*) FROM pg_replication_slots
             WHERE slot_name = 'tarn_slot_{MIRROR}' AND confirmed_flush_lsn >= '{lsn}'"
        );
        self.wait("everything is at the destination", || {
            let status = self.status();
            match status["currentFlowState"].as_str()? {
                "STATUS_RUNNING" => {}
                "STATUS_PAUSED" => {
                    self.request("STATUS_RUNNING");
                    return None;
                }
                _ => return None,
            }
            let loads = status["cdcStatus"]["snapshotStatus"]["clones"].as_array()?;
            let loaded = loads.iter().all(|load| load["fetchCompleted"] == true);
            let confirmed = self.scene.postgres.scalar(&passed).as_deref() == Some("1");
            // What is confirmed may wait in the stage.
            let staged = &status["cdcStatus"]["latency"]["stagedBytes"];
            (loaded && confirmed && staged == "0" && !self.is_read_again()).then_some(())
        })
    }
}

fn script(script: Script) -> (&'static str, &'static str) {
    match script {
        Script::None | Script::LuaIdentity => ("lua", "function onRecord(r) return r.row end"),
        Script::JavaScriptIdentity => ("javascript", "export function onRecord(r) { return r.row; }"),
        Script::Mark => (
            "lua",
            "function onRecord(r)
               if r.new then r.new.note = 'm:' .. tostring(r.new.n) end
               return r
             end",
        ),
        Script::Refuse => ("lua", letters::REFUSING),
        Script::Skip => ("lua", letters::SKIPPING),
    }
}
