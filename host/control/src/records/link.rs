//! One script of a chain, and what happens when a record stops it.
//!
//! An error of a script is told with its record. A script that is stopped (by its time, its memory, a trap) takes
//! its whole instance along, and tells of no record. Where the mirror goes on without such records, the record
//! is looked for with new instances: the batch in halves, and those in halves. Whatever the script kept in its
//! variables is gone with the instance, as it is when a mirror starts again.

use std::sync::Arc;

use tarn_batch::Batch as Rows;
use tarn_model::{Failure, RecordStage};
use tarn_replication::{Batch, Rejection, Transform, Transformed};

use super::desk::damaged;
use super::joined::Joined;
use super::letter::{key_text, picked, table_name};
use crate::config::STOPPED_RECORDS_MAX;
use crate::hooks::Pending;

/// How long an instance of a script may run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// For a batch, as usual.
    Batch,
    /// For a record: so a loop is found in seconds, and what takes longer for many records is cut smaller.
    Record,
}

/// Makes another instance of a script.
pub(crate) type Again<T> = Arc<dyn Fn(Span) -> Pending<'static, Result<T, Failure>> + Send + Sync>;

/// One script of a chain.
pub(crate) struct Link<T> {
    pub(crate) script: T,
    pub(crate) name: String,
    pub(crate) version: u32,
    /// How records are looked for that stop the script; `None` where the mirror stops with it.
    pub(crate) again: Option<Again<T>>,
}

impl<T: Transform> Link<T> {
    /// Transforms a batch, and says which script rejected records.
    pub(super) async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
        let mut answer = match (self.script.apply(batch.clone()).await, self.again.clone()) {
            (Err(stopped), Some(again)) if is_stopped(&stopped) => {
                self.look_for(&batch, stopped, &again).await?
            }
            (Err(stopped), None) if is_stopped(&stopped) => return Err(self.located(&batch, stopped)),
            (answer, _) => answer?,
        };
        for rejection in &mut answer.rejected {
            rejection.script.clone_from(&self.name);
            rejection.script_version = self.version;
            rejection.stage = RecordStage::Script;
        }
        Ok(answer)
    }

    /// A stop with the script's version and where in the source it was: nobody looks for the record itself.
    fn located(&self, batch: &Batch, mut stopped: Failure) -> Failure {
        let label = format!("the script {}", self.name);
        if let Some(rest) = stopped.message.strip_prefix(&label) {
            stopped.message = format!("{label} version {}{rest}", self.version);
        }
        if let Ok(rows) = Rows::parse(&batch.bytes)
            && let Some(Ok(row)) = rows.rows().next()
        {
            let table = rows.table(&row);
            let key = match key_text(table, &row) {
                key if key.is_empty() => "no key".to_owned(),
                key => format!("the key {key}"),
            };
            stopped.message.push_str(&format!(
                "; it was given {} records, from one of table {} with {key} on",
                batch.rows,
                table_name(table)
            ));
        }
        stopped
    }

    /// Transforms a batch in parts, smaller ones where the script is stopped, down to the record that stops it.
    async fn look_for(
        &mut self,
        batch: &Batch,
        first: Failure,
        again: &Again<T>,
    ) -> Result<Transformed, Failure> {
        self.script = again(Span::Record).await?;
        let mut found = Found::default();
        let mut parts = if batch.rows > 1 { halves(0, batch.rows) } else { vec![(0, batch.rows)] };
        while let Some((from, to)) = parts.pop() {
            let part = {
                let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
                picked(&rows, |at, _| (from..to).contains(&at)).map_err(damaged)?
            };
            match self.script.apply(part).await {
                Ok(answer) => found.take(from, answer),
                Err(stopped) if !is_stopped(&stopped) => return Err(stopped),
                Err(stopped) => {
                    self.script = again(Span::Record).await?;
                    if to - from > 1 {
                        parts.extend(halves(from, to));
                        continue;
                    }
                    if found.stopped >= STOPPED_RECORDS_MAX {
                        return Err(first);
                    }
                    found.stopped += 1;
                    found.rejected.push(Rejection {
                        row: from,
                        message: stopped.message,
                        ..Rejection::default()
                    });
                }
            }
        }
        self.script = again(Span::Batch).await?;
        found.finish()
    }
}

