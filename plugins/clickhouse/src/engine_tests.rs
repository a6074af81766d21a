//! The connector against the ClickHouse engine.

mod comparing;
mod counting;
mod equal_keys;
mod evolving;
mod existing_tables;
mod filling;
mod joining;
mod model;
mod nested;
mod refusing;
mod replacing;
mod rows;
mod scene;
mod type_matrix;
mod unchanged;
mod validating;
mod writing;
