//! How many rows a mirror's tables have at both sides, asked of the stores themselves.

use std::collections::HashMap;

use tarn_model::{Answer, MirrorSpec, Peer, Problem, Question, RowCount, TableMapping};

use crate::error::one_line;
use crate::peers::unknown_peer;
use crate::stores::other_answer;
use crate::{Control, ControlError};

/// A table's rows at both sides. `None` is a number that its store could not give in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRows {
    /// Table at the source.
    pub source_table: String,
    /// Table at the destination.
    pub destination_table: String,
    /// Its rows there.
    pub source: SideRows,
    /// Its rows here.
    pub destination: SideRows,
}

/// A table's rows at one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideRows {
    /// How many.
    pub rows: Option<u64>,
    /// Whether that is the store's own guess.
    pub approximate: bool,
}

impl Control {
    /// Asks both stores how many rows the mirror's tables have: those named by their source, or all.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::InvalidArgument`] for tables that the mirror does not
    /// have; [`ControlError::FailedPrecondition`] with what keeps a store from answering;
    /// [`ControlError::Internal`]; [`ControlError::Catalog`].
    pub async fn row_counts(&self, name: &str, sources: &[String]) -> Result<Vec<TableRows>, ControlError> {
        let spec = self.known_mirror(name).await?.spec;
        let tables = chosen(&spec, sources)?;
        let (source_peer, destination_peer) =
            (self.stored_peer(&spec.source_peer).await?, self.stored_peer(&spec.destination_peer).await?);
        let names =
            |pick: fn(&TableMapping) -> &String| tables.iter().map(|table| pick(table).clone()).collect();
        let at_source =
            Question::RowCounts { tables: names(|table| &table.source), deleted_column: String::new() };
        let at_destination = Question::RowCounts {
            tables: names(|table| &table.destination),
            deleted_column: spec.soft_delete_col_name.clone(),
        };
        let (source, destination) = tokio::join!(
            self.count_rows(&source_peer, "source_name", &at_source),
            self.count_rows(&destination_peer, "destination_name", &at_destination),
        );
        let (source, destination) = (source?, destination?);
        let rows_of =
            |counts: &HashMap<String, SideRows>, table: &str| counts.get(table).copied().unwrap_or_default();
        let rows = tables.iter().map(|table| TableRows {
            source: rows_of(&source, &table.source),
            destination: rows_of(&destination, &table.destination),
            source_table: table.source.clone(),
            destination_table: table.destination.clone(),
        });
        Ok(rows.collect())
    }

    async fn count_rows(
        &self,
        peer: &Peer,
        path: &str,
        question: &Question,
    ) -> Result<HashMap<String, SideRows>, ControlError> {
        let Answer::RowCounts(counts) = self.ask(peer, path, question).await? else {
            return Err(other_answer(peer));
        };
        let side = |RowCount { table, rows, approximate }| (table, SideRows { rows, approximate });
        Ok(counts.into_iter().map(side).collect())
    }

    async fn stored_peer(&self, name: &str) -> Result<Peer, ControlError> {
        self.catalog().peer(name).await?.ok_or_else(|| unknown_peer("flow_job_name", name))
    }
}

/// The mappings of the named tables, or all.
fn chosen<'a>(spec: &'a MirrorSpec, sources: &[String]) -> Result<Vec<&'a TableMapping>, ControlError> {
    if sources.is_empty() {
        return Ok(spec.tables.iter().collect());
    }
    let mut problems = Vec::new();
    let mut tables = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        match spec.tables.iter().find(|table| table.source == *source) {
            Some(table) if tables.iter().any(|other: &&TableMapping| other.source == table.source) => {}
            Some(table) => tables.push(table),
            None => {
                let path = format!("source_tables[{index}]");
                let message = format!("{source} is no table of the mirror");
                problems.push(Problem::new(path, message, "name it as the mirror's mappings do"));
            }
        }
    }
    if problems.is_empty() {
        return Ok(tables);
    }
    Err(ControlError::InvalidArgument { message: one_line(&problems), problems })
}
