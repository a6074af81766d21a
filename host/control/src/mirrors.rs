//! Mirrors: creating, changing and looking at them. Running them is the supervisor's part.

mod approval;
mod change;
mod changed_tables;
mod create;
mod graph;
mod row_counts;
mod rules;
mod tags;
mod view;

pub use approval::Approval;
pub use change::{ChangeOutcome, StateChange};
pub use create::MirrorCreation;
pub use row_counts::{SideRows, TableRows};
pub use view::{MirrorItem, MirrorStatus, StatusDetails, StatusQuery, TotalRows};
