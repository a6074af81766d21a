//! Everything that would keep a mirror from running, found before it touches anything.

use std::collections::{HashMap, HashSet};

use tarn_batch::Table;
use tarn_sdk::sql::clickhouse::ident;
use tarn_sdk::{ExistingRows, Failure, Problem, clock};

use crate::client::{Client, Error, text_rows};
use crate::config::SERVER_VERSION_MIN;
use crate::design::{Design, Engine};
use crate::failure::{GRANT, code, of_error};
use crate::targets::{Targets, mapping_path};

/// The server's version text.
pub(crate) fn version(client: &mut impl Client) -> Result<String, Failure> {
    let answer = client.query("SELECT version() FORMAT TabSeparatedRaw");
    let answer = answer.map_err(|error| of_error(error, "asking the server for its version"))?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}

/// All problems at once. A failure is one of the connection, which leaves nothing to look at.
pub(crate) fn validate(
    targets: &mut Targets,
    client: &mut impl Client,
    schema: &[Table],
) -> Result<Vec<Problem>, Failure> {
    let mut problems = Vec::new();
    match client.query("SELECT version() FORMAT TabSeparatedRaw") {
        Ok(version) => problems.extend(version_problem(&String::from_utf8_lossy(&version))),
        Err(error) if error.code == code::UNKNOWN_DATABASE => {
            let hint = "create the database, or name another one in the peer";
            return Ok(vec![Problem::new("destination_name", error.message).with_hint(hint)]);
        }
        Err(error) => return Err(of_error(error, "asking the server for its version")),
    }
    problems.extend(probe(targets, client)?);
    problems.extend(shared_targets(targets));
    let present = targets.present(client, schema.iter())?;
    for table in schema {
        problems.extend(table_problems(targets, client, table, &present)?);
    }
    Ok(problems)
}

fn version_problem(version: &str) -> Option<Problem> {
    let mut numbers = version.trim().split('.').map_while(|part| part.parse().ok());
    let found = (numbers.next()?, numbers.next()?);
    let (major, minor) = SERVER_VERSION_MIN;
    (found < SERVER_VERSION_MIN).then(|| {
        Problem::new("destination_name", format!("the server's version is {version}")).with_hint(format!(
            "update ClickHouse to {major}.{minor} or later, which can mark rows as deleted"
        ))
    })
}

/// Does what a mirror does, on a table of its own.
fn probe(targets: &Targets, client: &mut impl Client) -> Result<Option<Problem>, Failure> {
    let name = probe_name(targets);
    let table = ident(&name);
    let statements = [
        (
            "create tables",
            format!("CREATE TABLE IF NOT EXISTS {table} (`a` UInt8) ENGINE = MergeTree ORDER BY `a`"),
        ),
        ("insert", format!("INSERT INTO {table} (`a`) VALUES (1)")),
        ("select", format!("SELECT `a` FROM {table} FORMAT Null")),
        ("alter tables", format!("ALTER TABLE {table} ADD COLUMN IF NOT EXISTS `b` UInt8")),
        ("truncate tables", format!("TRUNCATE TABLE {table} SYNC")),
        ("drop tables", targets.ddl.drop(&name)),
    ];
    for (right, sql) in statements {
        let Err(error) = client.query(&sql) else { continue };
        // Nothing of the probe stays; where dropping is what fails, the message has said so.
        let _dropped = client.query(&targets.ddl.drop(&name));
        if error.code == 0 {
            return Err(of_error(error, "trying the user's rights"));
        }
        let Error { code, message } = error;
        let message =
            format!("the peer's user cannot {right} in its database: {message} (ClickHouse error {code})");
        return Ok(Some(Problem::new("destination_name", message).with_hint(GRANT)));
    }
    Ok(None)
}

/// A table of its own, also when the same mirror is looked at twice at once.
fn probe_name(targets: &Targets) -> String {
    format!("_tarn_probe_{}_{}", targets.config.mirror, clock::now())
}

