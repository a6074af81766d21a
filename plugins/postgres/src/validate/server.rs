//! What the server must be and have for logical replication.

use tarn_sdk::postgres::Row;
use tarn_sdk::{Failure, Problem};

use crate::cluster::Cluster;
use crate::config::{SERVER_MAJOR_MIN, STANDBY_MAJOR_MIN};
use crate::connections::Needs;
use crate::peer::{Peer, flag, number, single, text};
use crate::publication;
use crate::server::Server;
use crate::settings::{Publication, Settings};
use crate::side::Side;
use crate::slot;

/// The field of the source's peer.
const PEER: &str = "source_name";
const SLOT: &str = "replication_slot_name";
const PUBLICATION: &str = "publication_name";

pub(super) fn check<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
) -> Result<Vec<Problem>, Failure> {
    let rows = side.read(
        "SELECT current_setting('wal_level'), pg_catalog.pg_is_in_recovery(), current_user, current_database(),
                pg_catalog.has_database_privilege(current_database(), 'CREATE'),
                current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_catalog.pg_replication_slots),
                current_setting('max_wal_senders')::int - (SELECT count(*) FROM pg_catalog.pg_stat_replication),
                (SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END
                 FROM pg_catalog.pg_roles WHERE rolname = session_user)",
    )?;
    let row = single(rows, "its settings")?;
    let mut problems = settings_of(&row, server)?;
    // A slot of this mirror's own makes room when it is made again.
    let existing = slot::find(side, &settings.slot)?;
    if existing.is_none() && number::<i64>(&row, 5)? < 1 {
        let message = "all replication slots of the server are in use";
        problems
            .push(Problem::new(SLOT, message).with_hint("drop unused slots, or raise max_replication_slots"));
    }
    if let Some(slot) = existing {
        problems.extend(slot_of_others(&slot, settings));
    }
    let limit = number::<i64>(&row, 7)?;
    problems.extend(few_connections(limit, text(&row, 2)?, settings));
    if number::<i64>(&row, 6)? < 1 {
        let message = "all wal senders of the server are in use";
        problems.push(Problem::new(PEER, message).with_hint("raise max_wal_senders"));
    } else if let Some(Err(failure)) = (limit != 1).then(|| replication(side)) {
        let user = text(&row, 2)?;
        let message = format!("role {user:?} cannot open a replication connection: {}", failure.message);
        let user = tarn_sdk::sql::postgres::ident(user);
        let hint = format!("ALTER ROLE {user} REPLICATION; and let pg_hba.conf admit it");
        problems.push(Problem::new(PEER, message).with_hint(hint));
    }
    match &settings.publication {
        Publication::Managed(_) if flag(&row, 1) => problems.push(
            Problem::new(PUBLICATION, "a standby takes no new publication")
                .with_hint("create one for the tables at the primary and name it"),
        ),
        Publication::Managed(_) if !flag(&row, 4) => problems.push(cannot_create(&row)?),
        Publication::Managed(_) => {}
        Publication::Given(name) => problems.extend(publication_of_others(side, name)?),
    }
    Ok(problems)
}

fn settings_of(row: &Row, server: &Server) -> Result<Vec<Problem>, Failure> {
    let mut problems = Vec::new();
    let mut add = |message: String, hint: &str| problems.push(Problem::new(PEER, message).with_hint(hint));
    if server.major() < SERVER_MAJOR_MIN {
        let message = format!("PostgreSQL {} is older than {SERVER_MAJOR_MIN}", server.version);
        add(message, "upgrade the server");
    }
    let wal_level = text(row, 0)?;
    if wal_level != "logical" {
        let hint = "ALTER SYSTEM SET wal_level = logical, then restart the server";
        add(format!("wal_level is {wal_level}, and logical replication needs logical"), hint);
    }
    if flag(row, 1) && server.major() < STANDBY_MAJOR_MIN {
        let message = format!(
            "the server is a standby, and standbys can be read from PostgreSQL {STANDBY_MAJOR_MIN} on"
        );
        add(message, "point the peer at the primary");
    }
    Ok(problems)
}

