//! The API's promises, route by route, in process: a real router over a real SQLite catalog, with stores
//! and compiler played by the test.

mod authentication;
mod batches;
mod bodies;
mod conformance;
mod connections;
mod contract;
mod counts;
mod creation;
mod dead_letters;
mod described;
mod document;
mod edits;
mod envelope;
mod fixture;
mod instance;
mod limits;
mod logins;
mod logs;
mod mirrors;
mod origins;
mod peers;
mod rules;
mod schema_changes;
mod script_trials;
mod script_versions;
mod scripts;
mod secrets;
mod shop;
mod states;
mod stores;
mod story;
mod tags;
mod verify;
