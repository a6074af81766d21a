//! A script: loaded once, then given record after record.

#![expect(unsafe_code, reason = "the session and the memory are shared with functions that Lua calls")]

use std::ptr::NonNull;

use tarn_batch::{DecodeError, Op, Row};
use tarn_script::transform::{self, Engine, Records, row_of};
pub use tarn_script::transform::{Applied, Output};

use crate::config::{MEMORY_BYTES_MAX, MESSAGES_PER_RECORD_MAX, SOURCE_BYTES_MAX};
use crate::current::Which;
use crate::failure::{self, Fault, handler};
use crate::lua::{Kind, Lua, Memory};
use crate::message::Message;
use crate::session::{Host, Phase, Session};
use crate::{dialect, json, library, modules, peerdb, record, row, values, wrapper};

/// The places at the bottom of the stack that always hold the same.
const HANDLER: i32 = 1;
/// `onRecord`.
const ON_RECORD: i32 = 2;
/// `transformRecord`.
const TRANSFORM_RECORD: i32 = 3;
/// `transformRow`.
const TRANSFORM_ROW: i32 = 4;
/// `onMessage`.
const ON_MESSAGE: i32 = 5;
/// How many there are.
const BASE: i32 = 5;

/// The functions that a script may define, at their places.
pub const ENTRY_POINTS: [(&str, i32); 4] = [
    ("onRecord", ON_RECORD),
    ("transformRecord", TRANSFORM_RECORD),
    ("transformRow", TRANSFORM_ROW),
    ("onMessage", ON_MESSAGE),
];

/// Memory that the runtime itself may take above the script's limit, to hand over a record: running
/// out of it could not be answered by an error.
const HEADROOM_BYTES: usize = 1 << 20;

/// The functions that a script defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entries {
    /// `onRecord(r)`: what it returns goes on.
    on_record: bool,
    /// `transformRecord(r)`: what it changes goes on.
    transform_record: bool,
    /// `transformRow(row)`: for rows before and after a change; for a snapshot's rows also where there
    /// is `transformRecord`.
    transform_row: bool,
    /// `onMessage(r)`: for a table, told of messages in the source's log. Scripts that know of none ask for
    /// rows that these lack, so `onRecord` is not given them there.
    on_message: bool,
}

impl Entries {
    fn transforms(self) -> bool {
        self.transform_record || self.transform_row
    }
}

/// A Lua state with at most one script in it.
pub struct Runtime {
    lua: Lua,
    entries: Entries,
    output: Output,
    session: NonNull<Session>,
    memory: NonNull<Memory>,
}

type Verdict = tarn_script::transform::Verdict<Message>;

impl Runtime {
    /// A state with the libraries and no script. None when there is no memory for it.
    pub fn new(host: Box<dyn Host>) -> Option<Self> {
        let session = NonNull::from(Box::leak(Box::new(Session::new(host))));
        let limit = MEMORY_BYTES_MAX + HEADROOM_BYTES;
        let memory = NonNull::from(Box::leak(Box::new(Memory::new(limit))));
        let lua = Lua::new(session, memory)?;
        library::open(lua);
        row::register(lua);
        record::register(lua);
        values::register(lua);
        json::register(lua);
        wrapper::register(lua);
        peerdb::register(lua);
        lua.collect_by_generation();
        lua.push_function(handler);
        Some(Self { lua, entries: Entries::default(), output: Output::Rows, session, memory })
    }

    /// Makes a stored script known to `require`.
    pub fn add_module(&mut self, name: &str, source: &str) {
        modules::add(self.lua, name.as_bytes(), source.as_bytes());
    }

    /// The module that loading asked for and did not find.
    pub fn missing_module(&self) -> Option<&str> {
        Some(&*self.lua.session().missing_module).filter(|name| !name.is_empty())
    }

