//! A script: loaded once, then given record after record.

#![expect(unsafe_code, reason = "the session and the memory are shared with functions that Lua calls")]

use std::ptr::NonNull;

use tarn_batch::{Batch, BatchWriter, DecodeError, Op, Row, RowHeader, TableIndex};

use crate::config::{MEMORY_BYTES_MAX, SOURCE_BYTES_MAX};
use crate::failure::{Fault, handler};
use crate::lua::{Kind, Lua, Memory};
use crate::rejection::{Rejection, key_text};
use crate::session::{Host, Phase, Session};
use crate::{json, library, peerdb, record, row, values};

/// The places at the bottom of the stack that always hold the same.
const HANDLER: i32 = 1;
/// `onRecord` or `transformRecord`.
const RECORD_FUNCTION: i32 = 2;
/// `transformRow`.
const ROW_FUNCTION: i32 = 3;
/// How many there are.
const BASE: i32 = 3;

/// Memory that the runtime itself may take above the script's limit, to hand over a record: running
/// out of it could not be answered by an error.
const HEADROOM_BYTES: usize = 1 << 20;

/// How a script is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Nothing is loaded.
    Missing,
    /// `onRecord(r)`: what it returns goes on.
    OnRecord,
    /// `transformRecord(r)`, and `transformRow(row)` for rows of a snapshot if there is one: what it
    /// changed goes on.
    Transform { record: bool, row: bool },
}

/// A Lua state with at most one script in it.
pub struct Runtime {
    lua: Lua,
    entry: Entry,
    session: NonNull<Session>,
    memory: NonNull<Memory>,
}

/// What a batch became.
pub struct Applied {
    /// The rows that go on.
    pub batch: Vec<u8>,
    /// How many.
    pub rows: u32,
    /// Rows that the script dropped.
    pub dropped: u32,
    /// Rows that it could not transform.
    pub rejected: Vec<Rejection>,
}

