//! The capability `clickhouse`: the driver's calls, with the guest's clock stopped while they wait.

use wasmtime::component::Resource;

use crate::bindings::tarn::plugin::clickhouse::{Error, Host, HostInsert};
use crate::state::State;

/// What a guest's handle stands for.
pub struct Insert(tarn_clickhouse::Insert);

/// ClickHouse's code for too many queries at a time.
const TOO_MANY: u32 = 202;

impl Host for State {
    async fn query(&mut self, sql: String) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let Some(client) = self.clickhouse.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let answer = client.query(&sql).await;
        self.meter.leave_host();
        Ok(answer.map(Vec::from).map_err(|error| told(&error)))
    }
}

impl HostInsert for State {
    async fn begin(
        &mut self,
        sql: String,
        settings: Vec<(String, String)>,
    ) -> wasmtime::Result<Result<Resource<Insert>, Error>> {
        let Some(client) = &self.clickhouse else { return Ok(Err(unbound())) };
        self.meter.count_host_call()?;
        let insert = Insert(client.insert(&sql, &settings));
        Ok(self.handles.push(insert).map_err(|_| Error {
            code: TOO_MANY,
            message: "this instance has too many open inserts".to_owned(),
        }))
    }

    async fn append(
        &mut self,
        insert: Resource<Insert>,
        rows: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let answer = self.handles.get_mut(&insert)?.0.append(rows).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn end(&mut self, insert: Resource<Insert>) -> wasmtime::Result<()> {
        self.meter.count_host_call()?;
        self.handles.get_mut(&insert)?.0.end();
        Ok(())
    }

    async fn finish(&mut self, insert: Resource<Insert>) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let answer = self.handles.get_mut(&insert)?.0.finish().await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn drop(&mut self, insert: Resource<Insert>) -> wasmtime::Result<()> {
        self.handles.delete(insert)?;
        Ok(())
    }
}

fn unbound() -> Error {
    Error { code: 0, message: "this instance has no clickhouse peer".to_owned() }
}

fn told(error: &tarn_clickhouse::Error) -> Error {
    Error { code: error.code(), message: error.report() }
}