    /// Compiles a script and runs its top level, once. One that returns something may be a module for
    /// others: it needs no entry point.
    pub fn load(&mut self, source: &[u8]) -> Result<(), Fault> {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(Fault::new(format!("the script is longer than {SOURCE_BYTES_MAX} bytes")));
        }
        let lua = self.lua;
        self.limit_memory();
        if !(dialect::load(lua, source, c"=script") && self.call(0, 1)) {
            let fault = failure::take(lua);
            lua.set_top(HANDLER);
            return Err(fault);
        }
        let is_module = !lua.is_nil(-1);
        lua.pop(1);
        self.entries = self.find_entry_points();
        if self.entries == Entries::default() && !is_module {
            lua.set_top(HANDLER);
            return Err(Fault::new(
                "the script defines no entry point: a function onRecord(r), transformRecord(r) or \
                 transformRow(row)",
            ));
        }
        lua.collect();
        Ok(())
    }

    /// The state, to look into.
    pub(crate) fn lua(&self) -> Lua {
        self.lua
    }

    /// The names of the entry points that the script defines.
    pub fn entry_points(&self) -> Vec<&'static str> {
        let Entries { on_record, transform_record, transform_row, on_message } = self.entries;
        let defined = [on_record, transform_record, transform_row, on_message];
        let names = ENTRY_POINTS.iter().map(|(name, _)| *name);
        names.zip(defined).filter(|(_, defined)| *defined).map(|(name, _)| name).collect()
    }

    /// Puts the entry points at their places on the stack.
    fn find_entry_points(&mut self) -> Entries {
        let lua = self.lua;
        let [on_record, transform_record, transform_row, on_message] = ENTRY_POINTS.map(|(name, place)| {
            lua.push_globals();
            let found = lua.get_field(-1, name) == Kind::Function;
            lua.remove(place);
            found
        });
        Entries { on_record, transform_record, transform_row, on_message }
    }

    /// Ends loading: the clock and the log are there from now on.
    pub fn start(&mut self, targets: Vec<(String, String)>, output: Output) {
        let session = self.lua.session();
        session.phase = Phase::Running;
        session.bindings.set_targets(targets);
        self.output = output;
    }

    /// Makes messages of errors bring the function and the last lines of the log along.
    pub fn tell_parts(&mut self) {
        self.lua.session().trail.tell();
    }

    fn limit_memory(&mut self) {
        // SAFETY: the runtime owns it, and Lua is not running.
        unsafe { self.memory.as_mut() }.limit = MEMORY_BYTES_MAX;
    }

    /// Calls script code within the script's limit.
    #[inline]
    fn call(&mut self, arguments: i32, results: i32) -> bool {
        self.limit_memory();
        let done = self.lua.protected_call(arguments, results, HANDLER);
        // SAFETY: as in `limit_memory`.
        unsafe { self.memory.as_mut() }.limit = MEMORY_BYTES_MAX + HEADROOM_BYTES;
        done
    }

    /// Frees what a failed call left behind. Lua would not always: a variable of the last call lives on
    /// in its place on the stack until another takes it, and a stack that grew stays so.
    fn recover(&mut self) {
        // SAFETY: as in `limit_memory`.
        let used = unsafe { self.memory.as_ref() }.used;
        if used > MEMORY_BYTES_MAX / 4 {
            self.lua.collect();
        }
    }

    /// Transforms the rows of a batch.
    pub fn apply(&mut self, bytes: &[u8]) -> Result<Applied, DecodeError> {
        transform::apply(self, bytes)
    }

    /// Calls the script's functions for a record. Rows for a table are changed in place where the script
    /// can do that: what `onRecord` of such a script returns is for a queue.
    #[inline]
    fn decide(&mut self, row: &Row<'_>, generation: u64, is_row: bool) -> Verdict {
        let changed = if is_row && self.entries.transforms() { self.change(row, generation) } else { Ok(()) };
        let for_queue = self.output == Output::Messages;
        if row.op() == Op::Message && !for_queue && self.entries.on_message {
            return self.tell(generation);
        }
        let judges = self.entries.on_record && (for_queue || is_row && !self.entries.transforms());
        match changed {
            Err(fault) => Verdict::Rejected(fault),
            Ok(()) if !judges => Verdict::Kept,
            Ok(()) => {
                const ALL_RESULTS: i32 = -1;
                self.lua.push_copy(ON_RECORD);
                record::push(self.lua, generation);
                match (self.call(1, ALL_RESULTS), for_queue) {
                    (false, _) => Verdict::Rejected(failure::take(self.lua)),
                    (true, true) => self.collect_messages(),
                    (true, false) => self.judge_row(row.op(), generation),
                }
            }
        }
    }

    /// Lets the script change the rows of a record.
    fn change(&mut self, row: &Row<'_>, generation: u64) -> Result<(), Fault> {
        let Entries { transform_record, transform_row, .. } = self.entries;
        if transform_record && !(transform_row && row.is_of_load()) {
            self.lua.push_copy(TRANSFORM_RECORD);
            record::push(self.lua, generation);
            return if self.call(1, 0) { Ok(()) } else { Err(failure::take(self.lua)) };
        }
        for which in [Which::Old, Which::New] {
            if self.lua.session().current.has(which) {
                self.lua.push_copy(TRANSFORM_ROW);
                row::push(self.lua, which);
                if !self.call(1, 0) {
                    return Err(failure::take(self.lua));
                }
            }
        }
        Ok(())
    }

    /// Tells the script of a message in the source's log. It goes on: a table takes none.
    fn tell(&mut self, generation: u64) -> Verdict {
        self.lua.push_copy(ON_MESSAGE);
        record::push(self.lua, generation);
        if self.call(1, 0) { Verdict::Kept } else { Verdict::Rejected(failure::take(self.lua)) }
    }

    /// Reads what `onRecord` returned for a queue, which is above [`BASE`].
    fn collect_messages(&mut self) -> Verdict {
        let lua = self.lua;
        let count = lua.top() - BASE;
        if count > MESSAGES_PER_RECORD_MAX as i32 {
            return Verdict::rejected(format!(
                "onRecord returned {count} messages: one record makes at most {MESSAGES_PER_RECORD_MAX}"
            ));
        }
        let mut messages = Vec::new();
        for place in 1..=count {
            match Message::read(lua, BASE + place) {
                Ok(message) => messages.extend(message),
                Err(reason) => return Verdict::rejected(reason),
            }
        }
        if messages.is_empty() { Verdict::Dropped } else { Verdict::Sent(messages) }
    }

    /// Decides by what `onRecord` returned for a table, which is above [`BASE`].
    #[inline]
    fn judge_row(&mut self, op: Op, generation: u64) -> Verdict {
        let lua = self.lua;
        let mut count = lua.top() - BASE;
        while count > 0 && lua.is_nil(BASE + count) {
            count -= 1;
        }
        if count == 0 {
            return Verdict::Dropped;
        }
        if count > 1 {
            return Verdict::rejected(
                "onRecord returned several values: for a table destination it returns r.row, r or nil",
            );
        }
        let returned = BASE + 1;
        if let Some(handle) = row::handle(lua, returned) {
            return match handle.generation() == generation {
                true if handle.which() == row_of(op) => Verdict::Kept,
                true => Verdict::rejected("onRecord returned the row before the change: return r.row"),
                false => Verdict::rejected("onRecord returned a row of an earlier record"),
            };
        }
        if record::handle(lua, returned).is_some_and(|handle| handle.generation() == generation) {
            return Verdict::Kept;
        }
        Verdict::rejected(format!(
            "onRecord returned a {}: for a table destination it returns r.row, r or nil; messages are for queues",
            lua.type_name(returned)
        ))
    }
}

impl Engine for Runtime {
    type Message = Message;

    fn records(&mut self) -> Records<'_> {
        // SAFETY: the runtime owns it, and Lua is not running.
        let Session { bindings, added, current, .. } = unsafe { self.session.as_mut() };
        Records { bindings, added, current }
    }

    #[inline]
    fn run(&mut self, row: &Row<'_>, binding: usize) -> Verdict {
        let is_row = matches!(row.op(), Op::Insert | Op::Update | Op::Delete);
        let generation = self.lua.session().begin(row, binding);
        self.decide(row, generation, is_row)
    }

    #[inline]
    fn rest(&mut self, rejected: bool) {
        self.lua.set_top(BASE);
        if rejected {
            self.recover();
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.lua.close();
        // SAFETY: both came from boxes, and nothing refers to them any more.
        unsafe {
            drop(Box::from_raw(self.session.as_ptr()));
            drop(Box::from_raw(self.memory.as_ptr()));
        }
    }
}

#[cfg(test)]
pub mod tests;
