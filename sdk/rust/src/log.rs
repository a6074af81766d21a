//! Capability `log`: lines in the mirror's log. Never log the values of rows.
//!
//! Natively, in a plugin's own tests, lines go nowhere.

pub use crate::bindings::imports::tarn::plugin::log::Level;

/// Writes a line that helps who looks for a fault.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// Writes a line that says what happens.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Writes a line about what a person should look at.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// Writes a line about what failed.
pub fn error(message: &str) {
    write(Level::Error, message);
}

/// Writes a line. The host cuts it after 8 KiB.
#[cfg(target_family = "wasm")]
pub fn write(level: Level, message: &str) {
    crate::bindings::imports::tarn::plugin::log::write(level, message);
}

/// Writes a line. The host cuts it after 8 KiB.
#[cfg(not(target_family = "wasm"))]
pub fn write(level: Level, message: &str) {
    let _ = (level, message);
}
