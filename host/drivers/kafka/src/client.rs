//! A peer's Kafka cluster: what is there, and topics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic as NativeTopic, TopicReplication};
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::metadata::Metadata;
use rdkafka::producer::{BaseProducer, Producer as _};
use rdkafka::types::RDKafkaErrorCode as Code;
use tarn_model::{KafkaConfig, PeerConfig};

use crate::closing::Closing;
use crate::config::{ADMIN_DEADLINE, EVENTS_PAUSE, FIRST_WAIT, METADATA_DEADLINE};
use crate::context::Context;
use crate::error::{Error, Trouble};
use crate::partitioner::Partitioner;
use crate::settings;

/// A Kafka cluster as one user. Opens nothing by itself; cloning shares the settings.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: KafkaConfig,
    pub(crate) partitioner: Partitioner,
    pub(crate) closing: Closing,
}

/// What a cluster says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// For people: how many brokers there are.
    pub version: String,
}

/// A topic that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: u32,
}

/// A topic to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions it is to have; -1 leaves it to the brokers.
    pub partitions: i32,
    /// On how many brokers each is to be; -1 leaves it to the brokers.
    pub replication: i32,
}

impl Client {
    /// A client for the peer. Opens nothing.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub fn new(config: &KafkaConfig) -> Result<Self, Error> {
        let unknown = || Error::settings(format!("partitioner: there is no {}", config.partitioner));
        let partitioner = Partitioner::named(&config.partitioner).ok_or_else(unknown)?;
        settings::base(config)?;
        Ok(Self(Arc::new(Inner { config: config.clone(), partitioner, closing: Closing::default() })))
    }

    /// Connects, and asks what the cluster is.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn cluster(&self) -> Result<Cluster, Error> {
        let client = self.clone();
        blocking(move || {
            let brokers = client.metadata("asking for brokers")?.brokers().len();
            let plural = if brokers == 1 { "" } else { "s" };
            Ok(Cluster { version: format!("Kafka with {brokers} broker{plural}") })
        })
        .await
    }

    /// Those of the topics that are there; all of them where no name is given.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn topics(&self, names: Vec<String>) -> Result<Vec<Topic>, Error> {
        let client = self.clone();
        blocking(move || {
            let metadata = client.metadata("asking for topics")?;
            let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
            let topics =
                metadata.topics().iter().filter(|topic| topic.error().is_none() && wanted(topic.name()));
            Ok(topics
                .map(|topic| Topic {
                    name: topic.name().to_owned(),
                    partitions: u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX),
                })
                .collect())
        })
        .await
    }

    /// Makes topics; one that is there already stays as it is.
    ///
    /// # Errors
    /// Any [`Error`], with the topic that could not be made.
    pub async fn create_topics(&self, topics: Vec<NewTopic>) -> Result<(), Error> {
        let client = self.clone();
        let admin = Arc::new(blocking(move || client.admin()).await?);
        let native: Vec<_> = topics
            .iter()
            .map(|topic| {
                let replication = TopicReplication::Fixed(topic.replication);
                NativeTopic::new(&topic.name, topic.partitions, replication)
            })
            .collect();
        let options =
            AdminOptions::new().request_timeout(Some(ADMIN_DEADLINE)).operation_timeout(Some(ADMIN_DEADLINE));
        let answer = tokio::time::timeout(
            ADMIN_DEADLINE + Duration::from_secs(2),
            admin.create_topics(&native, &options),
        );
        let answer = answer.await.unwrap_or(Err(rdkafka::error::KafkaError::Canceled));
        // What it is dropped on waits for its thread.
        blocking(move || {
            drop(admin);
            Ok(())
        })
        .await?;
        let made = answer.map_err(|error| Error::of("making topics", &error))?;
        for (topic, made) in topics.iter().zip(made) {
            match made {
                Ok(_) | Err((_, Code::TopicAlreadyExists)) => {}
                Err((_, code)) => {
                    let doing = format!("the topic {} could not be made", topic.name);
                    return Err(Error::of_code(&doing, code).of_topic(&topic.name));
                }
            }
        }
        Ok(())
    }

    /// What is there. All topics are asked for: brokers make one that is asked for by its name.
    fn metadata(&self, doing: &str) -> Result<Metadata, Error> {
        let config = settings::base(&self.0.config)?;
        let native: BaseProducer<Context> = BaseProducer::from_config_and_context(&config, self.context())
            .map_err(|error| self.unusable(&error))?;
        let (end, mut wait) = (Instant::now() + METADATA_DEADLINE, FIRST_WAIT);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let error = match native.client().fetch_metadata(None, wait.min(left)) {
                Ok(metadata) => return Ok(metadata),
                Err(error) => error,
            };
            native.poll(EVENTS_PAUSE);
            let error = Error::of(doing, &error).because(native.context().heard());
            // Who is not let in need not wait for what would be answered.
            if error.trouble != Trouble::Unavailable || left <= wait {
                return Err(error);
            }
            wait *= 2;
        }
    }

    fn admin(&self) -> Result<AdminClient<Context>, Error> {
        let config: ClientConfig = settings::base(&self.0.config)?;
        AdminClient::from_config_and_context(&config, self.context()).map_err(|error| self.unusable(&error))
    }

    pub(crate) fn context(&self) -> Context {
        Context::new(PeerConfig::Kafka(self.0.config.clone()))
    }

    /// The error of settings that the library does not take: certificates that cannot be read, most of all.
    pub(crate) fn unusable(&self, error: &rdkafka::error::KafkaError) -> Error {
        let peer = PeerConfig::Kafka(self.0.config.clone());
        Error::settings(format!("the settings cannot be used: {}", peer.strike_secrets(&error.to_string())))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("servers", &self.0.config.servers).finish_non_exhaustive()
    }
}

/// What waits inside the library.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => match stopped.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::new(crate::Trouble::Unavailable, "the process is stopping")),
        },
    }
}
