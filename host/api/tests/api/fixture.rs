//! A router with everything behind it, and what a test needs to play the rest of the world.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tarn_api::{Credentials, Limits, PeerAddress, router};
use tarn_batch::{Batch, BatchWriter, Cell};
use tarn_catalog::{Catalog, CatalogOptions, Observed};
use tarn_control::{
    Attempt, Books, CompileError, ConnectorSummary, Control, ControlParts, ControlSettings, Inspector, Made,
    PeerProbe, Pending, Progress, Purpose, RecentRecords, Rehearsal, ReplayOutcome, Replayer, ScriptCompiler,
    ScriptRunner, ScriptSource, Sealing, StageSettings, Stages, Validation, Validator,
};
use tarn_model::{
    Allowance, Answer, DeadLetterState, Edition, Failure, Mirror, MirrorState, Peer, PeerConfig, PlanStep,
    Problem, Question, Secret, StepKind, TablePlan,
};
use tower::ServiceExt as _;

/// The password of every fixture.
pub const PASSWORD: &str = "planted-api-password";
/// `Authorization` of the usual client.
pub const AUTHORIZATION: &str = "Basic OnBsYW50ZWQtYXBpLXBhc3N3b3Jk";

/// What a store says to a question.
type Answered = Result<Answer, Failure>;

/// What the stores say, to be set by a test.
#[derive(Default)]
pub struct Stores {
    /// Why no peer can be reached.
    pub unreachable: Mutex<Option<String>>,
    /// What validation finds.
    pub problems: Mutex<Vec<Problem>>,
    /// What was looked at: purpose and tables.
    pub looks: Mutex<Vec<(Purpose, Vec<String>)>>,
    /// What happens while a store is looked at or connected to the next time.
    pub meanwhile: Mutex<Option<Pending<'static, ()>>>,
    /// What the stores answer, by their peer and the kind of question.
    pub answers: Mutex<HashMap<(String, &'static str), Answered>>,
    /// What they were asked.
    pub questions: Mutex<Vec<(String, Question)>>,
    /// Peers that were probed, with the password each was probed with.
    pub probed: Mutex<Vec<(String, String)>>,
}

impl PeerProbe for Stores {
    fn version<'a>(&'a self, peer: &'a Peer) -> Pending<'a, Result<String, Failure>> {
        Box::pin(async move {
            let password = match &peer.config {
                PeerConfig::Postgres(config) => config.password.expose().to_owned(),
                PeerConfig::Clickhouse(config) => config.password.expose().to_owned(),
                PeerConfig::Kafka(config) => config.password.expose().to_owned(),
            };
            self.probed.lock().expect("whole").push((peer.name.clone(), password));
            let meanwhile = self.meanwhile.lock().expect("whole").take();
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            match self.unreachable.lock().expect("whole").clone() {
                Some(reason) => Err(Failure::retry("unreachable", peer.config.strike_secrets(&reason))),
                None => Ok("17.2".into()),
            }
        })
    }

    fn staging<'a>(&'a self, _: &'a Peer) -> Pending<'a, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }
}

impl Validator for Stores {
    fn validate<'a>(&'a self, validation: Validation<'a>) -> Pending<'a, Vec<Problem>> {
        Box::pin(async move {
            let tables = validation.spec.tables.iter().map(|table| table.source.clone()).collect();
            self.looks.lock().expect("whole").push((validation.purpose, tables));
            let meanwhile = self.meanwhile.lock().expect("whole").take();
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            self.problems.lock().expect("whole").clone()
        })
    }

    /// Each table is made.
    fn plan<'a>(&'a self, validation: Validation<'a>) -> Pending<'a, Result<Vec<TablePlan>, Failure>> {
        Box::pin(async move {
            let plans = validation.spec.tables.iter().map(|table| TablePlan {
                table: table.source.clone(),
                target: table.destination.clone(),
                steps: vec![PlanStep {
                    kind: StepKind::Create,
                    column: String::new(),
                    source: String::new(),
                    detail: "the table is made".into(),
                    statements: vec![format!("CREATE TABLE IF NOT EXISTS `{}` (…)", table.destination)],
                    warning: String::new(),
                }],
                ..TablePlan::default()
            });
            Ok(plans.collect())
        })
    }
}

