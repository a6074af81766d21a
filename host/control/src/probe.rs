//! Real connections to peers, by the drivers.

use tarn_model::{Failure, Peer, PeerConfig};
use tarn_object_store::Bucket;
use tokio::time::timeout;

use crate::config::PROBE_DEADLINE;
use crate::hooks::{PeerProbe, Pending};
use crate::stage::{bucket_of, random_name};

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

    fn staging<'a>(&'a self, peer: &'a Peer) -> Pending<'a, Result<(), Failure>> {
        Box::pin(async move {
            let Some(settings) = bucket_of(&peer.config) else { return Ok(()) };
            let bucket = Bucket::new(&settings).map_err(|error| error.to_failure())?;
            match timeout(PROBE_DEADLINE, bucket.probe(PROBE_FOLDER, &random_name())).await {
                Ok(probed) => probed.map_err(|error| error.to_failure()),
                Err(_) => {
                    let message = format!("no answer within {} s", PROBE_DEADLINE.as_secs());
                    Err(Failure::retry("bucket_unreachable", message)
                        .with_hint("check endpoint, region and firewall, and that the service runs"))
                }
            }
        })
    }
}

/// Where objects are put to see whether they can be, below the prefix.
const PROBE_FOLDER: &str = "tarn/probes";

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
        PeerConfig::Kafka(config) => {
            let failed = |error: tarn_kafka::Error| error.to_failure();
            let cluster = tarn_kafka::Client::new(config).map_err(failed)?.cluster().await.map_err(failed)?;
            Ok(cluster.version)
        }
    }
}

fn postgres_failure(error: tarn_postgres::Error) -> Failure {
    let message = format!("{} (SQLSTATE {})", error.chain(), error.sqlstate());
    Failure::retry("postgres_unreachable", message).with_hint(error.detail())
}
