//! A destination that is opened anew after each failure.
//!
//! What an instance holds after a failed call is unknown (an open insert, a broken session), and one that trapped is
//! gone. A run that rides trouble out calls its destination again all the same.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use tarn_model::Failure;

use crate::batch::Batch;
use crate::destination::{Ack, Destination};

/// The opening of an instance.
pub type Opening<D> = Pin<Box<dyn Future<Output = Result<D, Failure>> + Send>>;

/// See the module's documentation. Nothing is opened before the first call.
pub struct Reopening<D> {
    open: Box<dyn Fn() -> Opening<D> + Send>,
    instance: Option<D>,
}

impl<D: Destination> Reopening<D> {
    /// A destination that `open` opens.
    pub fn new(open: impl Fn() -> Opening<D> + Send + 'static) -> Self {
        Self { open: Box::new(open), instance: None }
    }

    async fn take(&mut self) -> Result<D, Failure> {
        match self.instance.take() {
            Some(instance) => Ok(instance),
            None => (self.open)().await,
        }
    }
}

impl<D: Destination> Destination for Reopening<D> {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let mut instance = self.take().await?;
        let ack = instance.write(batches).await?;
        self.instance = Some(instance);
        Ok(ack)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        let mut instance = self.take().await?;
        instance.flush().await?;
        self.instance = Some(instance);
        Ok(())
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        let mut instance = self.take().await?;
        instance.evolve(schema).await?;
        self.instance = Some(instance);
        Ok(())
    }
}

impl<D> fmt::Debug for Reopening<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reopening").field("open", &self.instance.is_some()).finish_non_exhaustive()
    }
}
