//! Which partition is read next: a pure schedule over tables and partitions.
//!
//! ```text
//!   table:  Unplanned ──> Planning ──┐
//!           Ready ───────────────────┴──> Loading ──> Complete
//! ```
//!
//! Planning and Loading tables are active, the others but complete ones rest; at most `tables_in_parallel` are. A worker takes a partition of
//! an active table first and activates another table only when none is waiting.

use std::collections::{HashMap, VecDeque};

use crate::ledger::{PartitionState, TableProgress};

/// What a worker does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Cut a table into partitions.
    Plan { table: String },
    /// Read a partition.
    Read(Job),
    /// Nothing now; others are at work that may bring something.
    Wait,
}

/// One partition to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub table: String,
    pub number: u32,
    pub partition: String,
    pub extent: Extent,
}

/// How much of the partition is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// Only what changed since this horizon.
    Since(String),
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Plan {
    tables: Vec<Table>,
    /// Where each of them is among those, by name: there may be ten thousand, and none is looked for.
    places: HashMap<String, usize>,
    /// Tables that are not begun, in their order.
    resting: VecDeque<usize>,
    /// Tables that are, in the same order.
    active: Vec<usize>,
    tables_in_parallel: usize,
}

#[derive(Debug)]
struct Table {
    name: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Unplanned,
    Planning,
    Ready(VecDeque<Job>),
    Loading { waiting: VecDeque<Job>, running: usize },
    Complete,
}

impl Plan {
    /// What is left of the ledger's tables at a point of `generation`.
    pub(super) fn new(progress: Vec<TableProgress>, tables_in_parallel: u32, generation: u32) -> Self {
        let tables: Vec<Table> = progress
            .into_iter()
            .map(|table| {
                let state = state_of(&table, generation);
                Table { name: table.table, state }
            })
            .collect();
        let places = tables.iter().enumerate().map(|(place, table)| (table.name.clone(), place)).collect();
        let resting = (0..tables.len()).filter(|place| !tables[*place].is_complete()).collect();
        let tables_in_parallel = tables_in_parallel.max(1) as usize;
        Self { tables, places, resting, active: Vec::new(), tables_in_parallel }
    }

    /// The next task; `None` when everything is done.
    pub(super) fn next(&mut self) -> Option<Task> {
        for place in &self.active {
            if let State::Loading { waiting, running } = &mut self.tables[*place].state
                && let Some(job) = waiting.pop_front()
            {
                *running += 1;
                return Some(Task::Read(job));
            }
        }
        if self.active.len() < self.tables_in_parallel
            && let Some(place) = self.resting.pop_front()
        {
            self.active.push(place);
            let table = &mut self.tables[place];
            match std::mem::replace(&mut table.state, State::Planning) {
                State::Ready(mut waiting) => {
                    let job = waiting.pop_front().expect("a table without jobs is complete");
                    table.state = State::Loading { waiting, running: 1 };
                    return Some(Task::Read(job));
                }
                _ => return Some(Task::Plan { table: table.name.clone() }),
            }
        }
        (!self.active.is_empty()).then_some(Task::Wait)
    }

    /// A table was cut into partitions.
    pub(super) fn planned(&mut self, table: &str, partitions: &[String]) {
        let jobs: VecDeque<_> = (0..).zip(partitions).map(|(n, text)| whole(table, n, text)).collect();
        let place = self.place(table);
        self.tables[place].state = match jobs.is_empty() {
            true => State::Complete,
            false => State::Loading { waiting: jobs, running: 0 },
        };
        self.forget_where_complete(place);
    }

    /// A partition of a table was read.
    pub(super) fn finished(&mut self, table: &str) {
        let place = self.place(table);
        let table = &mut self.tables[place];
        if let State::Loading { waiting, running } = &mut table.state {
            *running -= 1;
            if *running == 0 && waiting.is_empty() {
                table.state = State::Complete;
            }
        }
        self.forget_where_complete(place);
    }

