//! The capability `kafka`: the driver's calls, with the guest's clock stopped while they wait.

use tarn_kafka::ProducerSettings;
use wasmtime::component::Resource;

use crate::bindings::tarn::plugin::kafka::{Cluster, Error, Host, HostProducer, NewTopic, Topic, Trouble};
use crate::state::State;

/// What a guest's handle stands for.
pub struct Producer(tarn_kafka::Producer);

impl Host for State {
    async fn describe(&mut self) -> wasmtime::Result<Result<Cluster, Error>> {
        let Some(client) = self.kafka.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let answer = client.cluster().await;
        self.meter.leave_host();
        Ok(answer.map(|cluster| Cluster { version: cluster.version }).map_err(told))
    }

    async fn topics(&mut self, names: Vec<String>) -> wasmtime::Result<Result<Vec<Topic>, Error>> {
        let Some(client) = self.kafka.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let answer = client.topics(names).await;
        self.meter.leave_host();
        let topic = |topic: tarn_kafka::Topic| Topic { name: topic.name, partitions: topic.partitions };
        Ok(answer.map(|topics| topics.into_iter().map(topic).collect()).map_err(told))
    }

    async fn create_topics(&mut self, topics: Vec<NewTopic>) -> wasmtime::Result<Result<(), Error>> {
        let Some(client) = self.kafka.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let topic = |topic: NewTopic| tarn_kafka::NewTopic {
            name: topic.name,
            partitions: topic.partitions,
            replication: topic.replication,
        };
        let answer = client.create_topics(topics.into_iter().map(topic).collect()).await;
        self.meter.leave_host();
        Ok(answer.map_err(told))
    }
}

impl HostProducer for State {
    async fn open(
        &mut self,
        id: String,
        positions: String,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<Resource<Producer>, Error>> {
        let Some(client) = self.kafka.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let answer =
            tarn_kafka::Producer::open(&client, ProducerSettings { id, positions, timeout_ms }).await;
        self.meter.leave_host();
        Ok(match answer {
            Ok(producer) => self.handles.push(Producer(producer)).map_err(|_| Error {
                trouble: Trouble::Unavailable,
                ..refused("this instance has too many open producers")
            }),
            Err(error) => Err(told(error)),
        })
    }

    async fn position(&mut self, producer: Resource<Producer>) -> wasmtime::Result<Vec<u64>> {
        self.meter.count_host_call()?;
        Ok(self.handles.get(&producer)?.0.position().to_vec())
    }

    async fn send(
        &mut self,
        producer: Resource<Producer>,
        messages: Vec<u8>,
    ) -> wasmtime::Result<Result<u64, Error>> {
        self.meter.enter_host()?;
        let answer = self.handles.get(&producer)?.0.send(messages).await;
        self.meter.leave_host();
        Ok(answer.map_err(told))
    }

    async fn commit(
        &mut self,
        producer: Resource<Producer>,
        position: Vec<u64>,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let answer = self.handles.get(&producer)?.0.commit(position).await;
        self.meter.leave_host();
        Ok(answer.map_err(told))
    }

    async fn drop(&mut self, producer: Resource<Producer>) -> wasmtime::Result<()> {
        let Producer(producer) = self.handles.delete(producer)?;
        self.meter.enter_host()?;
        producer.close().await;
        self.meter.leave_host();
        Ok(())
    }
}

fn unbound() -> Error {
    refused("this instance has no kafka peer")
}

fn refused(message: &str) -> Error {
    Error { trouble: Trouble::Refused, code: 0, message: message.to_owned(), topic: String::new(), at: None }
}

fn told(error: tarn_kafka::Error) -> Error {
    let trouble = match error.trouble {
        tarn_kafka::Trouble::Unavailable => Trouble::Unavailable,
        tarn_kafka::Trouble::Unfit => Trouble::Unfit,
        tarn_kafka::Trouble::UnknownTopic => Trouble::UnknownTopic,
        tarn_kafka::Trouble::Unauthorized => Trouble::Unauthorized,
        tarn_kafka::Trouble::Fenced => Trouble::Fenced,
        tarn_kafka::Trouble::Refused => Trouble::Refused,
    };
    Error { trouble, code: error.code, message: error.message, topic: error.topic, at: error.at }
}
