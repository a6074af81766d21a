//! A batch through a script: record by record, and what becomes of each.

use tarn_batch::{Batch, BatchWriter, DecodeError, Op, Row, RowHeader, Table, TableIndex};

use crate::added::Added;
use crate::binding::Bindings;
use crate::config::{MESSAGE_BYTES_MAX, OUTPUT_BYTES_MAX};
use crate::current::Current;
use crate::rejection::{Rejection, key_text};

/// What the destination takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Rows of tables.
    Rows,
    /// Messages of a queue.
    Messages,
}

/// What a batch became.
#[derive(Debug)]
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

/// An error of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 when unknown.
    pub line: u32,
    /// What a person should read.
    pub message: String,
}

/// What is said of an error that says nothing.
pub const NO_TEXT: &str = "(the error has no text)";

impl Fault {
    /// A fault that is not at a line.
    pub fn new(message: impl Into<String>) -> Self {
        Self::at(0, message)
    }

    /// A fault at a line.
    pub fn at(line: u32, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.is_empty() {
            NO_TEXT.clone_into(&mut message);
        }
        if message.len() > MESSAGE_BYTES_MAX {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
            message.push('…');
        }
        Self { line, message }
    }
}

/// A message that a script made.
pub trait Sent {
    /// About how many bytes it takes in a batch.
    fn bytes(&self) -> usize;
    /// Appends it as made of a record; `key` is the record's, where its table has one.
    fn write(&self, writer: &mut BatchWriter, table: TableIndex, header: &RowHeader, key: Option<&str>);
}

/// What becomes of a record.
#[derive(Debug)]
pub enum Verdict<M> {
    /// Its row goes on, as changed.
    Kept,
    /// Nothing of it goes on.
    Dropped,
    /// These go on instead.
    Sent(Vec<M>),
    /// The script failed on it.
    Rejected(Fault),
}

impl<M> Verdict<M> {
    /// A record that is rejected without a line.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected(Fault::new(reason))
    }
}

/// What a runtime remembers of tables and of the current record.
pub struct Records<'a> {
    /// The tables that records came from.
    pub bindings: &'a mut Bindings,
    /// The columns that the script adds to them.
    pub added: &'a [Added],
    /// The record that the script sees.
    pub current: &'a mut Current,
}

/// A script, as this module runs it.
pub trait Engine {
    /// What it makes for a queue.
    type Message: Sent;

    /// What it remembers.
    fn records(&mut self) -> Records<'_>;

    /// Makes a row the current record, whose table is at `binding` among the bindings, and lets the script
    /// decide what becomes of it.
    fn run(&mut self, row: &Row<'_>, binding: usize) -> Verdict<Self::Message>;

    /// Called after each record, when what became of it is written.
    fn rest(&mut self, rejected: bool);
}

/// Transforms the rows of a batch.
///
/// # Errors
/// The batch is damaged.
pub fn apply<E: Engine>(engine: &mut E, bytes: &[u8]) -> Result<Applied, DecodeError> {
    let batch = Batch::parse(bytes)?;
    let output_bytes_max = OUTPUT_BYTES_MAX.max(2 * bytes.len());
    let Records { bindings, added, .. } = engine.records();
    let places = bindings.bind(batch.tables(), added);
    let mut writer = BatchWriter::with_capacity(bytes.len() + bytes.len() / 8);
    for &place in &places {
        writer.add_table(&bindings.get(place).table);
    }
    let mut pass = Pass { engine, writer, output_bytes_max, dropped: 0, rejected: Vec::new() };
    let mut result = Ok(());
    for (at, row) in (0..).zip(batch.rows()) {
        let done = row.and_then(|row| {
            let table = row.table_index();
            pass.transform(at, &row, places[usize::from(table.0)], batch.table(&row))
        });
        if let Err(error) = done {
            result = Err(error);
            break;
        }
    }
    let Pass { engine, writer, dropped, rejected, .. } = pass;
    engine.records().current.end();
    result?;
    let rows = writer.rows();
    Ok(Applied { batch: writer.finish(), rows, dropped, rejected })
}

/// A batch on its way through a script.
struct Pass<'a, E> {
    engine: &'a mut E,
    writer: BatchWriter,
    /// What the batch may become.
    output_bytes_max: usize,
    dropped: u32,
    rejected: Vec<Rejection>,
}

impl<E: Engine> Pass<'_, E> {
    #[inline]
    fn transform(
        &mut self,
        at: u32,
        row: &Row<'_>,
        binding: usize,
        table: &Table,
    ) -> Result<(), DecodeError> {
        let index = row.table_index();
        match row.op() {
            Op::Insert | Op::Update | Op::Delete | Op::Message | Op::Relation => {}
            // An emptied table has no row for a script to see; what is a message stays one.
            Op::Truncate => {
                self.writer.begin_row(index, &row.header());
                self.writer.end_row();
                return Ok(());
            }
            Op::Outgoing => {
                if let Some(message) = row.outgoing()? {
                    self.writer.outgoing(index, &row.header(), &message);
                }
                return Ok(());
            }
        }
        let verdict = self.engine.run(row, binding);
        let verdict = self.bound(verdict, row);
        let written = self.finish(&verdict, row);
        self.engine.rest(matches!(verdict, Verdict::Rejected(_)));
        match verdict {
            Verdict::Kept | Verdict::Sent(_) => {}
            Verdict::Dropped => self.dropped += 1,
            Verdict::Rejected(Fault { line, message }) => self.rejected.push(Rejection {
                row: at,
                table: table.qualified_name(),
                key: key_text(table, row),
                line,
                message,
            }),
        }
        written
    }

    /// Refuses what would make the batch too large.
    #[inline]
    fn bound(&mut self, verdict: Verdict<E::Message>, row: &Row<'_>) -> Verdict<E::Message> {
        let bytes = match &verdict {
            Verdict::Kept => row.raw().len() + self.engine.records().current.assigned_bytes(),
            Verdict::Sent(messages) => messages.iter().map(Sent::bytes).sum(),
            Verdict::Dropped | Verdict::Rejected(_) => return verdict,
        };
        if self.writer.bytes() + bytes <= self.output_bytes_max {
            return verdict;
        }
        let most = self.output_bytes_max;
        Verdict::rejected(format!(
            "the script makes more than {most} bytes of the batch that the record is in"
        ))
    }

    /// Writes what goes on.
    #[inline]
    fn finish(&mut self, verdict: &Verdict<E::Message>, row: &Row<'_>) -> Result<(), DecodeError> {
        let index = row.table_index();
        match verdict {
            Verdict::Kept => self.engine.records().current.write(&mut self.writer, index)?,
            Verdict::Sent(messages) => {
                let Records { bindings, current, .. } = self.engine.records();
                let table = &bindings.get(current.binding()).table;
                let key = table.columns.iter().any(|column| column.key != 0).then(|| key_text(table, row));
                for message in messages {
                    message.write(&mut self.writer, index, &row.header(), key.as_deref());
                }
            }
            Verdict::Dropped | Verdict::Rejected(_) => {}
        }
        Ok(())
    }
}

/// The row that people mean by a record's row: the new one, or the old one of a delete.
#[inline]
pub fn row_of(op: Op) -> crate::current::Which {
    if op == Op::Delete { crate::current::Which::Old } else { crate::current::Which::New }
}
