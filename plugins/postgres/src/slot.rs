//! The replication slot: what keeps the server from forgetting changes.

use tarn_sdk::postgres::Error;
use tarn_sdk::sql::postgres::{ident, literal};
use tarn_sdk::{Failure, log};

use crate::config::{
    IN_PROGRESS_SINCE_MAJOR, MESSAGES_SINCE_MAJOR, PAUSE_MS, PROTOCOL_4_SINCE_MAJOR,
    SLOT_ATTEMPTS_BEFORE_TERMINATION, SLOT_ATTEMPTS_MAX,
};
use crate::lsn::Lsn;
use crate::peer::{Peer, Session, flag, number, single, text};
use crate::position::Place;
use crate::server::{LogEnd, Server, log_end, lsn};
use crate::settings::Settings;
use crate::side::Side;

/// SQLSTATE of a slot (or anything else) that somebody uses.
pub(crate) const IN_USE: &str = "55006";

/// A slot as the server shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Whether it is a logical slot of pgoutput in this database.
    pub(crate) is_ours: bool,
    /// The walsender that reads from it.
    pub(crate) reader: Option<i32>,
    /// What was confirmed; nothing for a slot that is not logical.
    pub(crate) confirmed: Option<Lsn>,
    /// Whether the server has given up what the slot needs.
    pub(crate) is_lost: bool,
}

/// A slot that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Created {
    /// Every transaction that commits after this place is in the stream, every other in the snapshot.
    pub(crate) consistent_point: Lsn,
    /// The snapshot's name, good until the session is used again.
    pub(crate) snapshot: String,
}

/// A slot, if it exists.
pub(crate) fn find<P: Peer>(side: &mut Side<P>, name: &str) -> Result<Option<Slot>, Failure> {
    let rows = side.read(&format!(
        "SELECT slot_type = 'logical' AND plugin = 'pgoutput' AND database = current_database() AND NOT temporary,
                active_pid, confirmed_flush_lsn, coalesce(wal_status = 'lost', false)
         FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
        literal(name)
    ))?;
    let Some(row) = rows.first() else { return Ok(None) };
    let present = |column: usize| row.get(column).is_some_and(Option::is_some);
    Ok(Some(Slot {
        is_ours: flag(row, 0),
        reader: if present(1) { Some(number(row, 1)?) } else { None },
        confirmed: if present(2) { Some(lsn(row, 2)?) } else { None },
        is_lost: flag(row, 3),
    }))
}

/// Makes the slot and exports the snapshot of the place where it begins.
pub(crate) fn create<S: Session>(
    replication: &mut S,
    server: &Server,
    is_standby: bool,
    name: &str,
) -> Result<Created, Failure> {
    let options = match server.major() {
        // A standby that synchronises slots has this one, too. One of a standby's own is never synchronised.
        17.. if !is_standby => "(SNAPSHOT 'export', FAILOVER true)",
        15.. => "(SNAPSHOT 'export')",
        _ => "EXPORT_SNAPSHOT",
    };
    let command = format!("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput {options}", ident(name));
    let rows = replication.query(&command).map_err(|error| {
        let exhausted = error.sqlstate == "53400";
        let failure = Failure::from(error).in_context(format!("making replication slot {name:?}"));
        if exhausted {
            failure.with_hint("drop slots that nobody needs, or raise max_replication_slots")
        } else {
            failure
        }
    })?;
    let row = single(rows, "the new slot")?;
    Ok(Created { consistent_point: lsn(&row, 1)?, snapshot: text(&row, 2)?.to_owned() })
}

/// Drops the slot, ending a walsender of this mirror that still reads from it. Nothing happens where
/// there is none.
pub(crate) fn remove<P: Peer>(side: &mut Side<P>, settings: &Settings) -> Result<(), Failure> {
    let mut told = None;
    for _ in 0..SLOT_ATTEMPTS_MAX {
        let Some(slot) = find(side, &settings.slot)? else { return Ok(()) };
        if !slot.is_ours {
            return Err(taken(&settings.slot));
        }
        match slot.reader {
            Some(reader) => {
                terminate(side, settings, reader, &mut told)?;
                side.pause(PAUSE_MS)?;
            }
            None => {
                let drop = format!("SELECT pg_catalog.pg_drop_replication_slot({})", literal(&settings.slot));
                match side.run(&drop) {
                    Ok(_) => return Ok(()),
                    // Somebody took or dropped it in between: look again.
                    Err(error) if error.sqlstate == IN_USE || error.sqlstate == "42704" => {}
                    Err(error) => {
                        let context = format!("dropping replication slot {:?}", settings.slot);
                        return Err(Failure::from(error).in_context(context));
                    }
                }
            }
        }
    }
    Err(in_use(&settings.slot))
}

