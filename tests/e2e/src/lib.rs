//! The whole of Tarn on real services: the binary, PostgreSQL and the ClickHouse engine, spoken to as
//! users speak to them. [`Scene`] sets the three up, [`queue`] the same with a Kafka broker; the tests are in `tests/`, a file per promise.

mod certificate;
mod comparison;
pub mod queue;
mod scene;
pub mod type_matrix;
mod verification;

pub use certificate::Certificate;
pub use scene::{PATIENCE, Scene};