impl Inspector for Stores {
    fn ask<'a>(&'a self, peer: &'a Peer, question: &'a Question) -> Pending<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            self.questions.lock().expect("whole").push((peer.name.clone(), question.clone()));
            let kind = match question {
                Question::Schemas => "schemas",
                Question::Tables { .. } => "tables",
                Question::AllTables => "allTables",
                Question::Columns { .. } => "columns",
                Question::Publications => "publications",
                Question::Slots => "slots",
                Question::Activity => "activity",
                Question::RowCounts { .. } => "rowCounts",
            };
            let unknown =
                || Err(Failure::permanent("question_unknown", "this connector cannot answer the question"));
            let answers = self.answers.lock().expect("whole");
            answers.get(&(peer.name.clone(), kind)).cloned().unwrap_or_else(unknown)
        })
    }
}

/// Takes every letter that is named.
impl Replayer for Stores {
    fn replay<'a>(
        &'a self,
        _mirror: &'a Mirror,
        ids: &'a [i64],
        _limit: u32,
    ) -> Pending<'a, Result<Vec<ReplayOutcome>, Failure>> {
        Box::pin(async move {
            if let Some(reason) = self.unreachable.lock().expect("whole").clone() {
                return Err(Failure::retry("unreachable", reason));
            }
            let replayed = |id: &i64| ReplayOutcome {
                id: *id,
                state: DeadLetterState::Replayed,
                message: String::new(),
            };
            Ok(ids.iter().map(replayed).collect())
        })
    }
}

/// Compiles what does not say `syntax error`; `require a` needs a stored script of that name.
struct Compiler;

impl ScriptCompiler for Compiler {
    fn compile<'a>(&'a self, script: ScriptSource<'a>) -> Pending<'a, Result<Vec<u8>, CompileError>> {
        Box::pin(async move {
            if script.source.contains("syntax error") {
                let message = "unexpected symbol near 'error'".into();
                return Err(CompileError::Rejected { message, line: 3, column: 7 });
            }
            if script.source.contains("compiler down") {
                return Err(CompileError::Failed("planted-inside".into()));
            }
            let required = script.source.strip_prefix("require ");
            if required.is_some_and(|name| !script.modules.iter().any(|(known, _)| known == name)) {
                let message = "there is no such module".into();
                return Err(CompileError::Rejected { message, line: 1, column: 0 });
            }
            if script.source.contains("panic") {
                panic!("a compiler that panics");
            }
            Ok(format!("component of {}", script.source).into_bytes())
        })
    }
}

/// Runs what the compiler made: a script that says `drop`, `reject` or `trap` does so at every record, one that
/// says `print` logs a line, one that says `cannot open` cannot be opened, others write `***` into the column `email`. The runtime of a script's
/// language is tried elsewhere (tests/components, tests/e2e).
struct Runner;

impl ScriptRunner for Runner {
    fn run<'a>(&'a self, rehearsal: Rehearsal<'a>) -> Pending<'a, Result<Vec<Attempt>, Failure>> {
        Box::pin(async move {
            let source = String::from_utf8_lossy(rehearsal.component).into_owned();
            if source.contains("cannot open") {
                return Err(Failure::permanent("script_without_entry_point", "it defines no entry point"));
            }
            let made = |batch: &Bytes| match source.as_str() {
                source if source.contains("drop") => Made::Batch(Bytes::new()),
                source if source.contains("reject") => {
                    Made::Rejected { line: 2, function: "onRecord".into(), message: "no such row".into() }
                }
                source if source.contains("trap") => {
                    Made::Stopped(Failure::permanent("plugin_run_time_limit", "it ran too long"))
                }
                _ => Made::Batch(masked(batch)),
            };
            let log: Vec<String> = source.contains("print").then(|| "a line".into()).into_iter().collect();
            let attempt = |batch| Attempt { made: made(batch), log: log.clone(), micros: 7 };
            Ok(rehearsal.batches.iter().map(attempt).collect())
        })
    }
}

/// A batch of one row with `***` in its column `email`.
fn masked(batch: &Bytes) -> Bytes {
    let batch = Batch::parse(batch).expect("sound");
    let row = batch.rows().next().expect("one").expect("sound");
    let table = batch.table(&row);
    let mut writer = BatchWriter::with_capacity(0);
    let index = writer.add_table(table);
    if !row.op().has_after() {
        writer.append_row(&row, index);
        return writer.finish().into();
    }
    writer.begin_row(index, &row.header());
    for (cell, column) in row.after().zip(&table.columns) {
        match cell.expect("sound") {
            Cell::Value(_) if column.name == "email" => writer.value(b"***"),
            cell => writer.cell(cell),
        }
    }
    writer.end_row();
    writer.finish().into()
}

/// An answer.
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("JSON in {}: {}", self.status, self.text))
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()
    }

    /// A refusal's status, code, and the fields its details name.
    #[track_caller]
    pub fn refusal(&self) -> (u16, u64, Vec<String>) {
        let body = self.json();
        assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
        let details = body["details"].as_array().expect("details is a list");
        let fields = details.iter().map(|detail| detail["field"].as_str().expect("a field").to_owned());
        (self.status.as_u16(), body["code"].as_u64().expect("a code"), fields.collect())
    }

    pub fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// The router and what is behind it.
