//! The catalog's promises, each on both databases.

mod batches;
mod checkpoints;
mod crash;
mod dead_letters;
mod files;
mod fixture;
mod history;
mod ledger;
mod logs;
mod mirrors;
mod peers;
mod rotation;
mod schema_changes;
mod scripts;
mod tags;
mod verifications;
