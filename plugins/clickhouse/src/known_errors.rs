//! The server's errors that are known, and what is done about each. FAILURES.md has them for people.

use crate::failure::GRANT;

/// What is done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhatNow {
    /// It passes by itself.
    Retry,
    /// It passes once somebody has done something, and is tried again until then.
    Later,
    /// It stays until somebody has done something: the mirror fails, with this code.
    Never(&'static str),
}

/// An error of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) code: u32,
    /// What the server calls it, for the page: its messages have it by themselves.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the page and its test tell it"))]
    pub(crate) name: &'static str,
    pub(crate) what_now: WhatNow,
    /// What somebody has to do; empty where it passes by itself.
    pub(crate) hint: &'static str,
}

const fn retry(code: u32, name: &'static str) -> Known {
    Known { code, name, what_now: WhatNow::Retry, hint: "" }
}

const fn later(code: u32, name: &'static str, hint: &'static str) -> Known {
    Known { code, name, what_now: WhatNow::Later, hint }
}

const fn never(code: u32, name: &'static str, failure: &'static str, hint: &'static str) -> Known {
    Known { code, name, what_now: WhatNow::Never(failure), hint }
}

const COLUMNS: &str = "the table's columns were changed by hand: undo that and resume, or resync the mirror";
const LOGIN: &str = "check the peer's user and password, then resume";
const ROOM: &str = "make room on the server's disk";

/// All of them, by code.
pub(crate) const KNOWN: &[Known] = &[
    never(10, "NOT_FOUND_COLUMN_IN_BLOCK", "target_changed", COLUMNS),
    never(16, "NO_SUCH_COLUMN_IN_TABLE", "target_changed", COLUMNS),
    never(47, "UNKNOWN_IDENTIFIER", "target_changed", COLUMNS),
    never(53, "TYPE_MISMATCH", "target_changed", COLUMNS),
    never(
        60,
        "UNKNOWN_TABLE",
        "target_missing",
        "the table was dropped or renamed: bring it back and resume, or resync the mirror",
    ),
    later(75, "CANNOT_WRITE_TO_FILE_DESCRIPTOR", ROOM),
    never(81, "UNKNOWN_DATABASE", "database_missing", "create the peer's database, then resume"),
    retry(159, "TIMEOUT_EXCEEDED"),
    retry(160, "TOO_SLOW"),
    never(
        164,
        "READONLY",
        "clickhouse_read_only",
        "give the peer's user a profile that may write, then resume",
    ),
    never(192, "UNKNOWN_USER", "clickhouse_authentication", LOGIN),
    never(193, "WRONG_PASSWORD", "clickhouse_authentication", LOGIN),
    never(194, "REQUIRED_PASSWORD", "clickhouse_authentication", LOGIN),
    never(195, "IP_ADDRESS_NOT_ALLOWED", "clickhouse_authentication", LOGIN),
    later(201, "QUOTA_EXCEEDED", "wait for the quota's next interval, or give the peer's user a larger one"),
    retry(202, "TOO_MANY_SIMULTANEOUS_QUERIES"),
    retry(203, "NO_FREE_CONNECTION"),
    retry(209, "SOCKET_TIMEOUT"),
    retry(210, "NETWORK_ERROR"),
    retry(225, "NO_ZOOKEEPER"),
    retry(236, "ABORTED"),
    later(
        241,
        "MEMORY_LIMIT_EXCEEDED",
        "give the server or the peer's user more memory, or the mirror a smaller max_batch_size",
    ),
    later(
        242,
        "TABLE_IS_READ_ONLY",
        "see why the replica is read-only (SYSTEM RESTORE REPLICA, keeper), or whether its disk is",
    ),
    later(243, "NOT_ENOUGH_SPACE", ROOM),
    later(
        252,
        "TOO_MANY_PARTS",
        "let merges catch up; give the mirror a longer idle_timeout_seconds, or the table a coarser partition_key",
    ),
    retry(279, "ALL_CONNECTION_TRIES_FAILED"),
    retry(285, "TOO_FEW_LIVE_REPLICAS"),
    retry(286, "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE"),
    never(291, "DATABASE_ACCESS_DENIED", "clickhouse_authentication", LOGIN),
    retry(319, "UNKNOWN_STATUS_OF_INSERT"),
    retry(364, "RECEIVED_ERROR_TOO_MANY_REQUESTS"),
    retry(394, "QUERY_WAS_CANCELLED"),
    retry(425, "SYSTEM_ERROR"),
    retry(439, "CANNOT_SCHEDULE_TASK"),
    retry(473, "DEADLOCK_AVOIDED"),
    never(497, "ACCESS_DENIED", "clickhouse_privilege", GRANT),
    retry(499, "S3_ERROR"),
    never(516, "AUTHENTICATION_FAILED", "clickhouse_authentication", LOGIN),
    retry(517, "CANNOT_ASSIGN_ALTER"),
    retry(667, "NOT_INITIALIZED"),
    later(692, "TOO_MANY_MUTATIONS", "let the table's mutations end, or KILL MUTATION those that cannot"),
    retry(733, "TABLE_IS_BEING_RESTARTED"),
    retry(735, "QUERY_WAS_CANCELLED_BY_CLIENT"),
    retry(745, "SERVER_OVERLOADED"),
    retry(999, "KEEPER_EXCEPTION"),
];

/// What the page's table begins with.
#[cfg(test)]
pub(crate) const HEAD: &str = "| ClickHouse's error | what is done | what helps |\n|---|---|---|";

#[cfg(test)]
impl Known {
    /// Its line of the page.
    pub(crate) fn line(&self) -> String {
        let what_now = match self.what_now {
            WhatNow::Retry => "retry".to_owned(),
            WhatNow::Later => "later".to_owned(),
            WhatNow::Never(failure) => format!("never: `{failure}`"),
        };
        format!("| {} `{}` | {what_now} | {} |", self.code, self.name, self.hint)
    }
}
