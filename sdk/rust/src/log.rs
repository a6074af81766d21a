//! Capability `log`: lines in the mirror's log. Never log the values of rows.
//!
//! Natively, in a plugin's own tests, lines go nowhere, unless [`lines_of`] is asked for them.

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

#[cfg(not(target_family = "wasm"))]
pub use native::{lines_of, write};

#[cfg(not(target_family = "wasm"))]
mod native {
    use std::cell::RefCell;

    use super::Level;

    thread_local! {
        /// The lines, while somebody asks for them.
        static LINES: RefCell<Option<Vec<(Level, String)>>> = const { RefCell::new(None) };
    }

    /// Writes a line. The host cuts it after 8 KiB.
    pub fn write(level: Level, message: &str) {
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.push((level, message.to_owned()));
            }
        });
    }

    /// What `run` returns, and the lines that it writes on this thread.
    pub fn lines_of<T>(run: impl FnOnce() -> T) -> (T, Vec<(Level, String)>) {
        LINES.set(Some(Vec::new()));
        let returned = run();
        (returned, LINES.take().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_gets_the_lines_that_what_it_runs_writes() {
        warn("before");
        let (returned, lines) = lines_of(|| {
            info("one");
            warn("two");
            7
        });
        warn("after");
        assert_eq!(
            (returned, lines),
            (7, vec![(Level::Info, "one".to_owned()), (Level::Warn, "two".to_owned())])
        );
        assert_eq!(lines_of(|| ()).1, []);
    }
}
