//! Putting tables that were loaded beside in the place of those that people read.
//!
//! ```text
//!   t (old)            t_tarn_beside (of the load)
//!       └──── EXCHANGE ────┘                          at once: readers, views and dictionaries go by the name
//!   t (of the load)    t_tarn_beside (old)
//!                          └──── DROP
//! ```
//!
//! Each step begins with what is there, so that it may be cut off and repeated anywhere. Which table is the new one
//! is told by the load's name in its comment, never by its own name; the comment stays, so that a table that was put
//! in its place is told from one whose successor is lost.

use tarn_sdk::sql::clickhouse::ident;
use tarn_sdk::{Failure, log};

use crate::beside;
use crate::client::Client;
use crate::existing::Existing;
use crate::failure::{code, of_error};
use crate::targets::Targets;

/// Replaces one target by the table that was loaded beside it.
pub(crate) fn replace(targets: &Targets, client: &mut impl Client, target: &str) -> Result<(), Failure> {
    let load = targets.config.beside.clone();
    let beside_name = beside::name(target);
    let is_new =
        |table: &Option<Existing>| table.as_ref().is_some_and(|table| beside::is_of(table.comment(), &load));
    let there = targets.find(client, target)?;
    let beside = targets.find(client, &beside_name)?;
    match (&there, is_new(&beside)) {
        // It was put in its place before. What is beside by the load's name was made since, and holds nothing; or the table
        // left the mirror and came back in between, and was loaded again.
        (Some(old), true) if is_new(&there) => {
            if has_rows(client, &beside_name)? {
                // From here on it is an old one like any other, wherever this is cut off.
                let comment = beside::unmarked(old.comment());
                run(client, &targets.ddl.comment(target, &comment), target)?;
                exchange(targets, client, target)?;
            } else {
                run(client, &targets.ddl.drop(&beside_name), target)?;
            }
        }
        (Some(_), false) if is_new(&there) => {}
        (Some(_), true) => exchange(targets, client, target)?,
        (None, true) => run(client, &targets.ddl.rename(&[(&beside_name, target)]), target)?,
        (_, false) => {
            let message =
                format!("table {beside_name}, which was loaded to replace {target}, is not there any more");
            return Err(Failure::permanent("target_missing", message).with_hint("resync the mirror"));
        }
    }
    for name in [beside_name, beside::aside(target)] {
        remove_replaced(targets, client, &name, &load)?;
    }
    log::info(&format!("table {target} is the one that was loaded beside it"));
    Ok(())
}

fn has_rows(client: &mut impl Client, table: &str) -> Result<bool, Failure> {
    let rows = client.query(&format!("SELECT 1 FROM {} LIMIT 1", ident(table)));
    Ok(!rows.map_err(|error| of_error(error, &format!("looking into table {table}")))?.is_empty())
}

/// Lets two tables change names at once. A database that cannot do so renames both in one statement, between
/// whose parts a reader may find no table.
fn exchange(targets: &Targets, client: &mut impl Client, target: &str) -> Result<(), Failure> {
    let beside_name = beside::name(target);
    match client.query(&targets.ddl.exchange(target, &beside_name)) {
        Ok(_) => Ok(()),
        Err(error) if error.code == code::NOT_IMPLEMENTED => {
            log::warn(&format!(
                "the database cannot exchange tables, so that table {target} is not there for a moment while it is \
                 renamed; a database of the engine Atomic or Replicated can"
            ));
            let aside = beside::aside(target);
            // Left by an earlier try, which got no further than this. One of somebody else stays, and is refused.
            remove_replaced(targets, client, &aside, &targets.config.beside)?;
            run(client, &targets.ddl.rename(&[(target, &aside), (&beside_name, target)]), target)
        }
        Err(error) => Err(of_error(error, &format!("putting table {target} in its place"))),
    }
}

/// Drops the table that was replaced; one that no mirror made stays.
fn remove_replaced(
    targets: &Targets,
    client: &mut impl Client,
    name: &str,
    load: &str,
) -> Result<(), Failure> {
    let Some(old) = targets.find(client, name)? else { return Ok(()) };
    if beside::is_of(old.comment(), load) || !old.is_a_target(&targets.config) {
        log::warn(&format!("table {name} is not one that was replaced, and stays"));
        return Ok(());
    }
    run(client, &targets.ddl.drop(name), name)
}

fn run(client: &mut impl Client, sql: &str, target: &str) -> Result<(), Failure> {
    client.query(sql).map_err(|error| of_error(error, &format!("putting table {target} in its place")))?;
    Ok(())
}
