//! The capability `clickhouse`: the driver's calls, with the guest's clock stopped while they wait.

use crate::bindings::tarn::plugin::clickhouse::{Error, Host};
use crate::state::State;

impl Host for State {
    async fn query(&mut self, sql: String) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let Some(client) = self.clickhouse.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let answer = client.query(&sql).await;
        self.meter.leave_host();
        Ok(answer.map(Vec::from).map_err(|error| told(&error)))
    }

    async fn insert(
        &mut self,
        sql: String,
        settings: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let Some(client) = self.clickhouse.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let answer = client.insert(&sql, &settings, body).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }
}

fn unbound() -> Error {
    Error { code: 0, message: "this instance has no clickhouse peer".to_owned() }
}

fn told(error: &tarn_clickhouse::Error) -> Error {
    Error { code: error.code(), message: error.report() }
}
