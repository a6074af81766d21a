//! Everything that would keep a mirror from running, found before it touches anything.

use std::collections::{HashMap, HashSet};

use tarn_batch::{Table, Type};
use tarn_sdk::sql::clickhouse::ident;
use tarn_sdk::{ExistingRows, Failure, Problem, UsualTypes, clock};

use crate::client::{Client, Error, text_rows};
use crate::config::SERVER_VERSION_MIN;
use crate::design::{Design, Engine, chosen_type, unknown_settings};
use crate::failure::{GRANT, code, of_error, remedy};
use crate::nested;
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
    problems.extend(usual_type_problems(targets));
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
        let hint = remedy(code).unwrap_or(GRANT);
        return Ok(Some(Problem::new("destination_name", message).with_hint(hint)));
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

/// What is wrong with the mirror's types for columns that have none of their own.
fn usual_type_problems(targets: &Targets) -> Vec<Problem> {
    let usual = &targets.config.usual_types;
    let settings = [
        ("NUMERIC", &usual.numeric, Type::Numeric { precision: 0, scale: 0 }),
        ("TIME", &usual.time, Type::Time),
        ("JSON", &usual.json, Type::Json),
    ];
    let problems =
        settings.into_iter().filter(|(_, text, _)| !text.is_empty()).filter_map(|(name, text, source)| {
            let why = chosen_type(&source, text).err()?;
            let message = format!("{}: {why}", name.to_ascii_lowercase());
            let hint = "choose a type that holds such values, or leave it out";
            Some(Problem::new(format!("env.TARN_CLICKHOUSE_{name}"), message).with_hint(hint))
        });
    problems.collect()
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
    let mut problems = unknown_settings(mapping, table, &path);
    let design = match Design::new(&targets.config, mapping, table, &path) {
        Ok(design) if problems.is_empty() => design,
        Ok(_) => return Ok(problems),
        Err(found) => {
            problems.extend(found);
            return Ok(problems);
        }
    };
    if let Some(problem) = form_problem(targets, client, &design, &path)? {
        return Ok(vec![problem]);
    }
    let clash = nested::clash_of(&design, table)
        .map(|(message, hint)| Problem::new(format!("{path}.columns"), message).with_hint(hint));
    if targets.config.existing_rows == ExistingRows::Replaced || !present.contains(&design.target) {
        return Ok(clash.into_iter().collect());
    }
    let Some(existing) = targets.find(client, &design.target)? else {
        return Ok(clash.into_iter().collect());
    };
    if let Some(clash) = clash.filter(|_| existing.has_nested()) {
        return Ok(vec![clash]);
    }
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

/// Whether the server takes what people chose: the expression to partition by, types, codecs. Only the server knows: a
/// table of the target's form is made, and removed.
fn form_problem(
    targets: &Targets,
    client: &mut impl Client,
    design: &Design,
    path: &str,
) -> Result<Option<Problem>, Failure> {
    let is_partitioned = !design.partition_key.is_empty() && design.engine != Engine::Null;
    if !is_partitioned && !has_choices(targets, design) {
        return Ok(None);
    }
    let Some(refusal) = try_form(targets, client, design)? else { return Ok(None) };
    let whole = Design { partition_key: String::new(), ..design.clone() };
    let of_partition = is_partitioned && try_form(targets, client, &whole)?.is_none();
    let (field, hint) = match of_partition {
        true => ("partition_key", "write an expression of the table's columns, such as toYYYYMM(created_at)"),
        false => ("columns", "choose types and codecs that the server has, and whose use its settings allow"),
    };
    let Error { code, message } = refusal;
    let message = format!("is refused by the server: {message} (ClickHouse error {code})");
    Ok(Some(Problem::new(format!("{path}.{field}"), message).with_hint(hint)))
}

/// Whether a type or codec is somebody's choice.
fn has_choices(targets: &Targets, design: &Design) -> bool {
    let of_mirror = targets.config.usual_types != UsualTypes::default();
    let mappings = targets.config.tables.iter().filter(|mapping| mapping.destination == design.target);
    of_mirror
        || mappings.flat_map(|mapping| &mapping.columns).any(|column| !column.destination_type.is_empty())
}

/// Makes a table of a form and removes it; the server's refusal, if it is one of the form.
fn try_form(targets: &Targets, client: &mut impl Client, design: &Design) -> Result<Option<Error>, Failure> {
    let probe = Design { target: probe_name(targets), ..design.clone() };
    let made = client.query(&targets.ddl.create(&probe));
    // Nothing of the probe stays. That tables cannot be dropped is found elsewhere.
    let _dropped = client.query(&targets.ddl.drop(&probe.target));
    match made {
        Ok(_) => Ok(None),
        Err(error) if error.code == 0 => Err(of_error(error, "trying the table's form")),
        // Whoever may not create tables is told so once.
        Err(error) if matches!(error.code, code::ACCESS_DENIED | code::READONLY) => Ok(None),
        Err(error) => Ok(Some(error)),
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
