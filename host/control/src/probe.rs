//! Real connections to peers, by the drivers.

use tarn_model::{Failure, Peer, PeerConfig};
use tokio::time::timeout;

use crate::config::PROBE_DEADLINE;
use crate::hooks::{PeerProbe, Pending};

/// Probes peers with the drivers that also serve the mirrors.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverProbe;

impl PeerProbe for DriverProbe {
    fn version<'a>(&'a self, peer: &'a Peer) -> Pending<'a, Result<String, Failure>> {
        Box::pin(async move {
            let answer = timeout(PROBE_DEADLINE, ask(&peer.config)).await;
            let answer = answer.unwrap_or_else(|_| {
                let message = format!("no answer within {} s", PROBE_DEADLINE.as_secs());
                Err(Failure::retry("peer_silent", message).with_hint("check host, port and firewall"))
            });
            answer.map_err(|mut failure| {
                failure.message = peer.config.strike_secrets(&failure.message);
                if failure.hint.is_empty() {
                    failure.hint =
                        "check that host and port are those of the store, and see its log".to_owned();
                }
                failure
            })
        })
    }
}

async fn ask(config: &PeerConfig) -> Result<String, Failure> {
    match config {
        PeerConfig::Postgres(config) => {
            let mut connection =
                tarn_postgres::Client::new(config.clone()).open().await.map_err(postgres_failure)?;
            connection.query("SELECT 1").await.map_err(postgres_failure)?;
            let version = connection.server_version().to_owned();
            connection.close().await;
            Ok(version)
        }
        PeerConfig::Clickhouse(config) => {
            let failed = |error: tarn_clickhouse::Error| error.to_failure();
            tarn_clickhouse::Client::new(config).map_err(failed)?.version().await.map_err(failed)
        }
    }
}

fn postgres_failure(error: tarn_postgres::Error) -> Failure {
    let message = format!("{} (SQLSTATE {})", error.chain(), error.sqlstate());
    Failure::retry("postgres_unreachable", message).with_hint(error.detail())
}
