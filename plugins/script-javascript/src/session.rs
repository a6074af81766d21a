//! What the runtime remembers while script code runs: reached from every function that scripts call.

use std::collections::BTreeMap;

use tarn_batch::Row;
use tarn_script::added::Added;
use tarn_script::binding::Bindings;
use tarn_script::buffer::reuse;
use tarn_script::current::{Current, Which};
use tarn_script::json::Options;
use tarn_script::trail::Trail;

use crate::console::Level;
use crate::js::{Answer, Atom, Class, Js, Module, Value};
use crate::row::Names;

/// What a script may ask of the world outside.
pub trait Host {
    /// Writes a line to the mirror's log.
    fn log(&mut self, level: Level, line: &str);
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

/// The classes of this crate's objects.
#[derive(Clone, Copy)]
pub struct Classes {
    /// Records.
    pub record: Class,
    /// Rows.
    pub row: Class,
    /// Decimals.
    pub decimal: Class,
    /// Times.
    pub time: Class,
    /// Intervals.
    pub interval: Class,
    /// Values with a word on how they are to be encoded.
    pub mark: Class,
}

/// Names that encoders look for.
pub struct Hooks {
    /// The method that says what JSON encodes instead.
    pub to_json: Atom,
    /// The method that says what MessagePack encodes instead.
    pub to_msgpack: Atom,
    /// What a mark is about.
    pub value: Atom,
    /// The language's own `BigInt`, whatever a script made of the global: it runs no script code.
    pub big_int: Value,
    /// The language's own `Array.isArray`, which sees through proxies.
    pub is_array: Value,
    /// Classes of objects around one value, and the methods that say which.
    pub boxes: Vec<(u32, Value)>,
}

/// A value of a column that script code may change in place.
pub struct Live {
    /// Whose column.
    pub which: Which,
    /// Which.
    pub column: usize,
    /// The value that the script was given.
    pub value: Value,
}

/// How modules are named and found.
pub type Loader = (fn(Js, &str, &str) -> Answer<String>, fn(Js, &str) -> Answer<Module>);

/// The state beside the engine's own.
pub struct Session {
    /// Room to write a text before it becomes a string.
    pub text: String,
    /// Room to write a value before it is assigned.
    pub scratch: Vec<u8>,
    /// What encoders have written, that of the innermost one last.
    pub output: Vec<u8>,
    /// What the script logged last, for errors.
    pub trail: Trail,
    /// How the script wants JSON written.
    pub json_options: Options,
    /// Loading or running.
    pub phase: Phase,
    /// The module that loading asked for in vain; empty when none was.
    pub missing_module: String,
    /// Stored scripts by name.
    pub sources: BTreeMap<String, String>,
    /// Which module imports which.
    pub imports: Vec<(String, String)>,
    /// How modules are found.
    pub loader: Option<Loader>,
    /// The world outside.
    pub host: Box<dyn Host>,
    /// Columns that the script adds to its tables.
    pub added: Vec<Added>,
    /// Tables that records came from.
    pub bindings: Bindings,
    /// The record that the script sees.
    pub current: Current,
    /// The classes; none before they are made.
    pub classes: Option<Classes>,
    /// Names that encoders look for.
    pub hooks: Option<Hooks>,
    /// The names of the columns of tables, as the engine holds them.
    pub names: Names,
    /// The record's object, used again while the script does not keep it.
    pub record: Option<Value>,
    /// The objects of its rows, new and old, and the generations that they are of.
    pub rows: [Option<(Value, u64)>; 2],
    /// Values of columns that the script may have changed in place.
    pub live: Vec<Live>,
    /// The first promise that failed without anybody looking.
    pub unhandled: Option<Value>,
}

impl Session {
    /// Makes a row the current record, and forgets what its predecessor left. The caller ends it
    /// ([`Current::end`]) before the row's batch goes.
    #[inline]
    pub fn begin(&mut self, row: &Row<'_>, binding: usize) -> u64 {
        reuse(&mut self.output);
        self.live.clear();
        self.current.begin(row, binding, self.bindings.get(binding).table.columns.len())
    }

    /// A session before its script is loaded.
    pub fn new(host: Box<dyn Host>) -> Self {
        Self {
            text: String::new(),
            scratch: Vec::new(),
            output: Vec::new(),
            trail: Trail::default(),
            json_options: Options::default(),
            phase: Phase::Loading,
            missing_module: String::new(),
            sources: BTreeMap::new(),
            imports: Vec::new(),
            loader: None,
            host,
            added: Vec::new(),
            bindings: Bindings::default(),
            current: Current::default(),
            classes: None,
            hooks: None,
            names: Names::default(),
            record: None,
            rows: [None, None],
            live: Vec::new(),
            unhandled: None,
        }
    }

    /// The classes of this crate's objects.
    #[inline]
    pub fn classes(&self) -> Classes {
        self.classes.expect("classes are made before script code runs")
    }

    /// Gives back every value that it holds, before the engine ends.
    pub fn release(&mut self) {
        self.classes = None;
        self.hooks = None;
        self.names = Names::default();
        self.record = None;
        self.rows = [None, None];
        self.live.clear();
        self.unhandled = None;
    }
}
