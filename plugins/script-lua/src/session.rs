//! What the runtime remembers while script code runs: reached from every function that Lua calls.

use tarn_batch::Row;
use tarn_script::added::Added;
use tarn_script::binding::Bindings;
use tarn_script::buffer::reuse;
use tarn_script::current::Current;
use tarn_script::trail::Trail;

use crate::json::Options;
use crate::lua::Place;
use crate::shape::Arena;

/// What a script may ask of the world outside.
pub trait Host {
    /// Writes a line to the mirror's log.
    fn log(&mut self, line: &str);
    /// Microseconds since 1970-01-01 UTC.
    fn now_us(&mut self) -> i64;
}

/// Where the script is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its top level runs, once, when it is compiled: there is no clock and no log.
    Loading,
    /// It transforms records.
    Running,
}

/// The state beside Lua's own.
pub struct Session {
    /// The message of an error that is about to be raised.
    pub error: String,
    /// Room to join bytes before they become a string of Lua's.
    pub joined: Vec<u8>,
    /// Room to write a text before it does.
    pub text: String,
    /// What encoders have written, that of the innermost one last.
    pub output: Vec<u8>,
    /// The fields of the objects that they are in.
    pub arena: Arena,
    /// How the script wants JSON written.
    pub json_options: Options,
    /// Where the last error came from.
    pub error_place: Place,
    /// What the script logged last, for errors.
    pub trail: Trail,
    /// Loading or running.
    pub phase: Phase,
    /// The module that loading asked for in vain; empty when none was.
    pub missing_module: String,
    /// The world outside.
    pub host: Box<dyn Host>,
    /// Columns that the script adds to them.
    pub added: Vec<Added>,
    /// Tables that records came from.
    pub bindings: Bindings,
    /// The generations whose rows, new and old, Lua has by now.
    pub rows_made: [u64; 2],
    /// Where Lua keeps the string `row`.
    pub row_name: *const u8,
    /// The record that the script sees.
    pub current: Current,
}

impl Session {
    /// Makes a row the current record, and forgets what its predecessor left. The caller ends it
    /// ([`Current::end`]) before the row's batch goes.
    pub fn begin(&mut self, row: &Row<'_>, binding: usize) -> u64 {
        reuse(&mut self.output);
        self.arena.clear();
        self.current.begin(row, binding, self.bindings.get(binding).table.columns.len())
    }

    /// Writes a line to the mirror's log.
    pub fn log(&mut self, line: &str) {
        self.host.log(line);
        self.trail.log(line);
    }

    /// A session before its script is loaded.
    pub fn new(host: Box<dyn Host>) -> Self {
        Self {
            error: String::new(),
            joined: Vec::new(),
            text: String::new(),
            output: Vec::new(),
            arena: Arena::default(),
            json_options: Options::default(),
            error_place: Place::default(),
            trail: Trail::default(),
            phase: Phase::Loading,
            missing_module: String::new(),
            host,
            added: Vec::new(),
            bindings: Bindings::default(),
            rows_made: [0; 2],
            row_name: std::ptr::null(),
            current: Current::default(),
        }
    }
}
