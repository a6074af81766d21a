//! Mirrors: creating, changing and looking at them. Running them is the supervisor's part.

mod change;
mod create;
mod rules;
mod view;

pub use change::{ChangeOutcome, StateChange};
pub use create::MirrorCreation;
pub use view::{MirrorItem, MirrorStatus, StatusDetails, StatusQuery, TotalRows};