/// Two sources in one target would overwrite one another's keys.
fn shared_targets(targets: &Targets) -> Vec<Problem> {
    let mut first = HashMap::new();
    let mut problems = Vec::new();
    for (at, mapping) in targets.config.tables.iter().enumerate() {
        if let Some(source) = first.insert(&mapping.destination, &mapping.source) {
            let path = format!("{}.destination_table_identifier", mapping_path(at));
            let message = format!("{source} and {} both go to {}", mapping.source, mapping.destination);
            problems.push(Problem::new(path, message).with_hint("name a table for each"));
        }
    }
    problems
}

fn table_problems(
    targets: &mut Targets,
    client: &mut impl Client,
    table: &Table,
    present: &HashSet<String>,
) -> Result<Vec<Problem>, Failure> {
    let range = targets.range(client)?;
    let Some((at, mapping)) = targets.mapping(table) else { return Ok(Vec::new()) };
    let path = mapping_path(at);
    let design = match Design::new(&targets.config, mapping, table, &path) {
        Ok(design) => design,
        Err(problems) => return Ok(problems),
    };
    if let Some(problem) = partition_problem(targets, client, &design, &path)? {
        return Ok(vec![problem]);
    }
    if targets.config.existing_rows == ExistingRows::Replaced || !present.contains(&design.target) {
        return Ok(Vec::new());
    }
    let Some(existing) = targets.find(client, &design.target)? else { return Ok(Vec::new()) };
    let path = format!("{path}.destination_table_identifier");
    let differences = existing.differences(&design, table, range);
    if !differences.is_empty() {
        let problems = differences.into_iter().map(|(message, hint)| {
            Problem::new(&path, format!("table {} is there, and {message}", design.target)).with_hint(hint)
        });
        return Ok(problems.collect());
    }
    match targets.config.existing_rows {
        ExistingRows::Refused => Ok(rows_problem(client, &design, &path)?.into_iter().collect()),
        ExistingRows::Kept | ExistingRows::Replaced => Ok(Vec::new()),
    }
}

/// Whether the server takes the expression that the target is to be partitioned by. Only the server knows:
/// a table of the target's form is made, and removed.
fn partition_problem(
    targets: &Targets,
    client: &mut impl Client,
    design: &Design,
    path: &str,
) -> Result<Option<Problem>, Failure> {
    if design.partition_key.is_empty() || design.engine == Engine::Null {
        return Ok(None);
    }
    let probe = Design { target: probe_name(targets), ..design.clone() };
    let made = client.query(&targets.ddl.create(&probe));
    // Nothing of the probe stays. That tables cannot be dropped is found elsewhere.
    let _dropped = client.query(&targets.ddl.drop(&probe.target));
    match made {
        Ok(_) => Ok(None),
        Err(error) if error.code == 0 => Err(of_error(error, "trying the partition key")),
        // Whoever may not create tables is told so once.
        Err(error) if error.code == code::ACCESS_DENIED => Ok(None),
        Err(Error { code, message }) => {
            let message = format!("is refused by the server: {message} (ClickHouse error {code})");
            let hint = "write an expression of the table's columns, such as toYYYYMM(created_at)";
            Ok(Some(Problem::new(format!("{path}.partition_key"), message).with_hint(hint)))
        }
    }
}

/// Rows of someone else's would stay among the mirror's (B235).
fn rows_problem(client: &mut impl Client, design: &Design, path: &str) -> Result<Option<Problem>, Failure> {
    if design.engine == Engine::Null {
        return Ok(None);
    }
    let target = ident(&design.target);
    let rows = text_rows(client, &format!("SELECT 'a row' FROM {target} LIMIT 1"));
    let rows = rows.map_err(|error| of_error(error, &format!("looking into table {}", design.target)))?;
    Ok((!rows.is_empty()).then(|| {
        Problem::new(path, format!("table {} has rows already", design.target))
            .with_hint(format!("TRUNCATE TABLE {target}, drop it, or name another destination table"))
    }))
}