pub struct Fixture {
    router: Router,
    pub control: Control,
    pub stores: Arc<Stores>,
    /// Every answer of this fixture, for those who search them.
    pub transcript: Mutex<String>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    pub async fn new() -> Self {
        Self::in_edition(Edition::OpenSource).await
    }

    pub async fn in_edition(edition: Edition) -> Self {
        Self::made(edition, Limits::default()).await
    }

    /// One that takes on less.
    pub async fn within(limits: Limits) -> Self {
        Self::made(Edition::OpenSource, limits).await
    }

    async fn made(edition: Edition, limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = CatalogOptions { data_dir: folder.path().into(), ..CatalogOptions::default() };
        let catalog = Catalog::open(&options).await.expect("a fresh catalog");
        let stores = Arc::new(Stores::default());
        let parts = ControlParts {
            catalog,
            validator: Arc::clone(&stores) as Arc<dyn Validator>,
            probe: Arc::clone(&stores) as Arc<dyn PeerProbe>,
            inspector: Arc::clone(&stores) as Arc<dyn Inspector>,
            compiler: Arc::new(Compiler),
            connectors: connectors(),
            replayer: Arc::clone(&stores) as Arc<dyn Replayer>,
            progress: Progress::default(),
            latencies: tarn_control::Latencies::default(),
            stages: Stages::new(StageSettings {
                folder: folder.path().join("stage"),
                bytes_max: 1 << 20,
                sealing: Sealing::On,
                owner: Allowance::new(edition, None).staging_bucket(),
                bucket: None,
            }),
            books: Books::default(),
            runner: Arc::new(Runner),
            recent: RecentRecords::default(),
        };
        let settings = ControlSettings { allowance: Allowance::new(edition, None), version: "0.1.0".into() };
        let control = Control::new(parts, settings);
        let credentials = Credentials::Password { user: String::new(), password: Secret::new(PASSWORD) };
        let router = router(control.clone(), &credentials, &limits);
        Self { router, control, stores, transcript: Mutex::default(), _folder: folder }
    }

    /// The same behind another router.
    pub fn with_router(mut self, router: Router) -> Self {
        self.router = router;
        self
    }

    /// The router, to be served on a socket.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Sends a request as it is, by a socket whose address no other request of the test has, unless it says
    /// another.
    pub async fn send(&self, mut request: Request<Body>) -> Reply {
        static NEXT: AtomicU32 = AtomicU32::new(0x0a00_0001);
        let address = PeerAddress(Ipv4Addr::from(NEXT.fetch_add(1, Ordering::Relaxed)).into());
        request.extensions_mut().get_or_insert(address);
        let line = format!("{} {}", request.method(), request.uri());
        let response = self.router.clone().oneshot(request).await.expect("a router always answers");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let mut transcript = self.transcript.lock().expect("whole");
        transcript.push_str(&format!("{line}\n{} {:?}\n{text}\n", parts.status, parts.headers));
        drop(transcript);
        Reply { status: parts.status, headers: parts.headers, text }
    }

