//! `tarn mirror dead-letters …`

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tarn_model::{DeadLetterState, Enumerated as _};

use super::view::second;
use crate::answer::{DeadLetter, DeadLetterList, DeadLettersDiscarded, DeadLettersReplayed, RecordValue};
use crate::error::Error;
use crate::http::Client;
use crate::output::{Report, print};
use crate::table::{Table, grouped, one_line};

/// What can be done with records that a mirror kept aside.
#[derive(Debug, Subcommand)]
pub enum DeadLettersCommand {
    /// Lists them, oldest first, with their counts.
    List(ListArgs),
    /// Shows one with its record.
    Show {
        /// The mirror.
        mirror: String,
        /// The letter.
        id: i64,
    },
    /// Writes those that wait as NDJSON: a letter with its record a line.
    Export {
        /// The mirror.
        mirror: String,
    },
    /// Runs them through the mirror's present scripts and writes them; later rows stay.
    Replay(Chosen),
    /// Gives them up with their records.
    Discard(Chosen),
}

/// Which letters to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The mirror.
    mirror: String,
    /// Only those that wait.
    #[arg(long)]
    waiting: bool,
    /// Most letters, of those that came first.
    #[arg(short = 'n', long, default_value_t = 100)]
    limit: u32,
    /// Only those after this one.
    #[arg(long, value_name = "ID", default_value_t = 0, hide_default_value = true)]
    after: i64,
}

/// Letters that are chosen.
#[derive(Debug, Args)]
pub struct Chosen {
    /// The mirror.
    mirror: String,
    /// The letters.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<i64>,
    /// Every one that waits.
    #[arg(long)]
    all: bool,
}

impl DeadLettersCommand {
    pub(super) async fn run(self, client: &Client) -> Result<Report, Error> {
        match self {
            Self::List(args) => list(client, &args).await,
            Self::Show { mirror, id } => {
                let body = json!({"flow_job_name": mirror, "id": id});
                let answer = client.post("mirrors/dead_letters/show", &body).await?;
                Ok(Report::new(described(&client.read(&answer)?), answer))
            }
            Self::Export { mirror } => export(client, &mirror).await,
            Self::Replay(chosen) => replay(client, &chosen).await,
            Self::Discard(Chosen { mirror, ids, all }) => {
                let body = json!({"flow_job_name": mirror, "ids": ids, "all": all});
                let answer = client.post("mirrors/dead_letters/discard", &body).await?;
                let DeadLettersDiscarded { discarded } = client.read(&answer)?;
                let report =
                    Report::new(format!("discarded {discarded} dead letters of mirror {mirror}"), answer);
                let asked = ids.iter().collect::<BTreeSet<_>>().len() as u64;
                Ok(match asked.saturating_sub(discarded) {
                    0 => report,
                    left => report.failed(format!("{left} of {asked} dead letters do not wait, or no more")),
                })
            }
        }
    }
}

async fn list(client: &Client, args: &ListArgs) -> Result<Report, Error> {
    let state = args.waiting.then(|| DeadLetterState::Waiting.name());
    let body =
        json!({"flow_job_name": args.mirror, "state": state, "limit": args.limit, "after_id": args.after});
    let answer = client.post("mirrors/dead_letters", &body).await?;
    let DeadLetterList { dead_letters, record_errors, .. } = client.read(&answer)?;
    let mut table = Table::new(&["#ID", "STATE", "KEPT", "TABLE", "KEY", "WHERE", "MESSAGE"]);
    for letter in dead_letters {
        table.row([
            letter.id.to_string(),
            letter.state.name().to_owned(),
            second(&letter.created_at).to_owned(),
            letter.table.clone(),
            letter.key.clone(),
            place(&letter),
            letter.message.clone(),
        ]);
    }
    let mut text = table.render();
    let _fits = write!(
        text,
        "\n{} wait, {} replayed, {} discarded, {} skipped\n",
        grouped(record_errors.waiting),
        grouped(record_errors.replayed),
        grouped(record_errors.discarded),
        grouped(record_errors.skipped)
    );
    Ok(Report::new(text, answer))
}

/// `mask@3:12`, or the destination.
fn place(letter: &DeadLetter) -> String {
    let DeadLetter { script, script_version, line, .. } = letter;
    match (script.as_str(), line) {
        ("", _) => letter.stage.name().to_ascii_lowercase(),
        (script, 0) => format!("{script}@{script_version}"),
        (script, line) => format!("{script}@{script_version}:{line}"),
    }
}

