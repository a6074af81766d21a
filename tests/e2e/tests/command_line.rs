//! `tarn` as a person and a script use it: no other client is needed for anything.

#[path = "command_line/completions.rs"]
mod completions;
#[path = "command_line/dead_letters.rs"]
mod dead_letters;
#[path = "command_line/errors.rs"]
mod errors;
#[path = "command_line/following.rs"]
mod following;
#[path = "command_line/https.rs"]
mod https;
#[path = "command_line/main_job.rs"]
mod main_job;
#[path = "command_line/prompt.rs"]
mod prompt;
#[path = "command_line/schema_changes.rs"]
mod schema_changes;
#[path = "command_line/script_trials.rs"]
mod script_trials;
#[path = "command_line/script_versions.rs"]
mod script_versions;
#[path = "command_line/setup.rs"]
mod setup;
#[path = "command_line/shell.rs"]
mod shell;
