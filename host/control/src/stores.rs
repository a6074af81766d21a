//! What is in the stores of peers, for people who make mirrors and watch over them.

use tarn_model::{ActivityInfo, Answer, ColumnInfo, Failure, Peer, Problem, Question, SlotInfo, TableInfo};

use crate::peers::unknown_peer;
use crate::{Control, ControlError};

/// Which slots of a source are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotFilter {
    /// Everybody's.
    #[default]
    All,
    /// Those that mirrors of this server read.
    OfMirrors,
}

/// Every method fails with [`ControlError::NotFound`] for the peer, [`ControlError::FailedPrecondition`]
/// with what keeps the store from answering, [`ControlError::Internal`] when its connector answers
/// something else, and [`ControlError::Catalog`].
#[expect(clippy::missing_errors_doc, reason = "they are the same for all, and said once above")]
impl Control {
    /// The schemas that hold tables of users.
    pub async fn peer_schemas(&self, peer: &str) -> Result<Vec<String>, ControlError> {
        self.ask_peer(peer, Question::Schemas, |answer| match answer {
            Answer::Schemas(found) => Some(found),
            _ => None,
        })
        .await
    }

    /// The sets of tables whose changes can be subscribed to.
    pub async fn peer_publications(&self, peer: &str) -> Result<Vec<String>, ControlError> {
        self.ask_peer(peer, Question::Publications, |answer| match answer {
            Answer::Publications(found) => Some(found),
            _ => None,
        })
        .await
    }

    /// The tables of a schema that rows can come from.
    pub async fn peer_tables(&self, peer: &str, schema: &str) -> Result<Vec<TableInfo>, ControlError> {
        if schema.is_empty() {
            return Err(ControlError::invalid("schema_name", "is missing"));
        }
        self.ask_peer(peer, Question::Tables { schema: schema.to_owned() }, |answer| match answer {
            Answer::Tables(found) => Some(found),
            _ => None,
        })
        .await
    }

    /// Everything that can be read like a table, `schema.name`.
    pub async fn peer_all_tables(&self, peer: &str) -> Result<Vec<String>, ControlError> {
        self.ask_peer(peer, Question::AllTables, |answer| match answer {
            Answer::AllTables(found) => Some(found),
            _ => None,
        })
        .await
    }

    /// The columns of a table.
    pub async fn peer_columns(
        &self,
        peer: &str,
        schema: &str,
        table: &str,
    ) -> Result<Vec<ColumnInfo>, ControlError> {
        for (path, text) in [("schema_name", schema), ("table_name", table)] {
            if text.is_empty() {
                return Err(ControlError::invalid(path, "is missing"));
            }
        }
        let question = Question::Columns { schema: schema.to_owned(), table: table.to_owned() };
        self.ask_peer(peer, question, |answer| match answer {
            Answer::Columns(found) => Some(found),
            _ => None,
        })
        .await
    }

    /// The places in the store's log that readers hold.
    pub async fn peer_slots(&self, peer: &str, filter: SlotFilter) -> Result<Vec<SlotInfo>, ControlError> {
        let mut slots = self
            .ask_peer(peer, Question::Slots, |answer| match answer {
                Answer::Slots(found) => Some(found),
                _ => None,
            })
            .await?;
        if filter == SlotFilter::OfMirrors {
            let mirrors = self.catalog().mirrors().await?.mirrors.into_iter();
            let own: Vec<_> = mirrors.map(|m| m.spec).filter(|spec| spec.source_peer == peer).collect();
            slots.retain(|slot| own.iter().any(|spec| spec.slot() == slot.slot_name));
        }
        Ok(slots)
    }

    /// What the service's own connections are doing there.
    pub async fn peer_activity(&self, peer: &str) -> Result<Vec<ActivityInfo>, ControlError> {
        self.ask_peer(peer, Question::Activity, |answer| match answer {
            Answer::Activity(found) => Some(found),
            _ => None,
        })
        .await
    }

    async fn ask_peer<T>(
        &self,
        name: &str,
        question: Question,
        pick: impl FnOnce(Answer) -> Option<T>,
    ) -> Result<T, ControlError> {
        if name.is_empty() {
            return Err(ControlError::invalid("peer_name", "is missing"));
        }
        let peer = self.catalog().peer(name).await?.ok_or_else(|| unknown_peer("peer_name", name))?;
        let answer = self.ask(&peer, "peer_name", &question).await?;
        pick(answer).ok_or_else(|| other_answer(&peer))
    }

    /// Asks a peer that the field at `path` names.
    pub(crate) async fn ask(
        &self,
        peer: &Peer,
        path: &str,
        question: &Question,
    ) -> Result<Answer, ControlError> {
        let answer = self.parts().inspector.ask(peer, question).await;
        answer.map_err(|failure| unanswered(peer, path, &failure))
    }
}

/// A store that could not be asked, by the field that names its peer; a table that is not there, by its own.
fn unanswered(peer: &Peer, path: &str, failure: &Failure) -> ControlError {
    if failure.code == "table_missing" {
        let problem = Problem::new("table_name", failure.message.clone(), failure.hint.clone());
        return ControlError::NotFound { message: failure.message.clone(), problems: vec![problem] };
    }
    let message = format!("peer {} cannot be asked: {} ({})", peer.name, failure.message, failure.code);
    let problem = Problem::new(path, message.clone(), failure.hint.clone());
    ControlError::FailedPrecondition { message, problems: vec![problem] }
}

pub(crate) fn other_answer(peer: &Peer) -> ControlError {
    ControlError::Internal(format!("the connector of peer {} answered another question", peer.name))
}
