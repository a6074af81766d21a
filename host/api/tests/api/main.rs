//! The API's promises, route by route, in process: a real router over a real SQLite catalog, with stores
//! and compiler played by the test.

mod authentication;
mod batches;
mod connections;
mod creation;
mod edits;
mod envelope;
mod fixture;
mod hostile;
mod instance;
mod limits;
mod logins;
mod logs;
mod mirrors;
mod origins;
mod peers;
mod scripts;
mod secrets;
mod states;
