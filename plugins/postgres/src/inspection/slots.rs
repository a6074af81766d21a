//! Replication slots: who holds how much of the log.

use tarn_sdk::Failure;
use tarn_sdk::inspection::SlotInfo;
use tarn_sdk::postgres::Row;

use super::ask;
use crate::peer::{Peer, flag, number, text};
use crate::server::Server;
use crate::side::Side;

/// The first server that counts what a slot's decoding spills to disk.
const SPILL_STATISTICS_SINCE: u32 = 14;

/// The slots of the database, by name. What the role may not see is empty.
pub(super) fn of_database<P: Peer>(side: &mut Side<P>) -> Result<Vec<SlotInfo>, Failure> {
    let has_spills = Server::read(side)?.major() >= SPILL_STATISTICS_SINCE;
    let (spills, join) = if has_spills {
        (
            "extract(epoch FROM s.stats_reset)::bigint, s.spill_txns, s.spill_count, s.spill_bytes",
            "LEFT JOIN pg_catalog.pg_stat_replication_slots s ON s.slot_name = r.slot_name",
        )
    } else {
        ("NULL, NULL, NULL, NULL", "")
    };
    let rows = ask(side, &statement(spills, join))?;
    rows.iter().map(slot).collect()
}

/// On a standby the log ends where it was received.
fn statement(spills: &str, join: &str) -> String {
    format!(
        "WITH log AS (
           SELECT CASE WHEN pg_is_in_recovery()
                       THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
                       ELSE pg_current_wal_lsn() END AS lsn,
                  CASE WHEN has_function_privilege('pg_catalog.pg_control_checkpoint()', 'EXECUTE')
                       THEN (SELECT redo_lsn FROM pg_control_checkpoint()) END AS redo)
         SELECT r.slot_name, coalesce(log.redo::text, ''), coalesce(r.restart_lsn::text, ''), r.active,
                coalesce(round((log.lsn - r.restart_lsn) / 1048576, 2), 0),
                coalesce(r.confirmed_flush_lsn::text, ''), coalesce(r.wal_status, ''), w.sent_lsn::text,
                coalesce(log.lsn::text, ''),
                coalesce(round((r.confirmed_flush_lsn - r.restart_lsn) / 1048576, 2), 0),
                coalesce(round((log.lsn - r.confirmed_flush_lsn) / 1048576, 2), 0),
                coalesce(a.wait_event_type, ''), coalesce(a.wait_event, ''), coalesce(a.state, ''),
                (SELECT setting::bigint / 1024 FROM pg_catalog.pg_settings
                 WHERE name = 'logical_decoding_work_mem'),
                r.safe_wal_size, {spills}
         FROM log CROSS JOIN pg_catalog.pg_replication_slots r
         LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = r.active_pid
         LEFT JOIN pg_catalog.pg_stat_replication w ON w.pid = r.active_pid
         {join}
         WHERE r.database = current_database() ORDER BY r.slot_name"
    )
}

fn slot(row: &Row) -> Result<SlotInfo, Failure> {
    Ok(SlotInfo {
        slot_name: text(row, 0)?.to_owned(),
        redo_lsn: text(row, 1)?.to_owned(),
        restart_lsn: text(row, 2)?.to_owned(),
        active: flag(row, 3),
        lag_in_mb: number(row, 4)?,
        confirmed_flush_lsn: text(row, 5)?.to_owned(),
        wal_status: text(row, 6)?.to_owned(),
        sent_lsn: row.get(7).cloned().flatten(),
        current_lsn: text(row, 8)?.to_owned(),
        restart_to_confirmed_mb: number(row, 9)?,
        confirmed_to_current_mb: number(row, 10)?,
        wait_event_type: text(row, 11)?.to_owned(),
        wait_event: text(row, 12)?.to_owned(),
        backend_state: text(row, 13)?.to_owned(),
        logical_decoding_work_mem_mb: number(row, 14)?,
        safe_wal_size: optional(row, 15)?,
        stats_reset: optional(row, 16)?,
        spill_txns: optional(row, 17)?,
        spill_count: optional(row, 18)?,
        spill_bytes: optional(row, 19)?,
    })
}

/// A number that may be NULL.
fn optional(row: &Row, column: usize) -> Result<Option<i64>, Failure> {
    if row.get(column).is_some_and(Option::is_some) { number(row, column).map(Some) } else { Ok(None) }
}
