//! The capability `log`.

use crate::bindings::tarn::plugin::log::{Host, Level as GuestLevel};
use crate::log::Level;
use crate::state::State;

impl Host for State {
    fn write(&mut self, level: GuestLevel, message: String) -> wasmtime::Result<()> {
        self.meter.count_host_call()?;
        let level = match level {
            GuestLevel::Debug => Level::Debug,
            GuestLevel::Info => Level::Info,
            GuestLevel::Warn => Level::Warn,
            GuestLevel::Error => Level::Error,
        };
        self.log.write(level, &message);
        Ok(())
    }
}
