//! The capability `postgres`: the driver's connections as resources, with the guest's clock stopped while
//! they wait.

use std::time::Duration;

use tarn_postgres::Connection;
use wasmtime::component::Resource;

use crate::bindings::tarn::plugin::postgres::{Error, Host, HostSession, Row};
use crate::state::State;

/// What a guest's handle stands for.
pub struct Session(Connection);

impl Host for State {}

impl HostSession for State {
    async fn open(&mut self) -> wasmtime::Result<Result<Resource<Session>, Error>> {
        let Some(client) = self.postgres.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let opened = client.open().await;
        self.meter.leave_host();
        self.keep(opened)
    }

    async fn open_replication(&mut self) -> wasmtime::Result<Result<Resource<Session>, Error>> {
        let Some(client) = self.postgres.clone() else { return Ok(Err(unbound())) };
        self.meter.enter_host()?;
        let opened = client.open_replication().await;
        self.meter.leave_host();
        self.keep(opened)
    }

    async fn query(
        &mut self,
        session: Resource<Session>,
        sql: String,
    ) -> wasmtime::Result<Result<Vec<Row>, Error>> {
        self.meter.enter_host()?;
        let answer = self.connection(&session)?.query(&sql).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn copy_out(
        &mut self,
        session: Resource<Session>,
        sql: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let answer = self.connection(&session)?.copy_out(&sql).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn copy_read(
        &mut self,
        session: Resource<Session>,
        bytes_max: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        self.meter.enter_host()?;
        let answer = self.connection(&session)?.copy_read(bytes_max as usize).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn stream(
        &mut self,
        session: Resource<Session>,
        command: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let answer = self.connection(&session)?.stream(&command).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn stream_read(
        &mut self,
        session: Resource<Session>,
        bytes_max: u32,
        wait_ms: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let wait = Duration::from_millis(wait_ms.into());
        self.meter.enter_host()?;
        let answer = self.connection(&session)?.stream_read(bytes_max as usize, wait).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn stream_confirm(
        &mut self,
        session: Resource<Session>,
        written: u64,
        flushed: u64,
        applied: u64,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let answer = self.connection(&session)?.stream_confirm(written, flushed, applied).await;
        self.meter.leave_host();
        Ok(answer.map_err(|error| told(&error)))
    }

    async fn drop(&mut self, session: Resource<Session>) -> wasmtime::Result<()> {
        self.handles.delete(session)?;
        Ok(())
    }
}

impl State {
    fn connection(&mut self, session: &Resource<Session>) -> wasmtime::Result<&mut Connection> {
        Ok(&mut self.handles.get_mut(session)?.0)
    }

    /// A handle for what was opened. One session too many is an error like the server's own.
    fn keep(
        &mut self,
        opened: Result<Connection, tarn_postgres::Error>,
    ) -> wasmtime::Result<Result<Resource<Session>, Error>> {
        let connection = match opened {
            Ok(connection) => connection,
            Err(error) => return Ok(Err(told(&error))),
        };
        Ok(self.handles.push(Session(connection)).map_err(|_| Error {
            sqlstate: "53300".to_owned(),
            message: "this instance has too many open sessions".to_owned(),
            detail: String::new(),
        }))
    }
}

fn unbound() -> Error {
    Error {
        sqlstate: "08000".to_owned(),
        message: "this instance has no postgres peer".to_owned(),
        detail: String::new(),
    }
}

fn told(error: &tarn_postgres::Error) -> Error {
    Error { sqlstate: error.sqlstate().to_owned(), message: error.chain(), detail: error.detail() }
}