/// Whether a failure is that of a guest that was stopped, whatever for.
fn is_stopped(failure: &Failure) -> bool {
    const STOPS: [&str; 7] = [
        "plugin_run_time_limit",
        "plugin_memory_limit",
        "plugin_output_limit",
        "plugin_host_call_limit",
        "plugin_stack_limit",
        "plugin_trapped",
        "plugin_panicked",
    ];
    STOPS.contains(&failure.code.as_str())
}

/// Two halves of a range, the first one last: that is taken first.
fn halves(from: u32, to: u32) -> Vec<(u32, u32)> {
    let middle = from + (to - from) / 2;
    vec![(middle, to), (from, middle)]
}

/// What parts of a batch became.
#[derive(Default)]
struct Found {
    batches: Vec<Batch>,
    dropped: u32,
    rejected: Vec<Rejection>,
    stopped: u32,
}

impl Found {
    fn take(&mut self, from: u32, answer: Transformed) {
        let rejected = answer.rejected.into_iter();
        self.rejected.extend(rejected.map(|rejection| Rejection { row: rejection.row + from, ..rejection }));
        self.dropped = self.dropped.saturating_add(answer.dropped);
        if answer.batch.rows > 0 {
            self.batches.push(answer.batch);
        }
    }

    /// The parts as one.
    fn finish(self) -> Result<Transformed, Failure> {
        let mut joined = Joined::with_capacity(self.batches.iter().map(|batch| batch.bytes.len()).sum());
        for batch in &self.batches {
            let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
            let tables = joined.add_tables(rows.tables())?;
            for row in rows.rows() {
                let row = row.map_err(damaged)?;
                joined.append(&row, tables[usize::from(row.table_index().0)]);
            }
        }
        let batch = joined.finish();
        Ok(Transformed { batch, dropped: self.dropped, rejected: self.rejected })
    }
}

#[cfg(test)]
mod tests {
    use super::super::letter::tests::loaded;
    use super::*;

    /// Is stopped by some keys.
    struct Fragile(Vec<i64>);

    impl Transform for Fragile {
        async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
            let rows = Rows::parse(&batch.bytes).expect("a batch");
            for row in rows.rows() {
                let key = row.expect("a row").cell(0).expect("a cell").value().expect("a key");
                if self.0.contains(&i64::from_le_bytes(key.try_into().expect("eight bytes"))) {
                    return Err(Failure::permanent("plugin_run_time_limit", "it ran longer than 1000 ms"));
                }
            }
            Ok(Transformed { batch: batch.clone(), dropped: 0, rejected: Vec::new() })
        }
    }

    fn link(stops: &[i64]) -> Link<Fragile> {
        let stops = stops.to_vec();
        let again: Again<Fragile> = Arc::new({
            let stops = stops.clone();
            move |_| {
                let stops = stops.clone();
                Box::pin(async move { Ok(Fragile(stops)) })
            }
        });
        Link { script: Fragile(stops), name: "slow".into(), version: 2, again: Some(again) }
    }

    fn ids(count: i64) -> Vec<i64> {
        (0..count).collect()
    }

    #[tokio::test]
    async fn records_that_stop_a_script_are_found_and_the_others_go_on() {
        let answer = link(&[0, 41, 99]).apply(loaded(1, &ids(100))).await.expect("applied");
        assert_eq!(answer.batch.rows, 97);
        let told: Vec<_> = answer.rejected.iter().map(|one| (one.row, one.script_version)).collect();
        assert_eq!(told, [(0, 2), (41, 2), (99, 2)]);
        assert!(answer.rejected[0].message.contains("ran longer"), "{:?}", answer.rejected);
    }

    #[tokio::test]
    async fn a_script_that_nearly_every_record_stops_is_not_looked_into_for_ever() {
        let failure = link(&ids(100)).apply(loaded(1, &ids(100))).await.expect_err("given up");
        assert_eq!(failure.code, "plugin_run_time_limit");
    }

    #[tokio::test]
    async fn without_other_instances_the_mirror_stops_with_its_script() {
        let mut link = link(&[5]);
        link.again = None;
        let failure = link.apply(loaded(1, &ids(10))).await.expect_err("stopped");
        assert_eq!(failure.code, "plugin_run_time_limit");
        let place = "; it was given 10 records, from one of table public.t with the key id=0 on";
        assert!(failure.message.ends_with(place), "{failure:?}");
    }
}