fn described(letter: &DeadLetter) -> String {
    let mut facts = vec![
        ("letter", letter.id.to_string()),
        ("state", letter.state.name().to_owned()),
        ("table", letter.table.clone()),
        ("key", letter.key.clone()),
        ("kind", letter.kind.clone()),
        ("position", format!("{} row {}", letter.position, letter.ordinal)),
        ("committed", letter.commit_time.clone().unwrap_or_default()),
        ("kept", letter.created_at.clone()),
        ("settled", letter.settled_at.clone().unwrap_or_default()),
        ("where", place(letter)),
        ("function", letter.function.clone()),
        ("message", letter.message.clone()),
        ("log", letter.log_lines.join(" | ")),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    let mut text = String::new();
    for (name, value) in facts {
        let _fits = writeln!(text, "{name:<15}{}", one_line(&value));
    }
    if let Some(record) = &letter.record {
        let mut table = Table::new(&["COLUMN", "TYPE", "BEFORE", "AFTER"]);
        let longest = if record.after.is_empty() { &record.before } else { &record.after };
        for (at, column) in longest.iter().enumerate() {
            let shown = |cells: &[RecordValue]| cells.get(at).map(RecordValue::shown).unwrap_or_default();
            table.row([
                column.name.clone(),
                column.type_name.clone(),
                shown(&record.before),
                shown(&record.after),
            ]);
        }
        let _fits = write!(text, "\n{}", table.render());
    }
    text
}

impl RecordValue {
    fn shown(&self) -> String {
        match (&self.value, self.is_unchanged) {
            (Some(value), _) => value.clone(),
            (None, true) => "(not sent)".to_owned(),
            (None, false) => "NULL".to_owned(),
        }
    }
}

/// Page after page, as they come: a mirror's letters may be more than fits a terminal's memory.
async fn export(client: &Client, mirror: &str) -> Result<Report, Error> {
    let mut after = 0;
    loop {
        let body = json!({"flow_job_name": mirror, "state": DeadLetterState::Waiting.name(),
            "include_records": true, "after_id": after});
        let answer = client.post("mirrors/dead_letters", &body).await?;
        for letter in answer["deadLetters"].as_array().into_iter().flatten() {
            print(&format!("{letter}\n"))?;
        }
        let list: DeadLetterList = client.read(&answer)?;
        match list.dead_letters.last() {
            Some(last) if list.has_more => after = last.id,
            _ => return Ok(Report::nothing()),
        }
    }
}

/// What was asked for, in as many requests as it takes.
async fn replay(client: &Client, chosen: &Chosen) -> Result<Report, Error> {
    let Chosen { mirror, ids, all } = chosen;
    let mut outcomes: Vec<Value> = Vec::new();
    let mut rest = if *all { waiting_ids(client, mirror).await? } else { ids.clone() };
    let mut errors = Value::Null;
    while !rest.is_empty() {
        let now: Vec<i64> = rest.drain(..rest.len().min(REPLAYED_AT_ONCE)).collect();
        let answer =
            client.post("mirrors/dead_letters/replay", &json!({"flow_job_name": mirror, "ids": now})).await?;
        outcomes.extend(answer["outcomes"].as_array().into_iter().flatten().cloned());
        errors = answer["recordErrors"].clone();
    }
    let answer = json!({"outcomes": outcomes, "recordErrors": errors});
    let DeadLettersReplayed { outcomes } = client.read(&answer)?;
    let (done, waiting): (Vec<_>, Vec<_>) =
        outcomes.iter().partition(|outcome| outcome.state == DeadLetterState::Replayed);
    let mut text = format!("replayed {} dead letters of mirror {mirror}\n", done.len());
    if waiting.is_empty() {
        return Ok(Report::new(text, answer));
    }
    let _fits = writeln!(text, "{} were not:", waiting.len());
    for outcome in &waiting {
        let _fits = writeln!(text, "  {}: {}", outcome.id, one_line(&outcome.message));
    }
    let failure = format!("{} of {} dead letters were not replayed", waiting.len(), outcomes.len());
    Ok(Report::new(text, answer).failed(failure))
}

/// Letters of one request: what the server takes.
const REPLAYED_AT_ONCE: usize = 500;

/// Every letter that waits, in the order that it was kept.
async fn waiting_ids(client: &Client, mirror: &str) -> Result<Vec<i64>, Error> {
    let mut ids = Vec::new();
    loop {
        let body = json!({"flow_job_name": mirror, "state": DeadLetterState::Waiting.name(),
            "after_id": ids.last().copied().unwrap_or(0)});
        let list: DeadLetterList = client.read(&client.post("mirrors/dead_letters", &body).await?)?;
        ids.extend(list.dead_letters.iter().map(|letter| letter.id));
        if !list.has_more || list.dead_letters.is_empty() {
            return Ok(ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_described_with_its_record() {
        let answer = json!({"id": "3", "state": "WAITING", "table": "public.t", "key": "id=7", "kind": "update",
            "stage": "SCRIPT", "position": "10", "ordinal": "2", "commitTime": null, "script": "mask",
            "scriptVersion": 4, "line": 12, "function": "clean", "message": "no country", "logLines": ["a", "b"],
            "bytes": "9", "createdAt": "2026-01-01T10:00:00Z", "settledAt": null,
            "record": {"before": [], "after": [
                {"name": "id", "type": "bigint", "value": "7", "isUnchanged": false},
                {"name": "big", "type": "text", "value": null, "isUnchanged": true},
                {"name": "note", "type": "text", "value": null, "isUnchanged": false}]}});
        let letter: DeadLetter = tarn_json::from_value(&answer).expect("an answer");
        let expected = "\
letter         3
state          WAITING
table          public.t
key            id=7
kind           update
position       10 row 2
kept           2026-01-01T10:00:00Z
where          mask@4:12
function       clean
message        no country
log            a | b

COLUMN  TYPE    BEFORE  AFTER
id      bigint          7
big     text            (not sent)
note    text            NULL
";
        assert_eq!(described(&letter), expected);
    }
}
