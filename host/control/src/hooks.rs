//! What the resources need of others: a look at the stores, and the script compiler.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use tarn_model::{
    Answer, DeadLetterState, Failure, Mirror, MirrorSpec, Peer, Problem, Question, ScriptLanguage, TablePlan,
};

/// A future behind a trait object.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a mirror is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is to be created: neither slot nor publication of it may be in the way.
    Create,
    /// Its tables are to be added to a mirror that is set up.
    AddTables,
}

/// A mirror to look at.
#[derive(Clone, Copy, Debug)]
pub struct Validation<'a> {
    /// What it replicates; for [`Purpose::AddTables`], with the added tables only.
    pub spec: &'a MirrorSpec,
    /// Where records come from.
    pub source: &'a Peer,
    /// Where they go.
    pub destination: &'a Peer,
    /// Why.
    pub purpose: Purpose,
}

/// Looks at source and destination before anything is made there.
pub trait Validator: Send + Sync + 'static {
    /// Everything that would keep the mirror from running, all at once, each with the field it concerns.
    /// A side that cannot be reached is a problem too. It ends by itself within half a minute.
    fn validate<'a>(&'a self, validation: Validation<'a>) -> Pending<'a, Vec<Problem>>;

    /// What would be done to the destination's tables for the columns that the source's have now, table by table.
    /// Nothing is changed. It ends by itself within half a minute.
    fn plan<'a>(&'a self, validation: Validation<'a>) -> Pending<'a, Result<Vec<TablePlan>, Failure>>;
}

/// Opens real connections to peers.
pub trait PeerProbe: Send + Sync + 'static {
    /// Connects, authenticates and asks for the version. It ends by itself within 15 seconds.
    fn version<'a>(&'a self, peer: &'a Peer) -> Pending<'a, Result<String, Failure>>;

    /// Puts, reads, lists and deletes an object in the bucket that the peer names, if it names one. It ends by itself
    /// within 15 seconds.
    fn staging<'a>(&'a self, peer: &'a Peer) -> Pending<'a, Result<(), Failure>>;
}

/// Asks stores what is in them.
pub trait Inspector: Send + Sync + 'static {
    /// The answer of the peer's store, in the question's kind. It changes nothing there, and ends by
    /// itself within a minute.
    fn ask<'a>(&'a self, peer: &'a Peer, question: &'a Question) -> Pending<'a, Result<Answer, Failure>>;
}

/// What became of a dead letter that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayOutcome {
    /// The letter.
    pub id: i64,
    /// REPLAYED, or WAITING where it still cannot be taken.
    pub state: DeadLetterState,
    /// Why it waits, or what the scripts made of it.
    pub message: String,
}

/// Runs dead letters through their mirrors again.
pub trait Replayer: Send + Sync + 'static {
    /// Replays these letters of a mirror, or the oldest that wait, at most so many. One that cannot be taken waits
    /// on.
    fn replay<'a>(
        &'a self,
        mirror: &'a Mirror,
        ids: &'a [i64],
        limit: u32,
    ) -> Pending<'a, Result<Vec<ReplayOutcome>, Failure>>;
}

/// A script to compile.
#[derive(Clone, Copy, Debug)]
pub struct ScriptSource<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// What it is written in.
    pub language: ScriptLanguage,
    /// Its code.
    pub source: &'a str,
    /// Stored scripts in the same language that it may require: names and code.
    pub modules: &'a [(String, String)],
}

/// Why a script is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It does not compile, or defines no entry point.
    #[error("{message}")]
    Rejected {
        /// What is wrong.
        message: String,
        /// Where, from 1; 0 when unknown.
        line: u32,
        /// Where in the line, from 1; 0 when unknown.
        column: u32,
    },
    /// The compiler itself failed.
    #[error("the script compiler failed: {0}")]
    Failed(String),
}

/// Turns source text into a component of the script world.
pub trait ScriptCompiler: Send + Sync + 'static {
    /// The component's bytes.
    fn compile<'a>(&'a self, script: ScriptSource<'a>) -> Pending<'a, Result<Vec<u8>, CompileError>>;
}

/// A compiled script, and records to run it on apart from any mirror.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsal<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// The component that it was compiled into.
    pub component: &'a [u8],
    /// What it is opened with, as JSON.
    pub settings: &'a str,
    /// Batches of one record each.
    pub batches: &'a [Bytes],
    /// What it knows of the records before.
    pub memory: ScriptMemory,
}

/// What a script that is run on several records knows of those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptMemory {
    /// What it kept in variables, as in a mirror.
    Kept,
    /// Nothing: each record has an instance of its own.
    Fresh,
}

/// What a script made of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What it returned.
    pub made: Made,
    /// The last lines that it logged at this record.
    pub log: Vec<String>,
    /// How long it took.
    pub micros: u32,
}

/// What a script returned for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// A batch of what goes on; no bytes are nothing.
    Batch(Bytes),
    /// It could not take the record.
    Rejected {
        /// The line in the script, 0 when unknown.
        line: u32,
        /// The function in the script, empty when unknown.
        function: String,
        /// What went wrong.
        message: String,
    },
    /// It was stopped, at a limit or by a fault of its own.
    Stopped(Failure),
}

/// Runs scripts on records that belong to no mirror.
pub trait ScriptRunner: Send + Sync + 'static {
    /// What the script made of each batch, in their order. It ends by itself within half a minute.
    ///
    /// # Errors
    /// The script cannot be loaded or opened.
    fn run<'a>(&'a self, rehearsal: Rehearsal<'a>) -> Pending<'a, Result<Vec<Attempt>, Failure>>;
}
