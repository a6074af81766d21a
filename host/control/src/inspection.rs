//! Asking a store what is in it, through its connector.

use std::time::Duration;

use tarn_model::{Answer, Failure, Peer, Question};
use tokio::time::timeout;

use crate::config::{INSPECTION_DEADLINE, INSPECTION_MARGIN, ROW_COUNT_DEADLINE};
use crate::hooks::{Inspector, Pending};
use crate::plugins::Plugins;

/// Asks the connectors.
#[derive(Clone, Debug)]
pub struct ConnectorInspector {
    plugins: Plugins,
}

impl ConnectorInspector {
    /// An inspector over these connectors.
    pub fn new(plugins: Plugins) -> Self {
        Self { plugins }
    }

    async fn look(&self, peer: &Peer, question: &Question, within: Duration) -> Result<Answer, Failure> {
        let mut instance = self.plugins.inspection(peer).await?;
        let answer = instance.ask(&written(question, within)).await?;
        // The store's own words may be in it.
        let answer = peer.config.strike_secrets(&answer);
        serde_json::from_str(&answer).map_err(|error| {
            let message =
                format!("the connector of peer {} answered what cannot be read: {error}", peer.name);
            Failure::permanent("inspection_unreadable", message).with_hint("update the connector")
        })
    }
}

impl Inspector for ConnectorInspector {
    fn ask<'a>(&'a self, peer: &'a Peer, question: &'a Question) -> Pending<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let deadline = match question {
                Question::RowCounts { .. } => ROW_COUNT_DEADLINE,
                _ => INSPECTION_DEADLINE,
            };
            let within = deadline - INSPECTION_MARGIN;
            match timeout(deadline, self.look(peer, question, within)).await {
                Ok(answer) => answer.map_err(|mut failure| {
                    failure.message = peer.config.strike_secrets(&failure.message);
                    failure
                }),
                Err(_) => {
                    let message = format!("no answer within {} s", deadline.as_secs());
                    Err(Failure::retry("peer_silent", message).with_hint("check host, port and firewall"))
                }
            }
        })
    }
}

/// The question as the contract has it.
fn written(question: &Question, within: Duration) -> String {
    let mut value = serde_json::to_value(question).expect("a question is plain JSON");
    value["withinMs"] = u64::try_from(within.as_millis()).unwrap_or(u64::MAX).into();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_how_long_its_answer_may_take() {
        let question = Question::Tables { schema: "public".into() };
        assert_eq!(
            written(&question, Duration::from_secs(3)),
            r#"{"about":"tables","schema":"public","withinMs":3000}"#
        );
    }
}
