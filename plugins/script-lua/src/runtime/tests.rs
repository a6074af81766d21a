//! Scripts over batches.

use std::cell::RefCell;
use std::rc::Rc;

use tarn_script::fixture::{Images, batch, insert, users};

use super::{Applied, Output, Runtime};
use crate::session::Host;
use crate::{Fault, Rejection};

mod entry_points;
mod every_type;
mod fuzz;
mod limits;
mod messages;
mod records;
mod scripts_in_the_wild;

/// A world that remembers what was logged, where it is half past one of the first day.
#[derive(Default, Clone)]
pub struct Recorder {
    lines: Rc<RefCell<Vec<String>>>,
}

impl Host for Recorder {
    fn log(&mut self, line: &str) {
        self.lines.borrow_mut().push(line.to_owned());
    }

    fn now_us(&mut self) -> i64 {
        5_400_000_000
    }
}

/// A runtime with a script, and what it logs.
fn start(source: &str) -> (Runtime, Recorder) {
    let recorder = Recorder::default();
    let mut runtime = Runtime::new(Box::new(recorder.clone())).expect("there is memory");
    runtime.load(source.as_bytes()).unwrap_or_else(|fault| panic!("{fault:?} in {source}"));
    runtime.start(vec![("public.users".to_owned(), "people".to_owned())], Output::Rows);
    (runtime, recorder)
}

/// A runtime with a script for a queue.
fn start_for_queue(source: &str) -> Runtime {
    let mut runtime = start(source).0;
    runtime.start(vec![("public.users".to_owned(), "people".to_owned())], Output::Messages);
    runtime
}

fn refused(source: &str) -> Fault {
    let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
    runtime.load(source.as_bytes()).expect_err("the script is refused")
}

pub fn apply(source: &str, batch: &[u8]) -> Applied {
    start(source).0.apply(batch).expect("the batch is sound")
}

/// Runs a body of `onRecord(r)` on one row of [`users`], which it must not reject.
fn accept(body: &str, row: Images<'_>) -> Applied {
    let applied = apply(&format!("function onRecord(r) {body} end"), &batch(&users(), &[row]));
    assert_eq!(applied.rejected, [], "{body}");
    applied
}

/// The one rejection that a body causes.
fn reject(body: &str, row: Images<'_>) -> Rejection {
    let applied = apply(&format!("function onRecord(r)\n{body}\nend"), &batch(&users(), &[row]));
    assert_eq!((applied.rows, applied.dropped, applied.rejected.len()), (0, 0, 1), "{body}");
    applied.rejected.into_iter().next().expect("there is one")
}

/// Why a body of `onRecord(r)` is rejected.
pub fn reject_reason(body: &str) -> String {
    reject(body, insert()).message
}
