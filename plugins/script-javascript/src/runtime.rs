//! A script: loaded once, then given record after record.

#![expect(unsafe_code, reason = "the session is shared with functions that the engine calls")]

use std::ptr::NonNull;

use tarn_batch::{DecodeError, Op, Row};
use tarn_script::config::{MESSAGES_PER_RECORD_MAX, SOURCE_BYTES_MAX};
use tarn_script::current::Which;
use tarn_script::transform::{self, Engine, Records, row_of};
pub use tarn_script::transform::{Applied, Output};

use crate::assign;
use crate::config::{JOBS_DROPPED_MAX, MEMORY_BYTES_MAX, STACK_BYTES_MAX};
use crate::failure::{self, Fault};
use crate::js::{Answer, Js, Kind, Promise, Throw, Value, View};
use crate::message::Message;
use crate::modules::SCRIPT;
use crate::session::{Host, Phase, Session};
use crate::{library, modules, record, row};

/// The functions that a script may define.
pub const ENTRY_POINTS: [&str; 4] = ["onRecord", "transformRecord", "transformRow", "onMessage"];

/// What follows a script's source: where the functions that it defines are left for the runtime, also those
/// that it does not export.
const EPILOGUE: &str = "\n;import.meta.tarn = {\
    onRecord: typeof onRecord === 'function' ? onRecord : undefined,\
    transformRecord: typeof transformRecord === 'function' ? transformRecord : undefined,\
    transformRow: typeof transformRow === 'function' ? transformRow : undefined,\
    onMessage: typeof onMessage === 'function' ? onMessage : undefined};";

/// The functions that a script defines.
#[derive(Default)]
struct Entries {
    /// `onRecord(r)`: what it returns goes on.
    on_record: Option<Value>,
    /// `transformRecord(r)`: what it changes goes on.
    transform_record: Option<Value>,
    /// `transformRow(row)`: for rows before and after a change; for a snapshot's rows also where there is
    /// `transformRecord`.
    transform_row: Option<Value>,
    /// `onMessage(r)`: for a table, told of messages in the source's log. Scripts that know of none ask for rows
    /// that these lack, so `onRecord` is not given them there.
    on_message: Option<Value>,
}

impl Entries {
    fn all(&self) -> [&Option<Value>; 4] {
        [&self.on_record, &self.transform_record, &self.transform_row, &self.on_message]
    }

    fn transforms(&self) -> bool {
        self.transform_record.is_some() || self.transform_row.is_some()
    }
}

/// An engine with at most one script in it.
pub struct Runtime {
    js: Js,
    entries: Entries,
    output: Output,
    session: NonNull<Session>,
}

type Verdict = transform::Verdict<Message>;

impl Runtime {
    /// An engine with the libraries and no script. None when there is no memory for it.
    pub fn new(host: Box<dyn Host>) -> Option<Self> {
        let session = NonNull::from(Box::leak(Box::new(Session::new(host))));
        let js = Js::open(session)?;
        js.limit(MEMORY_BYTES_MAX, STACK_BYTES_MAX);
        js.enter();
        let runtime = Self { js, entries: Entries::default(), output: Output::Rows, session };
        if let Err(throw) = library::open(js) {
            let (fault, _) = failure::take(js, throw);
            debug_assert!(false, "the libraries do not open: {fault:?}");
            return None;
        }
        modules::register(js);
        js.track_promises();
        Some(runtime)
    }

    /// Makes a stored script known to `import`.
    pub fn add_module(&mut self, name: &str, source: &str) {
        self.js.session().sources.insert(name.to_owned(), source.to_owned());
    }

    /// The module that loading asked for and did not find.
    pub fn missing_module(&self) -> Option<&str> {
        // SAFETY: the runtime owns it, and no script code is running.
        Some(&*unsafe { self.session.as_ref() }.missing_module).filter(|name| !name.is_empty())
    }

