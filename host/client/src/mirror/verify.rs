//! `tarn mirror verify`: compares both sides of a mirror and shows how far it is.

use std::fmt::Write as _;

use clap::Args;
use console::Term;
use serde_json::{Value, json};
use tarn_model::{DifferenceKind, Enumerated as _, Equality, RowDifference, VerificationState};
use tokio::time::sleep;

use crate::answer::{Verification, VerificationStarted, VerifiedTable};
use crate::config::{FAILED_LOOKS_MAX, STATE_POLL, VERIFY_DIFFERENCES_SHOWN};
use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report, remark};
use crate::table::{Table, grouped, one_line};

/// What is verified.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The mirror.
    name: String,
    /// A table of it by its source, `schema.name`; again for more, none for all.
    #[arg(long = "table", value_name = "TABLE")]
    tables: Vec<String>,
    /// Compare this part of the rows, told by their keys: 0.01 is one of a hundred.
    #[arg(long, value_name = "RATE", default_value_t = 1.0)]
    sample_rate: f64,
}

impl VerifyArgs {
    /// Ends well only if everything was compared and is equal.
    pub(super) async fn run(self, client: &Client, reader: Reader) -> Result<Report, Error> {
        let body =
            json!({"flow_job_name": self.name, "tables": self.tables, "sample_rate": self.sample_rate});
        let started: VerificationStarted = client.read(&client.post("mirrors/verify", &body).await?)?;
        let answer = follow(client, reader, started.verify_id).await?;
        let verification: Verification = client.read(&answer)?;
        let report = Report::new(shown(&verification), answer);
        match verification.verdict {
            Equality::Equal => Ok(report),
            _ => {
                report.print(reader)?;
                Err(Error::Failed(conclusion(&verification)))
            }
        }
    }
}

/// Shows the progress until the end; the last answer.
async fn follow(client: &Client, reader: Reader, id: i64) -> Result<Value, Error> {
    let terminal = Term::stderr();
    let draws = reader == Reader::People && terminal.is_term();
    let mut failed = 0;
    let mut lines = 0;
    loop {
        match client.get(&format!("mirrors/verify/{id}")).await {
            Ok(answer) => {
                failed = 0;
                let verification: Verification = client.read(&answer)?;
                if draws {
                    terminal.clear_last_lines(lines)?;
                    lines = 0;
                }
                if verification.state.is_ended() {
                    return Ok(answer);
                }
                if draws {
                    let (_, width) = terminal.size();
                    let text: String =
                        progress(&verification).chars().take(usize::from(width).saturating_sub(1)).collect();
                    terminal.write_line(&text)?;
                    lines = 1;
                }
            }
            // A server that is started again goes on with it.
            Err(error) if error.is_passing() && failed < FAILED_LOOKS_MAX => {
                failed += 1;
                remark(&error.to_string());
            }
            Err(error) => return Err(error),
        }
        sleep(STATE_POLL).await;
    }
}

/// One line: `[#####.....] public.orders  3/8 partitions, 750,000 rows compared, 0 differ`.
fn progress(verification: &Verification) -> String {
    const WIDTH: usize = 20;
    let tables = &verification.tables;
    let done: f64 = tables.iter().map(share).sum();
    let filled = (done / tables.len().max(1) as f64 * WIDTH as f64) as usize;
    let compared: u64 = tables.iter().map(|table| table.rows_compared).sum();
    let differing: u64 = tables.iter().map(|table| table.rows_differing).sum();
    let at = tables.iter().find(|table| table.verdict == Equality::Open);
    let at = at.map_or("", |table| table.source_table.as_str());
    let waits = match verification.state {
        VerificationState::Planned => ", waits for its turn".to_owned(),
        VerificationState::Waiting => format!(", waits {}", verification.message),
        _ => String::new(),
    };
    format!(
        "[{}{}] {}  {} rows compared, {} differ{}",
        "#".repeat(filled.min(WIDTH)),
        ".".repeat(WIDTH - filled.min(WIDTH)),
        one_line(at),
        grouped(compared),
        grouped(differing),
        one_line(&waits)
    )
}

/// How much of a table is done.
fn share(table: &VerifiedTable) -> f64 {
    match (table.verdict, table.num_partitions_total) {
        (Equality::Equal | Equality::Incomplete, _) => 1.0,
        (_, 0) => 0.0,
        (_, total) => table.num_partitions_completed as f64 / total as f64,
    }
}