/// Starts the stream and returns where it begins: where the slot does, if a transaction is known that the server has to
/// have after that, else where something may come that was not delivered. A slot that is in use is waited for, and a
/// walsender of this mirror that does not go away is ended.
pub(crate) fn start<P: Peer>(
    side: &mut Side<P>,
    replication: &mut P::Session,
    server: &Server,
    settings: &Settings,
    position: &Place,
) -> Result<Lsn, Failure> {
    let messages = match (settings.messages, server.major() >= MESSAGES_SINCE_MAJOR) {
        (true, true) => ", messages 'true'",
        (true, false) => {
            log::info(
                "messages in the log (pg_logical_emit_message) do not reach the script: PostgreSQL sends them from \
                 version 14 on",
            );
            ""
        }
        (false, _) => "",
    };
    if settings.in_progress && server.major() < IN_PROGRESS_SINCE_MAJOR {
        log::info(
            "large transactions come once they have committed: PostgreSQL sends them before from version 14 on",
        );
    }
    let (protocol, streaming) = match server.major() {
        PROTOCOL_4_SINCE_MAJOR.. if settings.in_progress => (4, ", streaming 'parallel'"),
        IN_PROGRESS_SINCE_MAJOR.. if settings.in_progress => (2, ", streaming 'on'"),
        _ => (1, ""),
    };
    let wanted = match position.past.last {
        // The server goes on to where its slot begins.
        Some(_) => Lsn(0),
        None => position.past.end,
    };
    let command = format!(
        "START_REPLICATION SLOT {} LOGICAL {} (proto_version '{protocol}', publication_names {}{messages}{streaming})",
        ident(&settings.slot),
        wanted,
        publication_names(settings.publication.name())
    );
    let mut told = None;
    for attempt in 0..SLOT_ATTEMPTS_MAX {
        check(side, settings, position)?;
        match replication.stream(&command) {
            // An earlier walsender may have moved the slot until now, and nobody else does from now on.
            Ok(()) => {
                let confirmed = find(side, &settings.slot)?.and_then(|slot| slot.confirmed);
                return Ok(confirmed.unwrap_or(position.end).max(wanted));
            }
            Err(error) if error.sqlstate == IN_USE => {
                let reader = find(side, &settings.slot)?.and_then(|slot| slot.reader);
                if let (Some(reader), true) = (reader, attempt >= SLOT_ATTEMPTS_BEFORE_TERMINATION) {
                    terminate(side, settings, reader, &mut told)?;
                }
                side.pause(PAUSE_MS)?;
            }
            Err(error) => return Err(stream_failure(side, error, settings)),
        }
    }
    Err(in_use(&settings.slot))
}

/// A list of names as the server's splitter reads it: identifiers between double quotes, the list a
/// literal of the replication grammar, where only a quote is doubled.
fn publication_names(name: &str) -> String {
    format!("'{}'", ident(name).replace('\'', "''"))
}

