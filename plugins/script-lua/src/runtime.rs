//! A script: loaded once, then given record after record.

#![expect(unsafe_code, reason = "the session and the memory are shared with functions that Lua calls")]

use std::ptr::NonNull;

use tarn_batch::{Batch, BatchWriter, DecodeError, Op, Row, RowHeader};

use crate::config::{MEMORY_BYTES_MAX, MESSAGES_PER_RECORD_MAX, OUTPUT_BYTES_MAX, SOURCE_BYTES_MAX};
use crate::current::Which;
use crate::failure::{Fault, handler};
use crate::lua::{Kind, Lua, Memory};
use crate::message::Message;
use crate::rejection::{Rejection, key_text};
use crate::session::{Host, Phase, Session};
use crate::{json, library, modules, peerdb, record, row, values, wrapper};

/// The places at the bottom of the stack that always hold the same.
const HANDLER: i32 = 1;
/// `onRecord`.
const ON_RECORD: i32 = 2;
/// `transformRecord`.
const TRANSFORM_RECORD: i32 = 3;
/// `transformRow`.
const TRANSFORM_ROW: i32 = 4;
/// How many there are.
const BASE: i32 = 4;

/// The functions that a script may define, at their places.
pub const ENTRY_POINTS: [(&str, i32); 3] =
    [("onRecord", ON_RECORD), ("transformRecord", TRANSFORM_RECORD), ("transformRow", TRANSFORM_ROW)];

/// Memory that the runtime itself may take above the script's limit, to hand over a record: running
/// out of it could not be answered by an error.
const HEADROOM_BYTES: usize = 1 << 20;

/// What the destination takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Rows of tables.
    Rows,
    /// Messages of a queue.
    Messages,
}

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
    /// What the current batch may become.
    output_bytes_max: usize,
    session: NonNull<Session>,
    memory: NonNull<Memory>,
}

/// What a batch became.
pub struct Applied {
    /// The rows and messages that go on.
    pub batch: Vec<u8>,
    /// How many of them.
    pub rows: u32,
    /// Rows that the script dropped.
    pub dropped: u32,
    /// Rows that it could not transform.
    pub rejected: Vec<Rejection>,
}

/// What becomes of a record.
enum Verdict {
    /// Its row goes on, as changed.
    Kept,
    Dropped,
    /// These go on instead.
    Sent(Vec<Message>),
    Rejected(Fault),
}

impl Verdict {
    fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected(Fault::new(reason.into()))
    }
}

