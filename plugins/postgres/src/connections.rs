//! The connections that a mirror needs at a time, and those that the server has for them.

use std::fmt;

use tarn_sdk::{Failure, log};

use crate::config::{LOAD_SESSIONS, STREAM_SESSIONS, WORKER_SESSIONS};
use crate::peer::{Peer, number, single, text};
use crate::settings::Settings;
use crate::side::Side;

/// The most connections that a mirror has at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) sessions: u32,
    /// Of its load; 0 where nothing is loaded.
    workers: u32,
}

impl Needs {
    pub(crate) fn of(settings: &Settings) -> Self {
        let workers = settings.load_workers;
        let load = match workers {
            0 => 0,
            workers => LOAD_SESSIONS.saturating_add(workers.saturating_mul(WORKER_SESSIONS)),
        };
        Self { sessions: STREAM_SESSIONS.max(load), workers }
    }

    /// The end of a remedy: what else makes it fewer.
    pub(crate) fn or_fewer(self) -> &'static str {
        if self.sessions > STREAM_SESSIONS { ", or choose fewer snapshot_max_parallel_workers" } else { "" }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sessions)?;
        match self.workers {
            0 => Ok(()),
            workers => write!(f, " with {workers} workers of its load"),
        }
    }
}

/// Warns where the server or the database has fewer connections left than the mirror needs. Others come and go, and a load goes on
/// with as many workers as there are connections for: nothing is refused for it.
///
/// # Errors
/// Whatever keeps the server from answering.
pub(crate) fn tell<P: Peer>(side: &mut Side<P>, settings: &Settings) -> Result<(), Failure> {
    // This session is one of the mirror's. Walsenders have places of their own, and are too few to matter.
    let row = single(
        side.read(
            "SELECT current_setting('max_connections')::int, pg_catalog.current_database(),
                    CASE WHEN r.rolsuper THEN 0
                         ELSE current_setting('superuser_reserved_connections')::int
                              + coalesce(current_setting('reserved_connections', true)::int, 0) END,
                    (SELECT coalesce(sum(d.numbackends), 1) - 1 FROM pg_catalog.pg_stat_database AS d),
                    CASE WHEN r.rolsuper THEN -1 ELSE b.datconnlimit END,
                    (SELECT d.numbackends - 1 FROM pg_catalog.pg_stat_database AS d WHERE d.datid = b.oid)
             FROM pg_catalog.pg_roles AS r, pg_catalog.pg_database AS b
             WHERE r.rolname = session_user AND b.datname = pg_catalog.current_database()",
        )?,
        "the connections that there are",
    )?;
    let needs = Needs::of(settings);
    let (all, database) = (number::<i64>(&row, 0)?, text(&row, 1)?);
    let left = all - number::<i64>(&row, 2)? - number::<i64>(&row, 3)?;
    if left < needs.sessions.into() {
        log::warn(&too_few("the server", left, all, needs, "raise max_connections"));
    }
    let limit = number::<i64>(&row, 4)?;
    let left = limit - number::<i64>(&row, 5)?;
    if limit >= 0 && left < needs.sessions.into() {
        let sql = tarn_sdk::sql::postgres::ident(database);
        let remedy = format!("ALTER DATABASE {sql} CONNECTION LIMIT with a greater number");
        log::warn(&too_few(&format!("database {database:?}"), left, limit, needs, &remedy));
    }
    Ok(())
}

fn too_few(whose: &str, left: i64, all: i64, needs: Needs, remedy: &str) -> String {
    let left = left.max(0);
    let fewer = needs.or_fewer();
    let load = if needs.workers > 0 { ": its load goes on with as many workers as get theirs" } else { "" };
    format!(
        "{whose} has {left} of its {all} connections left, and the mirror needs {needs} at a time{load}. To give it all of them, \
         {remedy}{fewer}"
    )
}
