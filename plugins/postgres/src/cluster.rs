//! Which server it is: the cluster, and which of its timelines.
//!
//! A standby that is promoted begins a new timeline: it has everything of the old one up to the place where it
//! left it, and nothing after. Numbers go on from there, so that a position beyond that place looks like one of
//! the new timeline, though what was replicated there never happened on it.

use tarn_sdk::{Failure, log};

use crate::lsn::Lsn;
use crate::peer::{Session, flag, number, single, text};
use crate::position::Place;

/// A server's history: the same numbers mean nothing in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// The system identifier.
    pub(crate) system: u64,
    /// The timeline; 0 in positions from before it was kept, and of a standby, whose stream goes on while it is
    /// promoted.
    pub(crate) timeline: u32,
}

impl Cluster {
    /// The cluster of a replication session, which tells it whoever may open one.
    pub(crate) fn of<S: Session>(replication: &mut S) -> Result<Self, Failure> {
        let row = single(replication.query("IDENTIFY_SYSTEM")?, "the system's identifier")?;
        let recovery = replication.query("SELECT pg_catalog.pg_is_in_recovery()")?;
        let is_standby = flag(&single(recovery, "whether it is a standby")?, 0);
        Ok(Self { system: number(&row, 0)?, timeline: if is_standby { 0 } else { number(&row, 1)? } })
    }

    /// Looks whether a position is of this cluster's history; nothing but a resync helps where it is not.
    pub(crate) fn require<S: Session>(self, replication: &mut S, position: &Place) -> Result<(), Failure> {
        let known = position.cluster;
        if self.system != known.system {
            let message = format!(
                "the server is cluster {}, and the position is of cluster {}",
                self.system, known.system
            );
            return Err(Failure::position_lost("another_cluster", message)
                .with_hint("point the peer at the old server, or resync the mirror"));
        }
        if known.timeline == 0 || self.timeline == 0 || self.timeline == known.timeline {
            return Ok(());
        }
        let left = match self.timeline > known.timeline {
            true => left_at(&self.history(replication)?, known.timeline),
            false => None,
        };
        let Some(left) = left else {
            let message = format!(
                "the server is on timeline {}, which does not follow timeline {} of the position",
                self.timeline, known.timeline
            );
            return Err(diverged(message));
        };
        if position.sequence() > left {
            let message = format!(
                "the server was promoted at {left} of timeline {}, and the mirror had replicated up to {}: what \
                 is between is at the destination and not at this server",
                known.timeline,
                position.sequence()
            );
            return Err(diverged(message));
        }
        log::info(&format!(
            "the server was promoted: it left timeline {} at {left}, after everything that was replicated",
            known.timeline
        ));
        Ok(())
    }

    fn history<S: Session>(self, replication: &mut S) -> Result<String, Failure> {
        let rows = replication.query(&format!("TIMELINE_HISTORY {}", self.timeline))?;
        Ok(text(&single(rows, "the timeline's history")?, 1)?.to_owned())
    }
}

fn diverged(message: String) -> Failure {
    Failure::position_lost("timeline_diverged", message)
        .with_hint("resync the mirror, or point the peer at the server that follows the old one")
}

/// Where a history left a timeline. Its lines are `timeline <tab> place <tab> reason`; others are comments.
fn left_at(history: &str, timeline: u32) -> Option<Lsn> {
    history.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let is_of = fields.next()?.parse() == Ok(timeline);
        if is_of { fields.next()?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_tells_where_each_timeline_was_left() {
        let history =
            "1\t0/16B3740\tno recovery target specified\n\n# a comment\n3\t2/0\tbefore 2026-01-01\n";
        assert_eq!(left_at(history, 1), Some(Lsn(0x016B_3740)));
        assert_eq!(left_at(history, 3), Some(Lsn(0x2_0000_0000)));
        assert_eq!(left_at(history, 2), None);
        assert_eq!(left_at("", 1), None);
    }
}