/// The result as tables.
fn shown(verification: &Verification) -> String {
    let mut tables =
        Table::new(&["TABLE", "TARGET", "RESULT", "#COMPARED", "#DIFFERENT", "#UNSETTLED", "#NOT COMPARED"]);
    for table in &verification.tables {
        tables.row([
            table.source_table.clone(),
            table.destination_table.clone(),
            result(table.verdict).to_owned(),
            grouped(table.rows_compared),
            grouped(table.rows_differing),
            grouped(table.rows_unsettled),
            grouped(table.rows_not_comparable),
        ]);
    }
    let mut text = tables.render();
    for table in &verification.tables {
        for note in &table.notes {
            let _fits = writeln!(text, "{}: {}", one_line(&table.source_table), one_line(note));
        }
    }
    let differences: Vec<_> = verification
        .tables
        .iter()
        .flat_map(|table| table.first_differences.iter().map(move |difference| (table, difference)))
        .collect();
    if !differences.is_empty() {
        let mut rows = Table::new(&["TABLE", "KEY", "DIFFERENCE"]);
        for (table, difference) in differences.iter().take(VERIFY_DIFFERENCES_SHOWN) {
            rows.row([table.source_table.clone(), key(difference), words(difference)]);
        }
        let _fits = write!(text, "\n{}", rows.render());
        if differences.len() > VERIFY_DIFFERENCES_SHOWN {
            let _fits = writeln!(text, "… and more: --json shows the first of each table");
        }
    }
    if !verification.message.is_empty() {
        let _fits = writeln!(text, "{}", one_line(&verification.message));
    }
    text
}

fn result(verdict: Equality) -> &'static str {
    let name = verdict.name();
    name.strip_prefix("VERDICT_").unwrap_or(name)
}

fn key(difference: &RowDifference) -> String {
    let columns = difference.key.iter().map(|part| format!("{} = {}", part.column, part.value));
    columns.collect::<Vec<_>>().join(", ")
}

fn words(difference: &RowDifference) -> String {
    match difference.kind {
        DifferenceKind::Missing => "missing at the destination".to_owned(),
        DifferenceKind::Extra => "only at the destination".to_owned(),
        DifferenceKind::Differs => format!("differs in {}", difference.columns.join(", ")),
    }
}

/// Why a verification did not end well.
fn conclusion(verification: &Verification) -> String {
    let name = &verification.flow_job_name;
    let differing: u64 = verification.tables.iter().map(|table| table.rows_differing).sum();
    match (verification.verdict, verification.state) {
        (Equality::Different, _) => format!("both sides of mirror {name} differ in {differing} rows"),
        (_, VerificationState::Done) => {
            format!("no difference was found in mirror {name}, but not everything could be compared")
        }
        _ => format!("the verification of mirror {name} ended early: {}", verification.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verification(verdict: &str, state: &str) -> Verification {
        let answer = json!({"verifyId": "7", "flowJobName": "orders", "state": state, "verdict": verdict,
            "message": "", "tables": [
                {"sourceTable": "public.orders", "destinationTable": "orders", "verdict": verdict,
                    "numPartitionsCompleted": "1", "numPartitionsTotal": "4", "rowsCompared": "1234567",
                    "rowsDiffering": "2", "rowsUnsettled": "0", "rowsNotComparable": "0", "notes": ["a note"],
                    "firstDifferences": [
                        {"kind": "DIFFERENCE_COLUMNS", "columns": ["total", "at"],
                            "key": [{"column": "shop", "value": "a"}, {"column": "id", "value": "17"}]},
                        {"kind": "DIFFERENCE_EXTRA", "columns": [], "key": [{"column": "id", "value": "9"}]}]},
                {"sourceTable": "public.users", "destinationTable": "users", "verdict": "VERDICT_EQUAL",
                    "rowsCompared": "10"}]});
        tarn_json::from_value(&answer).expect("an answer")
    }

    #[test]
    fn the_result_names_tables_and_the_keys_that_differ() {
        let expected = "\
TABLE          TARGET  RESULT      COMPARED  DIFFERENT  UNSETTLED  NOT COMPARED
public.orders  orders  DIFFERENT  1,234,567          2          0             0
public.users   users   EQUAL             10          0          0             0
public.orders: a note

TABLE          KEY               DIFFERENCE
public.orders  shop = a, id = 17  differs in total, at
public.orders  id = 9            only at the destination
";
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = shown(&verification("VERDICT_DIFFERENT", "VERIFICATION_DONE"));
        assert_eq!(squeezed(&text), squeezed(expected));
    }

    #[test]
    fn the_progress_is_that_of_all_tables_together() {
        let running = verification("VERDICT_OPEN", "VERIFICATION_RUNNING");
        assert_eq!(
            progress(&running),
            "[############........] public.orders  1,234,577 rows compared, 2 differ"
        );
    }

    #[test]
    fn an_end_that_is_not_equal_is_told_in_a_sentence() {
        for (verdict, state, said) in [
            ("VERDICT_DIFFERENT", "VERIFICATION_DONE", "differ in 2 rows"),
            ("VERDICT_INCOMPLETE", "VERIFICATION_DONE", "not everything could be compared"),
            ("VERDICT_INCOMPLETE", "VERIFICATION_CANCELLED", "ended early"),
        ] {
            assert!(conclusion(&verification(verdict, state)).contains(said), "{verdict} {state}");
        }
    }
}
