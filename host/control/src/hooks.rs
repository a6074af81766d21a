//! What the resources need of others: a look at the stores, and the script compiler.

use std::future::Future;
use std::pin::Pin;

use tarn_model::{Answer, Failure, MirrorSpec, Peer, Problem, Question, ScriptLanguage};

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
}

/// Opens real connections to peers.
pub trait PeerProbe: Send + Sync + 'static {
    /// Connects, authenticates and asks for the version. It ends by itself within 15 seconds.
    fn version<'a>(&'a self, peer: &'a Peer) -> Pending<'a, Result<String, Failure>>;
}

/// Asks stores what is in them.
pub trait Inspector: Send + Sync + 'static {
    /// The answer of the peer's store, in the question's kind. It changes nothing there, and ends by
    /// itself within a minute.
    fn ask<'a>(&'a self, peer: &'a Peer, question: &'a Question) -> Pending<'a, Result<Answer, Failure>>;
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