/// Looks whether the slot can still serve a position; if not, nothing but a resync helps, and starting
/// all the same would pass changes over in silence (B142, B148, B149, B151).
pub(crate) fn check<P: Peer>(
    side: &mut Side<P>,
    settings: &Settings,
    position: &Place,
) -> Result<(), Failure> {
    const RESYNC: &str = "resync the mirror";
    let name = &settings.slot;
    let lost = |code: &str, message: String| Failure::position_lost(code, message).with_hint(RESYNC);
    let Some(slot) = find(side, name)? else {
        return Err(lost("slot_missing", format!("replication slot {name:?} does not exist any more")));
    };
    if !slot.is_ours {
        return Err(lost("slot_replaced", format!("replication slot {name:?} now serves something else")));
    }
    if slot.is_lost {
        return Err(lost(
            "slot_invalidated",
            format!("the server gave up the log that replication slot {name:?} needs"),
        )
        .with_hint(
            "resync the mirror; so that it does not happen again, raise max_slot_wal_keep_size, or what else the \
             server's log names as the reason",
        ));
    }
    if let Some(confirmed) = slot.confirmed.filter(|confirmed| *confirmed > position.end) {
        return Err(lost(
            "slot_ahead",
            format!(
                "replication slot {name:?} begins at {confirmed}, after {}: it was made again or moved",
                position.end
            ),
        ));
    }
    let LogEnd { lsn: current, is_standby } = log_end(side)?;
    if current < position.end && is_standby {
        // It replays from its last restart point after each start.
        let message =
            format!("the standby has replayed its log up to {current}, and {} comes later", position.end);
        return Err(Failure::retry("standby_behind", message).with_hint(
            "wait until the standby has caught up; pg_stat_wal_receiver shows whether it receives",
        ));
    }
    if current < position.end {
        return Err(lost(
            "server_behind",
            format!(
                "the server's log ends at {current}, before {}: it lost what was replicated already",
                position.end
            ),
        ));
    }
    Ok(())
}

/// Asks a walsender to end, if it is this mirror's own. One that does not follow at once is told of one time only.
fn terminate<P: Peer>(
    side: &mut Side<P>,
    settings: &Settings,
    reader: i32,
    told: &mut Option<i32>,
) -> Result<(), Failure> {
    let ended = side.run(&format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
         WHERE pid = {reader} AND application_name = {} AND usename = current_user",
        literal(&settings.application_name())
    ))?;
    if !ended.is_empty() && told.replace(reader) != Some(reader) {
        log::warn(&format!(
            "ended the walsender with pid {reader}: it held this mirror's slot and nobody read from it"
        ));
    }
    Ok(())
}

/// What an error of the stream means. Some end it for good: the publication is gone as of the place that
/// is read, or the slot is gone, or not what it was, or the log it needs was removed.
pub(crate) fn stream_failure<P: Peer>(side: &mut Side<P>, error: Error, settings: &Settings) -> Failure {
    let publication = settings.publication.name();
    let context = format!("replicating from slot {:?}", settings.slot);
    match error.sqlstate.as_str() {
        "42704" | "55000" if is_of_publication(&error.message, publication, &settings.slot) => {
            crate::publication::missing_there(side, publication)
        }
        "42704" | "55000" | "58P01" => {
            Failure::position_lost("slot_unusable", format!("{context}: {}", error.message))
                .with_hint("resync the mirror")
        }
        _ => Failure::from(error).in_context(context),
    }
}

/// Whether an error of the stream, which may be in any language, is about the publication and not the slot.
fn is_of_publication(message: &str, publication: &str, slot: &str) -> bool {
    let rest = message.replace(slot, "");
    rest.contains("publication") || rest.contains(publication) && rest.len() == message.len()
}

fn in_use(name: &str) -> Failure {
    Failure::retry("slot_in_use", format!("another session reads from replication slot {name:?}"))
        .with_hint("pg_stat_replication shows whose it is; pg_terminate_backend ends it")
}

fn taken(name: &str) -> Failure {
    Failure::permanent("slot_taken", format!("replication slot {name:?} serves something else"))
        .with_hint("choose another replication_slot_name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_in_any_language() {
        let is_of_publication = |message| is_of_publication(message, "tarn_pub_items", "tarn_slot_items");
        assert!(is_of_publication(r#"skipped loading publication "tarn_pub_items""#));
        assert!(is_of_publication("Publikation »tarn_pub_items« existiert nicht"));
        assert!(!is_of_publication(r#"replication slot "tarn_slot_items" does not exist"#));
        let of_slot = r#"replication slot "my_publication" does not exist"#;
        assert!(!super::is_of_publication(of_slot, "tarn_pub_items", "my_publication"));
    }

    #[test]
    fn names_in_the_command_stay_names() {
        // B154.
        assert_eq!(publication_names("pub"), r#"'"pub"'"#);
        assert_eq!(publication_names("My-pub, other"), r#"'"My-pub, other"'"#);
        assert_eq!(publication_names(r#"a"b'c"#), r#"'"a""b''c"'"#);
    }
}