/// What became of a record.
enum Verdict {
    Kept,
    Dropped,
    Rejected(Fault),
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
        peerdb::register(lua);
        lua.collect_by_generation();
        lua.push_function(handler);
        Some(Self { lua, entry: Entry::Missing, session, memory })
    }

    /// Compiles a script and runs its top level, once.
    pub fn load(&mut self, source: &[u8]) -> Result<(), Fault> {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(Fault::new(format!("the script is longer than {SOURCE_BYTES_MAX} bytes")));
        }
        let lua = self.lua;
        self.limit_memory();
        if !(lua.load(source, c"=script") && self.call(0, 0)) {
            let fault = Fault::take(lua);
            lua.set_top(HANDLER);
            return Err(fault);
        }
        self.entry = self.find_entry_points()?;
        lua.collect();
        Ok(())
    }

    /// The names of the entry points that the script defines.
    pub fn entry_points(&self) -> Vec<&'static str> {
        match self.entry {
            Entry::Missing => vec![],
            Entry::OnRecord => vec!["onRecord"],
            Entry::Transform { record, row } => [("transformRecord", record), ("transformRow", row)]
                .iter()
                .filter(|(_, there)| *there)
                .map(|(name, _)| *name)
                .collect(),
        }
    }

    /// Puts the entry points at their places on the stack.
    fn find_entry_points(&mut self) -> Result<Entry, Fault> {
        let lua = self.lua;
        lua.push_globals();
        let find = |name| lua.get_field(HANDLER + 1, name) == Kind::Function;
        let on_record = find("onRecord");
        if on_record {
            lua.push_nil();
        } else {
            lua.pop(1);
        }
        let entry = if on_record {
            Entry::OnRecord
        } else {
            match (find("transformRecord"), find("transformRow")) {
                (false, false) => {
                    lua.set_top(HANDLER);
                    return Err(Fault::new(
                        "the script defines no entry point: a function onRecord(r), transformRecord(r) or \
                         transformRow(row)"
                            .to_owned(),
                    ));
                }
                (record, row) => Entry::Transform { record, row },
            }
        };
        lua.remove(HANDLER + 1);
        Ok(entry)
    }

    /// Ends loading: the clock and the log are there from now on.
    pub fn start(&mut self, targets: Vec<(String, String)>) {
        let session = self.lua.session();
        session.phase = Phase::Running;
        session.bindings.set_targets(targets);
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
        let places = self.lua.session().bindings.bind(batch.tables());
        let mut writer = BatchWriter::with_capacity(bytes.len() + bytes.len() / 8);
        for table in batch.tables() {
            writer.add_table(table);
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
                Ok((Verdict::Kept, _)) => {}
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
        // An emptied table has no row for a script to see.
        if row.op() == Op::Truncate {
            writer.append_row(row, table);
            return Ok(Verdict::Kept);
        }
        let lua = self.lua;
        let generation = lua.session().current.begin(row, binding);
        let arguments = self.push_call(row, generation);
        if let Some(function_results) = arguments
            && !self.call(1, function_results)
        {
            let fault = Fault::take(lua);
            lua.set_top(BASE);
            self.recover();
            return Ok(Verdict::Rejected(fault));
        }
        let verdict = match self.entry {
            Entry::OnRecord => self.judge(row.op(), generation),
            _ => Verdict::Kept,
        };
        lua.set_top(BASE);
        self.finish(verdict, table, writer)
    }

    /// Pushes the function for a row and its argument; returns how many results are wanted, none when
    /// the script has nothing to say about such rows.
    #[inline]
    fn push_call(&mut self, row: &Row<'_>, generation: u64) -> Option<i32> {
        const ALL_RESULTS: i32 = -1;
        let lua = self.lua;
        let (place, results) = match self.entry {
            Entry::Missing => return None,
            Entry::OnRecord => (RECORD_FUNCTION, ALL_RESULTS),
            Entry::Transform { record: false, .. } => (ROW_FUNCTION, 0),
            Entry::Transform { record: true, row: true } if is_of_snapshot(row) => (ROW_FUNCTION, 0),
            Entry::Transform { record: true, .. } => (RECORD_FUNCTION, 0),
        };
        lua.push_copy(place);
        if place == RECORD_FUNCTION {
            record::push(lua, generation);
        } else {
            row::push(lua, record::row_of(row.op()));
        }
        Some(results)
    }

    /// Decides by what `onRecord` returned, which is above [`BASE`].
    #[inline]
    fn judge(&mut self, op: Op, generation: u64) -> Verdict {
        let lua = self.lua;
        let mut count = lua.top() - BASE;
        while count > 0 && lua.is_nil(BASE + count) {
            count -= 1;
        }
        if count == 0 {
            return Verdict::Dropped;
        }
        if count > 1 {
            return Verdict::Rejected(Fault::new(
                "onRecord returned several values: for a table destination it returns r.row, r or nil"
                    .to_owned(),
            ));
        }
        let returned = BASE + 1;
        if let Some(handle) = row::handle(lua, returned) {
            return match handle.generation() == generation {
                true if handle.which() == record::row_of(op) => Verdict::Kept,
                true => Verdict::Rejected(Fault::new(
                    "onRecord returned the row before the change: return r.row".to_owned(),
                )),
                false => {
                    Verdict::Rejected(Fault::new("onRecord returned a row of an earlier record".to_owned()))
                }
            };
        }
        if record::handle(lua, returned).is_some_and(|handle| handle.generation() == generation) {
            return Verdict::Kept;
        }
        Verdict::Rejected(Fault::new(format!(
            "onRecord returned a {}: for a table destination it returns r.row, r or nil",
            lua.type_name(returned)
        )))
    }

    #[inline]
    fn finish(
        &mut self,
        verdict: Verdict,
        table: TableIndex,
        writer: &mut BatchWriter,
    ) -> Result<Verdict, DecodeError> {
        if let Verdict::Kept = verdict {
            self.lua.session().current.write(writer, table)?;
        }
        Ok(verdict)
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
