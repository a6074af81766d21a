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
        let mut answer = serde_json::from_str(&answer).map_err(|error| {
            let message =
                format!("the connector of peer {} answered what cannot be read: {error}", peer.name);
            Failure::permanent("inspection_unreadable", message).with_hint("update the connector")
        })?;
        strike_secrets(peer, &mut answer);
        Ok(answer)
    }
}

/// Strikes the peer's secrets from statements, which are a store's own words. Names are left alone: one that
/// is also a secret is not told by being a name.
fn strike_secrets(peer: &Peer, answer: &mut Answer) {
    if let Answer::Activity(sessions) = answer {
        for session in sessions {
            session.query = peer.config.strike_secrets(&session.query);
        }
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
    use tarn_model::{ActivityInfo, PeerConfig, PostgresConfig, Secret};

    use super::*;

    #[test]
    fn a_secret_is_struck_from_statements_and_a_name_that_is_one_too_stays() {
        let password = Secret::new("orders");
        let config = PostgresConfig { password, ..PostgresConfig::default() };
        let peer = Peer { name: "p".into(), config: PeerConfig::Postgres(config) };
        let query = "ALTER ROLE x PASSWORD 'orders'".into();
        let mut answer = Answer::Activity(vec![ActivityInfo { query, ..ActivityInfo::default() }]);
        strike_secrets(&peer, &mut answer);
        let Answer::Activity(sessions) = answer else { panic!("the kind stays") };
        assert_eq!(sessions[0].query, "ALTER ROLE x PASSWORD '********'");
        let mut names = Answer::Schemas(vec!["orders".into()]);
        strike_secrets(&peer, &mut names);
        assert_eq!(names, Answer::Schemas(vec!["orders".into()]));
    }

    #[test]
    fn a_question_says_how_long_its_answer_may_take() {
        let question = Question::Tables { schema: "public".into() };
        assert_eq!(
            written(&question, Duration::from_secs(3)),
            r#"{"about":"tables","schema":"public","withinMs":3000}"#
        );
    }
}
