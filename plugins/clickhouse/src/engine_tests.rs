//! The connector against the ClickHouse engine.

mod evolving;
mod model;
mod rows;
mod scene;
mod type_matrix;
mod unchanged;
mod validating;
mod writing;
