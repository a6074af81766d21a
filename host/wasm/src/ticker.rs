//! The clock that interrupts guests.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::{io, thread};

use wasmtime::Engine;

use crate::config::EPOCH_TICK;

/// Advances an engine's epoch at a steady pace for as long as it lives. Its thread waits for nothing but
/// time and is joined when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticker {
    /// Dropped first: the thread sees its end and returns.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(crate) fn start(engine: Engine) -> io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let thread = thread::Builder::new().name("tarn-epoch".to_owned()).spawn(move || {
            while stopped.recv_timeout(EPOCH_TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that interrupts guests panicked");
        }
    }
}
