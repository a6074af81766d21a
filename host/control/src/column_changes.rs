//! Changes of a destination's columns by the stream, while loads beside it write to the same tables.
//!
//! A connector's instance writes to a table by the columns that it found there. An instance of a load does not know when that
//! of the stream gives them other names, and a name may go on to another column: what was sent under it since is in the
//! wrong one, and what is refused would not be by the columns of now. Nobody waits for anybody. Changes are counted instead:
//! a load that wrote a table while its columns were changed takes nothing of that for durable, and writes it once more with a new
//! instance. Of rows with one key and version the last written one counts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::{Ack, Batch, Destination, PartState};

use crate::described::table_names;

/// The code of a write that is to be made again.
const MEANWHILE: &str = "target_changed_meanwhile";

/// How often the columns of each table began or ended to be changed: an odd number while they are.
#[derive(Debug, Default)]
pub(crate) struct ColumnChanges(Mutex<HashMap<String, u64>>);

impl ColumnChanges {
    /// Counts a change of these tables that goes on until the answer is dropped, however it ends.
    pub(crate) fn begin(self: &Arc<Self>, tables: Vec<String>) -> Change {
        self.count(&tables);
        Change { changes: Arc::clone(self), tables }
    }

    fn count(&self, tables: &[String]) {
        let mut counts = self.counts();
        for table in tables {
            *counts.entry(table.clone()).or_default() += 1;
        }
    }

    fn of(&self, table: &str) -> u64 {
        self.counts().get(table).copied().unwrap_or_default()
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        // Whole numbers are right whoever panicked beside them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change of columns, while it lasts.
pub(crate) struct Change {
    changes: Arc<ColumnChanges>,
    tables: Vec<String>,
}

impl Drop for Change {
    fn drop(&mut self) {
        self.changes.count(&self.tables);
    }
}

/// The destination of a load beside the stream.
pub(crate) struct Beside<D> {
    destination: D,
    changes: Arc<ColumnChanges>,
    /// The counts of the tables that this instance has written to, when it came to them.
    known: HashMap<String, u64>,
}

impl<D: Destination> Beside<D> {
    pub(crate) fn new(destination: D, changes: Arc<ColumnChanges>) -> Self {
        Self { destination, changes, known: HashMap::new() }
    }

    /// An answer of the destination, if the columns are those that it was given for, and no change of them goes on.
    fn unless_changed<T>(&self, answer: Result<T, Failure>) -> Result<T, Failure> {
        let changed = self.known.iter().find(|(table, known)| {
            let now = self.changes.of(table);
            now != **known || now % 2 == 1
        });
        match changed {
            None => answer,
            Some((table, _)) => {
                let message = format!(
                    "columns of {table} were changed while its load wrote to it; it is written again"
                );
                Err(Failure::retry(MEANWHILE, message).with_table(table))
            }
        }
    }
}

impl<D: Destination> Destination for Beside<D> {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        for batch in &batches {
            for table in table_names(&batch.bytes)? {
                if let Entry::Vacant(new) = self.known.entry(table) {
                    let count = self.changes.of(new.key());
                    new.insert(count);
                }
            }
        }
        self.unless_changed(Ok(()))?;
        let answer = self.destination.write(batches).await;
        self.unless_changed(answer)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        let answer = self.destination.flush().await;
        self.unless_changed(answer)
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        self.destination.evolve(schema).await
    }

    async fn begin_part(&mut self, part: &str) -> Result<PartState, Failure> {
        self.destination.begin_part(part).await
    }

    async fn end_part(&mut self) -> Result<(), Failure> {
        let answer = self.destination.end_part().await;
        self.unless_changed(answer)
    }
}

#[cfg(test)]
mod tests {
    use tarn_batch::{BatchWriter, Table};

    use super::*;

    /// A destination that takes everything, and refuses once it is told to.
    #[derive(Default)]
    struct Taking {
        refuses: bool,
    }

    impl Destination for Taking {
        async fn write(&mut self, _batches: Vec<Batch>) -> Result<Ack, Failure> {
            match self.refuses {
                true => Err(Failure::permanent("target_changed", "no such column")),
                false => Ok(Ack { rows: 1, bytes: 1, durable: false }),
            }
        }

        async fn flush(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        async fn evolve(&mut self, _schema: Bytes) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn of_table(name: &str) -> Vec<Batch> {
        let mut writer = BatchWriter::default();
        writer.add_table(&Table {
            id: 1,
            schema: "public".to_owned(),
            name: name.to_owned(),
            version: 1,
            columns: Vec::new(),
        });
        vec![Batch { bytes: Bytes::from(writer.finish()), rows: 0 }]
    }

    fn code<T>(answer: Result<T, Failure>) -> Option<String> {
        answer.err().map(|failure| failure.code)
    }

    #[tokio::test]
    async fn what_was_written_while_columns_were_changed_is_not_durable() {
        let changes = Arc::new(ColumnChanges::default());
        let mut beside = Beside::new(Taking::default(), Arc::clone(&changes));
        assert_eq!(code(beside.write(of_table("t")).await), None);
        drop(changes.begin(vec!["public.other".to_owned()]));
        assert_eq!(code(beside.write(of_table("t")).await), None, "another table's");
        drop(changes.begin(vec!["public.t".to_owned()]));
        assert_eq!(code(beside.flush().await).as_deref(), Some(MEANWHILE));
        assert_eq!(
            code(beside.write(of_table("t")).await).as_deref(),
            Some(MEANWHILE),
            "by a new instance only"
        );
        let mut later = Beside::new(Taking::default(), changes);
        assert_eq!(code(later.write(of_table("t")).await), None);
        assert_eq!(code(later.flush().await), None);
    }

    #[tokio::test]
    async fn what_is_written_or_refused_while_columns_are_changed_is_tried_again() {
        let changes = Arc::new(ColumnChanges::default());
        let mut beside = Beside::new(Taking { refuses: true }, Arc::clone(&changes));
        assert_eq!(code(beside.write(of_table("t")).await).as_deref(), Some("target_changed"));
        let change = changes.begin(vec!["public.t".to_owned()]);
        for refuses in [true, false] {
            let mut beside = Beside::new(Taking { refuses }, Arc::clone(&changes));
            assert_eq!(code(beside.write(of_table("t")).await).as_deref(), Some(MEANWHILE));
        }
        drop(change);
    }
}