    /// A worker could not begin what it was given: it is there for another one.
    pub(super) fn give_back(&mut self, task: Task) {
        match task {
            Task::Plan { table } => {
                let place = self.place(&table);
                self.tables[place].state = State::Unplanned;
                self.active.retain(|active| *active != place);
                self.resting.push_front(place);
            }
            Task::Read(job) => {
                let place = self.place(&job.table);
                if let State::Loading { waiting, running } = &mut self.tables[place].state {
                    waiting.push_front(job);
                    *running -= 1;
                }
            }
            Task::Wait => {}
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.resting.is_empty() && self.active.is_empty()
    }

    fn forget_where_complete(&mut self, place: usize) {
        if self.tables[place].is_complete() {
            self.active.retain(|active| *active != place);
        }
    }

    fn place(&self, name: &str) -> usize {
        *self.places.get(name).expect("tasks name tables of the plan")
    }
}

impl Table {
    fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }
}

fn whole(table: &str, number: u32, partition: &str) -> Job {
    Job { table: table.to_owned(), number, partition: partition.to_owned(), extent: Extent::Whole }
}

fn state_of(table: &TableProgress, current: u32) -> State {
    let Some(partitions) = &table.partitions else { return State::Unplanned };
    if table.is_complete() {
        return State::Complete;
    }
    let jobs = partitions.iter().filter_map(|partition| {
        let job = whole(&table.table, partition.number, &partition.partition);
        match &partition.state {
            PartitionState::Pending => Some(job),
            PartitionState::Done { generation, .. } if *generation >= current => None,
            PartitionState::Done { horizon, .. } => {
                Some(Job { extent: Extent::Since(horizon.clone()), ..job })
            }
        }
    });
    State::Ready(jobs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::PartitionProgress;

    fn table(name: &str, partitions: Option<Vec<PartitionState>>) -> TableProgress {
        let partitions = partitions.map(|states| {
            (0..)
                .zip(states)
                .map(|(number, state)| PartitionProgress { number, partition: format!("p{number}"), state })
                .collect()
        });
        TableProgress { table: name.to_owned(), partitions }
    }

    fn done(generation: u32) -> PartitionState {
        PartitionState::Done { generation, horizon: format!("h{generation}") }
    }

    fn drain(plan: &mut Plan) -> Vec<(String, u32, Extent)> {
        let mut jobs = Vec::new();
        while let Some(task) = plan.next() {
            let Task::Read(job) = task else { panic!("{task:?} after {jobs:?}") };
            plan.finished(&job.table);
            jobs.push((job.table, job.number, job.extent));
        }
        assert!(plan.is_complete());
        jobs
    }

    #[test]
    fn a_finished_partition_is_caught_up_when_another_one_of_its_table_is_not_finished() {
        let progress = vec![table("t", Some(vec![done(1), PartitionState::Pending]))];
        assert_eq!(
            drain(&mut Plan::new(progress, 1, 2)),
            [("t".to_owned(), 0, Extent::Since("h1".to_owned())), ("t".to_owned(), 1, Extent::Whole)]
        );
    }

    #[test]
    fn a_table_finished_at_one_generation_is_not_read_again_at_a_later_one() {
        let progress = vec![table("t", Some(vec![done(1), done(1)])), table("empty", Some(vec![]))];
        assert_eq!(drain(&mut Plan::new(progress, 1, 3)), []);
    }

    #[test]
    fn partitions_finished_at_different_generations_are_all_brought_to_the_current_one() {
        let progress = vec![table("t", Some(vec![done(1), done(2)]))];
        assert_eq!(
            drain(&mut Plan::new(progress, 1, 3)),
            [
                ("t".to_owned(), 0, Extent::Since("h1".to_owned())),
                ("t".to_owned(), 1, Extent::Since("h2".to_owned()))
            ]
        );
    }

    #[test]
    fn only_so_many_tables_are_active_and_a_planning_one_counts() {
        let mut plan = Plan::new(vec![table("a", None), table("b", None), table("c", None)], 2, 1);
        assert_eq!(plan.next(), Some(Task::Plan { table: "a".to_owned() }));
        assert_eq!(plan.next(), Some(Task::Plan { table: "b".to_owned() }));
        assert_eq!(plan.next(), Some(Task::Wait));
        plan.planned("a", &["p0".to_owned()]);
        assert!(matches!(plan.next(), Some(Task::Read(job)) if job.table == "a"));
        assert_eq!(plan.next(), Some(Task::Wait));
        plan.planned("b", &[]);
        assert_eq!(plan.next(), Some(Task::Plan { table: "c".to_owned() }));
        plan.finished("a");
        plan.planned("c", &[]);
        assert_eq!(plan.next(), None);
        assert!(plan.is_complete());
    }
}