    pub async fn call(&self, method: Method, path: &str, body: impl Into<Body>) -> Reply {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, AUTHORIZATION)
            .body(body.into())
            .expect("a request");
        self.send(request).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, &format!("/api/v1/{path}"), Body::empty()).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.call(Method::DELETE, &format!("/api/v1/{path}"), Body::empty()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.call(Method::POST, &format!("/api/v1/{path}"), body.to_string()).await
    }

    pub async fn post_text(&self, path: &str, body: &str) -> Reply {
        self.call(Method::POST, &format!("/api/v1/{path}"), body.to_owned()).await
    }

    /// The peers `pg` and `ch`.
    pub async fn with_peers(self) -> Self {
        for body in [postgres_peer("pg"), clickhouse_peer("ch")] {
            let answer = self.post("peers/create", json!({"peer": body})).await.ok();
            assert_eq!(answer["status"], "CREATED", "{answer}");
        }
        self
    }

    /// A mirror from `pg` to `ch`.
    pub async fn mirror(&self, name: &str) {
        let answer = self.post("flows/cdc/create", creation(name)).await.ok();
        assert_eq!(answer["workflowId"], format!("{name}-peerflow"));
    }

    pub async fn stored(&self, name: &str) -> Mirror {
        self.control.catalog().mirror(name).await.expect("read").expect("the mirror is stored")
    }

    /// Plays the run: reports a state.
    pub async fn observe(&self, name: &str, state: MirrorState) {
        let Mirror { id, epoch, .. } = self.stored(name).await;
        let reported = self.control.catalog().observe(id, epoch, state, None).await.expect("stored");
        assert_eq!(reported, Observed::Stored, "{name} becomes {state:?}");
    }

    /// A mirror that is in a state.
    pub async fn mirror_in(&self, name: &str, state: MirrorState) {
        use MirrorState::{Modifying, Paused, Pausing, Resync, Running, Terminated, Terminating};
        self.mirror(name).await;
        match state {
            MirrorState::Setup => {}
            Pausing => self.request(name, "STATUS_PAUSED").await,
            Paused => {
                self.observe(name, Running).await;
                self.request(name, "STATUS_PAUSED").await;
                self.observe(name, Paused).await;
            }
            Modifying => {
                self.request(name, "STATUS_PAUSED").await;
                self.observe(name, Paused).await;
                let update = json!({"cdcFlowConfigUpdate": {"batchSize": 5}});
                let body = json!({"flowJobName": name, "flowConfigUpdate": update});
                assert_eq!(self.post("mirrors/state_change", body).await.ok(), json!({}));
            }
            Resync => {
                self.observe(name, Running).await;
                self.request(name, "STATUS_RESYNC").await;
            }
            Terminating => self.request(name, "STATUS_TERMINATED").await,
            Terminated => {
                self.request(name, "STATUS_TERMINATED").await;
                self.observe(name, Terminated).await;
            }
            other => self.observe(name, other).await,
        }
        assert_eq!(self.stored(name).await.state, state);
    }

    /// Requests a state that is taken.
    pub async fn request(&self, name: &str, state: &str) {
        let answer = self.change(name, state).await;
        assert_eq!(answer, json!({"ok": true, "errorMessage": ""}), "{state}");
    }

    /// Requests a state.
    pub async fn change(&self, name: &str, state: &str) -> Value {
        let body = json!({"flowJobName": name, "requestedFlowState": state});
        self.post("mirrors/state_change", body).await.ok()
    }

    pub fn unreachable(&self, reason: &str) {
        *self.stores.unreachable.lock().expect("whole") = Some(reason.into());
    }

    /// What a store answers to a kind of question from now on, as its connector writes it.
    pub fn answer(&self, peer: &str, kind: &'static str, answer: Value) {
        let answer = serde_json::from_value(json!({kind: answer})).expect("an answer of the contract");
        self.stores.answers.lock().expect("whole").insert((peer.into(), kind), Ok(answer));
    }

    /// Why a store does not answer a kind of question from now on.
    pub fn fail(&self, peer: &str, kind: &'static str, failure: Failure) {
        self.stores.answers.lock().expect("whole").insert((peer.into(), kind), Err(failure));
    }

    pub fn find_problems(&self, problems: &[Problem]) {
        *self.stores.problems.lock().expect("whole") = problems.to_vec();
    }
}

fn connectors() -> Vec<ConnectorSummary> {
    let connector = |name: &str, kind: &str, capabilities: &[&str]| ConnectorSummary {
        name: name.into(),
        version: "0.1.0".into(),
        kind: kind.into(),
        capabilities: capabilities.iter().map(|&capability| capability.into()).collect(),
    };
    vec![
        connector("postgres", "source", &["log", "clock", "postgres"]),
        connector("clickhouse", "destination", &["log", "clock", "clickhouse"]),
        connector("script-lua", "script", &["log", "clock"]),
        connector("script-javascript", "script", &["log", "clock"]),
    ]
}

pub fn postgres_peer(name: &str) -> Value {
    json!({"name": name, "type": 3, "postgres_config": {"host": "db.example", "port": 5432, "user": "repl",
        "password": "planted-pg-password", "database": "app"}})
}

pub fn clickhouse_peer(name: &str) -> Value {
    json!({"name": name, "type": 8, "clickhouse_config": {"host": "ch.example", "port": 9000,
        "user": "default", "password": "planted-ch-password", "database": "default", "disable_tls": true}})
}

/// A request that creates a mirror from `pg` to `ch`.
pub fn creation(name: &str) -> Value {
    json!({"connection_configs": {"flow_job_name": name, "source_name": "pg", "destination_name": "ch",
        "table_mappings": [{"source_table_identifier": "public.users",
            "destination_table_identifier": "users"}], "do_initial_snapshot": true}})
}

/// The same with some of the mirror's fields changed.
pub fn creation_with(name: &str, fields: Value) -> Value {
    let mut body = creation(name);
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    body["connection_configs"].as_object_mut().expect("an object").extend(fields);
    body
}