    /// Compiles a script and runs its top level, once. One that exports something may be a module for others:
    /// it needs no entry point.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(&mut self, source: &str) -> Result<(), Fault> {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(Fault::new(format!("the script is longer than {SOURCE_BYTES_MAX} bytes")));
        }
        let js = self.js;
        js.enter();
        let loaded = self.try_load(source);
        let unhandled = js.session().unhandled.take();
        let is_module = match (loaded, unhandled) {
            (Err(throw), _) => return Err(place(source, failure::take(js, throw).0)),
            (Ok(_), Some(error)) => return Err(place(source, failure::of_value(js, &error).0)),
            (Ok(is_module), None) => is_module,
        };
        if self.entries.all().iter().all(|entry| entry.is_none()) && !is_module {
            return Err(Fault::new(
                "the script defines no entry point: a function onRecord(r), transformRecord(r) or transformRow(row)",
            ));
        }
        js.collect();
        Ok(())
    }

    /// Runs a source; whether it exports something.
    fn try_load(&mut self, source: &str) -> Answer<bool> {
        let js = self.js;
        let module = js.compile(SCRIPT, &format!("{source}{EPILOGUE}")).map_err(|throw| {
            // By itself, so that an error at its end has its own place.
            js.compile(SCRIPT, source).err().unwrap_or(throw)
        })?;
        module.resolve()?;
        let meta = module.meta()?;
        let (promise, exports) = module.run()?;
        js.run_jobs()?;
        match js.promise_of(*promise) {
            Some(Promise::Rejected(error)) => return Err(js.rethrow(error?)),
            Some(Promise::Pending) => {
                return Err(Throw::of_type("the script's top level waits for what never comes"));
            }
            Some(Promise::Fulfilled(_)) | None => {}
        }
        let found = meta.get("tarn")?;
        let entry = |name: &str| {
            // `export { f as onRecord }` names what is defined under another name.
            let exported = exports.get_own(name)?;
            let defined = if exported.kind() == Kind::Undefined { found.get(name)? } else { exported };
            if is_generator(js, &defined)? {
                return Err(Throw::of_type(format_args!(
                    "{name} is a generator (function*), of which a call runs nothing: write function or async function"
                )));
            }
            Ok::<_, Throw>(Some(defined).filter(|function| js.is_function(**function)))
        };
        self.entries = Entries {
            on_record: entry(ENTRY_POINTS[0])?,
            transform_record: entry(ENTRY_POINTS[1])?,
            transform_row: entry(ENTRY_POINTS[2])?,
            on_message: entry(ENTRY_POINTS[3])?,
        };
        Ok(!js.names(*exports)?.is_empty())
    }

    /// The engine, to look into.
    pub(crate) fn engine(&self) -> Js {
        self.js
    }

    /// The names of the entry points that the script defines.
    pub fn entry_points(&self) -> Vec<&'static str> {
        let defined = self.entries.all().map(Option::is_some);
        ENTRY_POINTS.into_iter().zip(defined).filter(|(_, defined)| *defined).map(|(name, _)| name).collect()
    }

    /// Ends loading: the clock and the log are there from now on.
    pub fn start(&mut self, targets: Vec<(String, String)>, output: Output) {
        let session = self.js.session();
        session.phase = Phase::Running;
        session.bindings.set_targets(targets);
        self.output = output;
    }

    /// Makes messages of errors bring the function and the last lines of the log along.
    pub fn tell_parts(&mut self) {
        self.js.session().trail.tell();
    }

    /// Transforms the rows of a batch.
    ///
    /// # Errors
    /// The batch is damaged.
    pub fn apply(&mut self, bytes: &[u8]) -> Result<Applied, DecodeError> {
        self.js.enter();
        transform::apply(self, bytes)
    }

    /// Calls a function of the script, and waits for what it promises.
    #[inline]
    fn call(&self, function: &Value, argument: View) -> Answer {
        let js = self.js;
        let mut result = js.call(**function, View::UNDEFINED, &[argument])?;
        if js.has_jobs() {
            js.run_jobs()?;
        }
        let promise = if result.kind() == Kind::Object { js.promise_of(*result) } else { None };
        match promise {
            None => {}
            Some(Promise::Fulfilled(value)) => result = value?,
            Some(Promise::Rejected(error)) => return Err(js.rethrow(error?)),
            Some(Promise::Pending) => {
                return Err(Throw::of_type("the function's promise waits for what never comes"));
            }
        }
        if let Some(error) = js.session().unhandled.take() {
            return Err(js.rethrow(error));
        }
        Ok(result)
    }

    /// Calls the script's functions for a record. Rows for a table are changed in place where the script can do
    /// that: what `onRecord` of such a script returns is for a queue.
    #[inline]
    fn decide(&self, row: &Row<'_>, generation: u64) -> Answer<Verdict> {
        let is_row = matches!(row.op(), Op::Insert | Op::Update | Op::Delete);
        if is_row && self.entries.transforms() {
            self.change(row, generation)?;
        }
        let for_queue = self.output == Output::Messages;
        if row.op() == Op::Message && !for_queue {
            // It goes on: a table takes none.
            if let Some(on_message) = &self.entries.on_message {
                let object = record::object(self.js, generation)?;
                self.call(on_message, *object)?;
            }
            return Ok(Verdict::Kept);
        }
        let on_record = self.entries.on_record.as_ref();
        let verdict = match on_record.filter(|_| for_queue || is_row && !self.entries.transforms()) {
            None => Verdict::Kept,
            Some(on_record) => {
                let object = record::object(self.js, generation)?;
                let returned = self.call(on_record, *object)?;
                drop(object);
                if for_queue {
                    self.collect_messages(&returned)?
                } else {
                    self.judge_row(row.op(), &returned)?
                }
            }
        };
        if matches!(verdict, Verdict::Kept) && !self.js.session().live.is_empty() {
            row::assign_changed(self.js)?;
        }
        Ok(verdict)
    }

    /// Lets the script change the rows of a record.
    fn change(&self, row: &Row<'_>, generation: u64) -> Answer<()> {
        let Entries { transform_record, transform_row, .. } = &self.entries;
        if let Some(function) = transform_record
            && !(transform_row.is_some() && row.is_of_load())
        {
            let object = record::object(self.js, generation)?;
            self.call(function, *object)?;
            return Ok(());
        }
        let Some(function) = transform_row else { return Ok(()) };
        for which in [Which::Old, Which::New] {
            if self.js.session().current.has(which) {
                let object = row::object(self.js, which)?;
                self.call(function, *object)?;
            }
        }
        Ok(())
    }

    /// Reads what `onRecord` returned for a queue.
    fn collect_messages(&self, returned: &Value) -> Answer<Verdict> {
        let js = self.js;
        let mut messages = Vec::new();
        if js.is_array(**returned) {
            let count = js.length(**returned)?;
            if count > MESSAGES_PER_RECORD_MAX {
                return Ok(Verdict::rejected(format!(
                    "onRecord returned {count} messages: one record makes at most {MESSAGES_PER_RECORD_MAX}"
                )));
            }
            for at in 0..count as u32 {
                let item = js.get_item(**returned, at)?;
                messages.extend(Message::read(js, *item)?);
            }
        } else {
            messages.extend(Message::read(js, **returned)?);
        }
        Ok(if messages.is_empty() { Verdict::Dropped } else { Verdict::Sent(messages) })
    }

    /// Decides by what `onRecord` returned for a table.
    #[inline]
    fn judge_row(&self, op: Op, returned: &Value) -> Answer<Verdict> {
        let js = self.js;
        if returned.is_nothing() {
            return Ok(Verdict::Dropped);
        }
        if let Some(which) = row::which(js, **returned) {
            return Ok(match which {
                Ok(which) if which == row_of(op) => Verdict::Kept,
                Ok(_) => Verdict::rejected("onRecord returned the row before the change: return r.row"),
                Err(_) => Verdict::rejected("onRecord returned a row of an earlier record"),
            });
        }
        if record::is_current(js, **returned) {
            return Ok(Verdict::Kept);
        }
        Ok(Verdict::rejected(format!(
            "onRecord returned {}: for a table destination it returns r.row, r or null; messages are for queues",
            assign::described(js, **returned)
        )))
    }
}

