//! Changes of a destination's columns by the stream, while loads beside it write to the same tables.
//!
//! A connector's instance writes to a table by the columns that it found there. An instance of a load does not know when that
//! of the stream gives them other names, and a name may go on to another column: what was sent under it since is in the
//! wrong one, and what is refused would not be by the columns of now. Nobody waits for anybody. Changes are counted instead:
//! a load that wrote a table while its columns were changed takes nothing of that for durable, and writes it once more with a new
//! instance. Of rows with one key and version the last written one counts.
//!
//! A column that is only added takes no name from another one. A load that found the table without it has no values for it
//! (it would have been refused), and its rows show the column's default whenever they are written. So what such a load wrote
//! counts, and only what was refused is tried again. The plan of the change tells the two apart ([`moved`]). It is asked for
//! where a load has come to the table, and after a change of which nobody knows the end it is not believed: the server may
//! carry that one out late.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tarn_model::{Failure, StepKind, TablePlan};
use tarn_replication::{Ack, Batch, Destination, PartState};

use crate::described::table_names;

/// The code of a write that is to be made again.
const MEANWHILE: &str = "target_changed_meanwhile";

/// How often the columns of each table began or ended to be changed, and which tables loads write to.
#[derive(Debug, Default)]
pub(crate) struct ColumnChanges {
    tables: Mutex<HashMap<String, Changed>>,
    /// Of whoever changes columns: between a plan and what it tells nobody else does.
    turn: tokio::sync::Mutex<()>,
}

/// What became of one table's columns.
#[derive(Debug, Default)]
struct Changed {
    counts: Counts,
    /// How many instances of loads have written to it.
    loads: usize,
    /// Whether a change that moves columns was begun and did not succeed since: it may still be carried out.
    is_unsettled: bool,
}

/// Beginnings and ends of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    all: u64,
    /// Of those after which a name may be another column's: an odd number while one goes on.
    moves: u64,
}

/// The tables of which a plan does not say that their columns stay where they are. A column may be added then, or kept.
pub(crate) fn moved(tables: &[String], plans: &[TablePlan]) -> Vec<String> {
    let stays = |table: &&String| {
        plans.iter().any(|plan| {
            let steps = || plan.steps.iter();
            plan.table == **table
                && plan.refused.is_empty()
                && steps().all(|step| matches!(step.kind, StepKind::Add | StepKind::Keep))
        })
    };
    tables.iter().filter(|table| !stays(table)).cloned().collect()
}

impl ColumnChanges {
    /// Waits until nobody else changes columns, or decides how.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Whether it matters to a load what is done to the columns of one of these tables, and a plan tells what that is.
    pub(crate) fn is_plan_wanted(&self, tables: &[String]) -> bool {
        let changed = self.tables();
        let of = |table: &String| changed.get(table);
        tables.iter().any(|table| of(table).is_some_and(|changed| changed.loads > 0 && !changed.is_unsettled))
    }

    /// Counts a change of tables that goes on until the answer is dropped, however it ends. `moved` are those among them
    /// whose columns may get other names or types.
    pub(crate) fn begin(self: &Arc<Self>, tables: Vec<String>, moved: &[String]) -> Change {
        let mut changed = self.tables();
        let tables = tables.into_iter().map(|table| {
            let changed = changed.entry(table.clone()).or_default();
            let moves = changed.is_unsettled || moved.contains(&table);
            changed.is_unsettled = moves;
            changed.counts.count(moves);
            (table, moves)
        });
        let tables = tables.collect();
        drop(changed);
        Change { changes: Arc::clone(self), tables }
    }

    fn of(&self, table: &str) -> Counts {
        self.tables().get(table).map(|changed| changed.counts).unwrap_or_default()
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<String, Changed>> {
        // Counts are right whoever panicked beside them.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn count(&mut self, moves: bool) {
        self.all += 1;
        self.moves += u64::from(moves);
    }
}

/// A change of columns, while it lasts.
pub(crate) struct Change {
    changes: Arc<ColumnChanges>,
    /// Each with whether its columns may move.
    tables: Vec<(String, bool)>,
}

impl Change {
    /// Ends a change that is made.
    pub(crate) fn made(self) {
        let mut changed = self.changes.tables();
        for (table, _) in &self.tables {
            if let Some(changed) = changed.get_mut(table) {
                changed.is_unsettled = false;
            }
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let mut changed = self.changes.tables();
        for (table, moves) in &self.tables {
            if let Some(changed) = changed.get_mut(table) {
                changed.counts.count(*moves);
            }
        }
    }
}

/// The destination of a load beside the stream.
pub(crate) struct Beside<D> {
    destination: D,
    known: Known,
}

/// The tables that an instance has written to, with their counts when it came to them.
struct Known {
    changes: Arc<ColumnChanges>,
    counts: HashMap<String, Counts>,
}

impl Known {
    fn come_to(&mut self, table: String) {
        if !self.counts.contains_key(&table) {
            let mut changed = self.changes.tables();
            let changed = changed.entry(table.clone()).or_default();
            changed.loads += 1;
            self.counts.insert(table, changed.counts);
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let mut changed = self.changes.tables();
        for table in self.counts.keys() {
            if let Some(changed) = changed.get_mut(table) {
                changed.loads -= 1;
            }
        }
    }
}

impl<D: Destination> Beside<D> {
    pub(crate) fn new(destination: D, changes: Arc<ColumnChanges>) -> Self {
        Self { destination, known: Known { changes, counts: HashMap::new() } }
    }