impl Runtime {
    /// A state with the libraries and no script. None when there is no memory for it.
    pub fn new(host: Box<dyn Host>) -> Option<Self> {
        let session = NonNull::from(Box::leak(Box::new(Session::new(host))));
        let limit = MEMORY_BYTES_MAX + HEADROOM_BYTES;
        let memory = NonNull::from(Box::leak(Box::new(Memory { used: 0, limit })));
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
        Some(Self {
            lua,
            entries: Entries::default(),
            output: Output::Rows,
            output_bytes_max: OUTPUT_BYTES_MAX,
            session,
            memory,
        })
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
        if !(lua.load(source, c"=script") && self.call(0, 1)) {
            let fault = Fault::take(lua);
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
                 transformRow(row)"
                    .to_owned(),
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
        let Entries { on_record, transform_record, transform_row } = self.entries;
        let defined = [on_record, transform_record, transform_row];
        let names = ENTRY_POINTS.iter().map(|(name, _)| *name);
        names.zip(defined).filter(|(_, defined)| *defined).map(|(name, _)| name).collect()
    }

    /// Puts the entry points at their places on the stack.
    fn find_entry_points(&mut self) -> Entries {
        let lua = self.lua;
        let [on_record, transform_record, transform_row] = ENTRY_POINTS.map(|(name, place)| {
            lua.push_globals();
            let found = lua.get_field(-1, name) == Kind::Function;
            lua.remove(place);
            found
        });
        Entries { on_record, transform_record, transform_row }
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
        self.lua.session().tells_parts = true;
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
        let batch = Batch::parse(bytes)?;
        self.output_bytes_max = OUTPUT_BYTES_MAX.max(2 * bytes.len());
        let Session { bindings, added, .. } = self.lua.session();
        let places = bindings.bind(batch.tables(), added);
        let mut writer = BatchWriter::with_capacity(bytes.len() + bytes.len() / 8);
        for &place in &places {
            writer.add_table(&bindings.get(place).table);
        }
        let mut dropped = 0;
        let mut rejected = Vec::new();
        let mut result = Ok(());
        for (at, row) in (0..).zip(batch.rows()) {
            let verdict = row.and_then(|row| {
                let table = row.table_index();
                self.transform(&row, places[usize::from(table.0)], &mut writer).map(|verdict| (verdict, row))
            });
            match verdict {
                Ok((Verdict::Kept | Verdict::Sent(_), _)) => {}
                Ok((Verdict::Dropped, _)) => dropped += 1,
                Ok((Verdict::Rejected(fault), row)) => {
                    let table = batch.table(&row);
                    rejected.push(Rejection {
                        row: at,
                        table: table.qualified_name(),
                        key: key_text(table, &row),
                        line: fault.line,
                        message: fault.message,
                    });
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.lua.session().current.end();
        self.lua.set_top(BASE);
        result?;
        let rows = writer.rows();
        Ok(Applied { batch: writer.finish(), rows, dropped, rejected })
    }

    #[inline]
    fn transform(
        &mut self,
        row: &Row<'_>,
        binding: usize,
        writer: &mut BatchWriter,
    ) -> Result<Verdict, DecodeError> {
        let table = row.table_index();
        let is_row = match row.op() {
            Op::Insert | Op::Update | Op::Delete => true,
            Op::Message | Op::Relation => false,
            // An emptied table has no row for a script to see; what is a message stays one.
            Op::Truncate => {
                writer.begin_row(table, &row.header());
                writer.end_row();
                return Ok(Verdict::Kept);
            }
            Op::Outgoing => {
                if let Some(message) = row.outgoing()? {
                    writer.outgoing(table, &row.header(), &message);
                }
                return Ok(Verdict::Kept);
            }
        };
        let generation = self.lua.session().begin(row, binding);
        let verdict = self.run(row, generation, is_row);
        let verdict = self.bound(verdict, row, writer);
        if let Verdict::Rejected(_) = verdict {
            self.lua.set_top(BASE);
            self.recover();
            return Ok(verdict);
        }
        self.finish(&verdict, row, writer)?;
        self.lua.set_top(BASE);
        Ok(verdict)
    }

    /// Calls the script's functions for a record. Rows for a table are changed in place where the script
    /// can do that: what `onRecord` of such a script returns is for a queue.
    #[inline]
    fn run(&mut self, row: &Row<'_>, generation: u64, is_row: bool) -> Verdict {
        let changed = if is_row && self.entries.transforms() { self.change(row, generation) } else { Ok(()) };
        let for_queue = self.output == Output::Messages;
        let judges = self.entries.on_record && (for_queue || is_row && !self.entries.transforms());
        match changed {
            Err(fault) => Verdict::Rejected(fault),
            Ok(()) if !judges => Verdict::Kept,
            Ok(()) => {
                const ALL_RESULTS: i32 = -1;
                self.lua.push_copy(ON_RECORD);
                record::push(self.lua, generation);
                match (self.call(1, ALL_RESULTS), for_queue) {
                    (false, _) => Verdict::Rejected(Fault::take(self.lua)),
                    (true, true) => self.collect_messages(),
                    (true, false) => self.judge_row(row.op(), generation),
                }
            }
        }
    }

    /// Refuses what would make the batch too large.
    #[inline]
    fn bound(&mut self, verdict: Verdict, row: &Row<'_>, writer: &BatchWriter) -> Verdict {
        let bytes = match &verdict {
            Verdict::Kept => row.raw().len() + self.lua.session().current.assigned_bytes(),
            Verdict::Sent(messages) => messages.iter().map(Message::bytes).sum(),
            Verdict::Dropped | Verdict::Rejected(_) => return verdict,
        };
        if writer.bytes() + bytes <= self.output_bytes_max {
            return verdict;
        }
        let most = self.output_bytes_max;
        Verdict::rejected(format!(
            "the script makes more than {most} bytes of the batch that the record is in"
        ))
    }

    /// Lets the script change the rows of a record.
    fn change(&mut self, row: &Row<'_>, generation: u64) -> Result<(), Fault> {
        let Entries { transform_record, transform_row, .. } = self.entries;
        if transform_record && !(transform_row && is_of_snapshot(row)) {
            self.lua.push_copy(TRANSFORM_RECORD);
            record::push(self.lua, generation);
            return if self.call(1, 0) { Ok(()) } else { Err(Fault::take(self.lua)) };
        }
        for which in [Which::Old, Which::New] {
            if self.lua.session().current.has(which) {
                self.lua.push_copy(TRANSFORM_ROW);
                row::push(self.lua, which);
                if !self.call(1, 0) {
                    return Err(Fault::take(self.lua));
                }
            }
        }
        Ok(())
    }

    /// Reads what `onRecord` returned for a queue, which is above [`BASE`].
    fn collect_messages(&mut self) -> Verdict {
        let lua = self.lua;
        let count = lua.top() - BASE;
        if count > MESSAGES_PER_RECORD_MAX {
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
                true if handle.which() == record::row_of(op) => Verdict::Kept,
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

    /// Writes what goes on.
    #[inline]
    fn finish(
        &mut self,
        verdict: &Verdict,
        row: &Row<'_>,
        writer: &mut BatchWriter,
    ) -> Result<(), DecodeError> {
        let Session { current, bindings, .. } = self.lua.session();
        match verdict {
            Verdict::Kept => current.write(writer, row.table_index())?,
            Verdict::Sent(messages) => {
                let table = &bindings.get(current.binding()).table;
                let key = table.columns.iter().any(|column| column.key != 0).then(|| key_text(table, row));
                for message in messages {
                    message.write(writer, row.table_index(), &row.header(), key.as_deref());
                }
            }
            Verdict::Dropped | Verdict::Rejected(_) => {}
        }
        Ok(())
    }
}

/// Whether a row was read by a snapshot: no transaction made it.
fn is_of_snapshot(row: &Row<'_>) -> bool {
    let header = row.header();
    header.transaction == 0 && header.commit_time_us == RowHeader::TIME_UNKNOWN
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