/// Whether a value is a function whose call makes a generator.
fn is_generator(js: Js, value: &Value) -> Answer<bool> {
    if !js.is_function(**value) {
        return Ok(false);
    }
    let constructor = value.get("constructor")?;
    if constructor.kind() != Kind::Object {
        return Ok(false);
    }
    let name = constructor.get("name")?;
    Ok(matches!(&*js.text(*name)?, b"GeneratorFunction" | b"AsyncGeneratorFunction"))
}

/// A fault of a source, with its place where that lies in the source.
fn place(source: &str, mut fault: Fault) -> Fault {
    // What the epilogue meets is missing at the source's end.
    let lines = u32::try_from(source.lines().count()).unwrap_or(u32::MAX).max(1);
    if fault.column > 0 && fault.line > lines {
        (fault.line, fault.column) = (lines, 0);
    }
    fault
}

impl Engine for Runtime {
    type Message = Message;

    fn records(&mut self) -> Records<'_> {
        // SAFETY: the runtime owns it, and no script code is running.
        let Session { bindings, added, current, .. } = unsafe { self.session.as_mut() };
        Records { bindings, added, current }
    }

    #[inline]
    fn run(&mut self, row: &Row<'_>, binding: usize) -> Verdict {
        let generation = self.js.session().begin(row, binding);
        self.decide(row, generation).unwrap_or_else(|throw| {
            let (fault, function) = failure::take(self.js, throw);
            let trail = &self.js.session().trail;
            let fault = if trail.is_told() {
                let (fault, place) = fault.beside_its_place(function);
                trail.lead_to(fault, &place)
            } else {
                fault.of_record(function)
            };
            Verdict::Rejected(fault)
        })
    }

    #[inline]
    fn rest(&mut self, rejected: bool) {
        let session = self.js.session();
        if !session.live.is_empty() {
            let live = std::mem::take(&mut session.live);
            drop(live);
        }
        if rejected {
            // What its promises still wait for is no part of the next record.
            for _ in 0..JOBS_DROPPED_MAX {
                if let Err(throw) = self.js.run_jobs() {
                    drop(failure::take(self.js, throw));
                }
                if !self.js.has_jobs() {
                    break;
                }
            }
            self.js.session().unhandled = None;
            // What a failed call left behind may be large.
            if self.js.take_exhausted() || self.js.memory_used() > MEMORY_BYTES_MAX / 4 {
                self.js.collect();
            }
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.entries = Entries::default();
        self.js.session().release();
        self.js.close();
        // SAFETY: it came from a box, and nothing refers to it any more.
        unsafe { drop(Box::from_raw(self.session.as_ptr())) };
    }
}

#[cfg(test)]
pub mod tests;