/// A role that may not have as many connections as the mirror needs at a time. A superuser has no limit, nor has a role
/// with -1.
fn few_connections(limit: i64, user: &str, settings: &Settings) -> Option<Problem> {
    let needs = Needs::of(settings);
    if limit < 0 || limit >= needs.sessions.into() {
        return None;
    }
    let message =
        format!("role {user:?} may have {limit} connections at a time, and the mirror needs {needs}");
    let user = tarn_sdk::sql::postgres::ident(user);
    let (needed, fewer) = (needs.sessions, needs.or_fewer());
    Some(
        Problem::new(PEER, message).with_hint(format!(
            "ALTER ROLE {user} CONNECTION LIMIT {needed}; more where it has others{fewer}"
        )),
    )
}

/// The sure way to know whether a replication connection can be opened is to open one.
fn replication<P: Peer>(side: &mut Side<P>) -> Result<(), Failure> {
    let mut session = side.peer().open_replication()?;
    Cluster::of(&mut session).map(|_| ())
}

fn cannot_create(row: &Row) -> Result<Problem, Failure> {
    let (user, database) = (text(row, 2)?, text(row, 3)?);
    let message = format!("role {user:?} may not make a publication in database {database:?}");
    let [user, database] = [user, database].map(tarn_sdk::sql::postgres::ident);
    Ok(Problem::new(PUBLICATION, message)
        .with_hint(format!("GRANT CREATE ON DATABASE {database} TO {user}; or name an existing publication")))
}

fn publication_of_others<P: Peer>(side: &mut Side<P>, name: &str) -> Result<Option<Problem>, Failure> {
    let Some(kinds) = publication::kinds(side, name)? else {
        return Ok(Some(
            Problem::new(PUBLICATION, format!("publication {name:?} does not exist"))
                .with_hint("create it, or leave the name empty to have the mirror make one"),
        ));
    };
    if kinds.missing.is_empty() {
        return Ok(None);
    }
    let message = format!("publication {name:?} does not publish {}", kinds.missing.join(", "));
    let name = tarn_sdk::sql::postgres::ident(name);
    let hint = format!("ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate')");
    Ok(Some(Problem::new(PUBLICATION, message).with_hint(hint)))
}

/// An idle slot by the mirror's own name is what an earlier attempt left, and is made again. Any other
/// belongs to somebody.
fn slot_of_others(slot: &slot::Slot, settings: &Settings) -> Option<Problem> {
    let name = &settings.slot;
    let own_name = *name == format!("tarn_slot_{}", settings.mirror);
    if own_name && slot.is_ours && slot.reader.is_none() {
        return None;
    }
    let message = match slot.reader {
        Some(reader) => format!("replication slot {name:?} is in use by the session with pid {reader}"),
        None => format!("replication slot {name:?} exists already"),
    };
    let literal = tarn_sdk::sql::postgres::literal(name);
    let hint =
        format!("choose another name; or, if nobody needs it, SELECT pg_drop_replication_slot({literal})");
    Some(Problem::new(SLOT, message).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use tarn_sdk::SourceConfig;

    use super::*;

    #[test]
    fn a_slot_of_somebody_else_is_named_and_an_own_leftover_is_not() {
        let named = |slot: &str| {
            Settings::new(SourceConfig {
                mirror: "m".to_owned(),
                slot: slot.to_owned(),
                ..SourceConfig::default()
            })
        };
        let idle = slot::Slot { is_ours: true, reader: None, confirmed: None, is_lost: false };
        assert_eq!(slot_of_others(&idle, &named("tarn_slot_m")), None);
        assert!(slot_of_others(&idle, &named("debezium")).is_some());
        let read = slot::Slot { reader: Some(7), ..idle.clone() };
        let problem = slot_of_others(&read, &named("tarn_slot_m")).expect("somebody reads from it");
        assert!(problem.message.contains("pid 7"), "{}", problem.message);
        let physical = slot::Slot { is_ours: false, ..idle };
        assert!(slot_of_others(&physical, &named("tarn_slot_m")).is_some());
    }
}