    /// An answer of the destination, if the columns are those that it was given for, and no change of them goes on.
    fn unless_changed<T>(&self, answer: Result<T, Failure>) -> Result<T, Failure> {
        let is_refused = answer.is_err();
        let changed = self.known.counts.iter().find(|(table, known)| {
            let now = self.known.changes.of(table);
            let is_moved = now.moves != known.moves || now.moves % 2 == 1;
            is_moved || is_refused && (now.all != known.all || now.all % 2 == 1)
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
                self.known.come_to(table);
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
    use tarn_model::PlanStep;

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

    /// A change that moves columns of a table.
    fn move_of(changes: &Arc<ColumnChanges>, table: &str) -> Change {
        let table = table.to_owned();
        changes.begin(vec![table.clone()], &[table])
    }

    /// A change that only adds columns to one.
    fn addition_to(changes: &Arc<ColumnChanges>, table: &str) -> Change {
        changes.begin(vec![table.to_owned()], &[])
    }

    fn code<T>(answer: Result<T, Failure>) -> Option<String> {
        answer.err().map(|failure| failure.code)
    }

    #[tokio::test]
    async fn what_was_written_while_columns_were_changed_is_not_durable() {
        let changes = Arc::new(ColumnChanges::default());
        let mut beside = Beside::new(Taking::default(), Arc::clone(&changes));
        assert_eq!(code(beside.write(of_table("t")).await), None);
        move_of(&changes, "public.other").made();
        assert_eq!(code(beside.write(of_table("t")).await), None, "another table's");
        move_of(&changes, "public.t").made();
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
        let change = move_of(&changes, "public.t");
        for refuses in [true, false] {
            let mut beside = Beside::new(Taking { refuses }, Arc::clone(&changes));
            assert_eq!(code(beside.write(of_table("t")).await).as_deref(), Some(MEANWHILE));
        }
        drop(change);
    }

    #[tokio::test]
    async fn what_was_written_while_columns_were_added_is_durable_and_what_was_refused_is_tried_again() {
        let changes = Arc::new(ColumnChanges::default());
        let mut beside = Beside::new(Taking::default(), Arc::clone(&changes));
        assert_eq!(code(beside.write(of_table("t")).await), None);
        let addition = addition_to(&changes, "public.t");
        assert_eq!(code(beside.flush().await), None);
        let mut refused = Beside::new(Taking { refuses: true }, Arc::clone(&changes));
        assert_eq!(code(refused.write(of_table("t")).await).as_deref(), Some(MEANWHILE), "it goes on");
        addition.made();
        assert_eq!(code(beside.write(of_table("t")).await), None);
        assert_eq!(code(refused.write(of_table("t")).await).as_deref(), Some(MEANWHILE));
        let mut later = Beside::new(Taking { refuses: true }, changes);
        assert_eq!(code(later.write(of_table("t")).await).as_deref(), Some("target_changed"));
    }

    #[tokio::test]
    async fn after_a_move_of_unknown_end_columns_may_move_until_a_change_is_made() {
        let changes = Arc::new(ColumnChanges::default());
        let tables = ["public.t".to_owned()];
        assert!(!changes.is_plan_wanted(&tables), "no load writes to it");
        drop(move_of(&changes, "public.t"));
        let mut beside = Beside::new(Taking::default(), Arc::clone(&changes));
        assert_eq!(code(beside.write(of_table("t")).await), None);
        assert!(!changes.is_plan_wanted(&tables));
        addition_to(&changes, "public.t").made();
        assert_eq!(code(beside.flush().await).as_deref(), Some(MEANWHILE));
        assert!(changes.is_plan_wanted(&tables));
        drop(beside);
        assert!(!changes.is_plan_wanted(&tables), "none any more");
    }

    #[test]
    fn columns_stay_where_a_plan_adds_or_keeps_some_or_does_nothing() {
        let plan = |table: &str, kinds: &[StepKind], refused: &str| TablePlan {
            table: table.to_owned(),
            target: String::new(),
            steps: kinds
                .iter()
                .map(|&kind| PlanStep {
                    kind,
                    column: String::new(),
                    source: String::new(),
                    detail: String::new(),
                    statements: Vec::new(),
                    warning: String::new(),
                })
                .collect(),
            refused: refused.to_owned(),
            hint: String::new(),
        };
        for kind in
            [StepKind::Create, StepKind::Rename, StepKind::SetAside, StepKind::Widen, StepKind::Beside]
        {
            let told = moved(&["t".to_owned()], &[plan("t", &[StepKind::Add, kind], "")]);
            assert_eq!(told, ["t"], "{kind:?}");
        }
        let tables = ["stays", "grows", "refused", "untold"].map(str::to_owned);
        let plans = [
            plan("stays", &[], ""),
            plan("grows", &[StepKind::Keep, StepKind::Add], ""),
            plan("refused", &[], "it cannot be"),
        ];
        assert_eq!(moved(&tables, &plans), ["refused", "untold"]);
    }
}
