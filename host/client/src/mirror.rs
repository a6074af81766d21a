//! `tarn mirror …`

mod change;
mod dead_letters;
mod flags;
mod schema_changes;
mod verify;
mod view;
pub(crate) mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use tarn_model::{Enumerated as _, MirrorSpec, MirrorState};

pub(crate) use self::change::{Edited, edit};
use self::dead_letters::DeadLettersCommand;
use self::flags::{EditFlags, SpecFlags};
use self::schema_changes::{DecideArgs, Decision, validated};
use self::verify::VerifyArgs;
use self::watch::WatchArgs;
use crate::answer::MirrorValid;
use crate::calls::{Within, mirror_body, state_name};
use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report};
use crate::peer::variable;
use crate::setup::load_mirror;

/// What can be done with mirrors.
#[derive(Debug, Subcommand)]
pub enum MirrorCommand {
    /// Creates a mirror, after every check of both sides.
    Create(Box<Create>),
    /// Runs the checks of a creation, stores nothing, and shows what would be done to the destination's tables.
    Validate(Box<Definition>),
    /// Lists all mirrors with their states.
    List,
    /// Shows a mirror: configuration, snapshot, counts, last batches.
    #[command(visible_alias = "status")]
    Describe {
        /// The mirror.
        name: String,
    },
    /// Follows a mirror: progress of its snapshot, rate and lag of its stream, batches, what happens to it.
    Watch(WatchArgs),
    /// Compares both sides of a mirror row by row while it runs: exit code 0 if everything is equal, else 1.
    Verify(VerifyArgs),
    /// Shows what the source's columns ask for at the destination now, and the changes that the mirror waits at.
    Plan {
        /// The mirror.
        name: String,
    },
    /// Approves changes of columns that a mirror with --schema-changes ask waits at; it goes on.
    Approve(DecideArgs),
    /// Refuses them: new columns are left out of the mirror, renamed ones keep their names; it goes on.
    Refuse(DecideArgs),
    /// Brings a mirror to rest.
    Pause(Change),
    /// Lets a paused or failed mirror go on where it was.
    Resume(Change),
    /// Changes a mirror's tables and numbers: pauses it, edits it, lets it go on.
    Edit(Box<EditArgs>),
    /// Loads everything again, in place of the destination's tables.
    Resync(Change),
    /// Drops a mirror with what it made at the source; the destination keeps its tables.
    Drop(DropArgs),
    /// Records that the mirror kept aside: list, show, export, replay, discard.
    DeadLetters {
        /// What to do with them.
        #[command(subcommand)]
        command: DeadLettersCommand,
    },
}

/// A mirror from flags, or from a file.
#[derive(Debug, Args)]
pub struct Definition {
    /// YAML or JSON file of one mirror, with the fields of the API's connection_configs; - reads standard
    /// input.
    #[arg(short, long)]
    file: Option<PathBuf>,
    #[command(flatten)]
    flags: SpecFlags,
}

/// A mirror to create.
#[derive(Debug, Args)]
pub struct Create {
    #[command(flatten)]
    definition: Definition,
    /// Be content with a mirror of that name that exists.
    #[arg(long)]
    attach: bool,
    /// Leave out the look at both stores.
    #[arg(long)]
    no_validation: bool,
    /// Follow it afterwards, until it streams.
    #[arg(long)]
    watch: bool,
}

/// A change of state.
#[derive(Debug, Args)]
pub struct Change {
    /// The mirror.
    name: String,
    /// Return when it is done, not when it is recorded.
    #[arg(long)]
    wait: bool,
}

/// An edit.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// The mirror.
    name: String,
    #[command(flatten)]
    flags: EditFlags,
}

/// A drop.
#[derive(Debug, Args)]
pub struct DropArgs {
    #[command(flatten)]
    change: Change,
    /// Drop its batches and counts too.
    #[arg(long)]
    drop_stats: bool,
    /// Leave the destination as it is.
    #[arg(long)]
    skip_destination: bool,
}

impl MirrorCommand {
    pub(crate) async fn run(self, client: &Client, reader: Reader) -> Result<Report, Error> {
        use MirrorState::{Paused, Resync, Running, Terminated};
        match self {
            Self::Create(create) => create.run(client, reader).await,
            Self::Validate(definition) => {
                let spec = definition.spec()?;
                let answer = client.post("mirrors/cdc/validate", &mirror_body(&spec, &json!({}))).await?;
                let MirrorValid { plans } = client.read(&answer)?;
                Ok(validated(&spec.name, &plans, answer))
            }
            Self::List => view::list(client).await,
            Self::Describe { name } => view::describe(client, &name).await,
            Self::Watch(watch) => watch.run(client, reader).await,
            Self::Verify(verify) => verify.run(client, reader).await,
            Self::Plan { name } => schema_changes::plan(client, &name).await,
            Self::Approve(args) => args.run(client, Decision::Approve).await,
            Self::Refuse(args) => args.run(client, Decision::Refuse).await,
            Self::Pause(change) => change.run(client, Paused, "pause", Within::Deadline).await,
            Self::Resume(change) => change.run(client, Running, "resume", Within::AnyTime).await,
            Self::Edit(args) => args.run(client).await,
            Self::DeadLetters { command } => command.run(client).await,
            Self::Resync(change) => change.run(client, Resync, "resync", Within::AnyTime).await,
            Self::Drop(DropArgs { change, drop_stats, skip_destination }) => {
                let further =
                    json!({"drop_mirror_stats": drop_stats, "skip_destination_drop": skip_destination});
                let answer = client.request_state(&change.name, Terminated, &further).await?;
                if change.wait {
                    client
                        .wait_for(&change.name, "drop", Within::Deadline, |state| state == Terminated)
                        .await?;
                }
                Ok(Report::new(change.sentence("drop"), answer))
            }
        }
    }
}

impl Definition {
    fn spec(self) -> Result<MirrorSpec, Error> {
        match self.file {
            Some(_) if self.flags.has_numbers() => {
                Err(Error::Usage("give the numbers in the file, not beside it".into()))
            }
            Some(file) => load_mirror(&file, &variable),
            None => self.flags.spec(),
        }
    }
}

impl Create {
    async fn run(self, client: &Client, reader: Reader) -> Result<Report, Error> {
        let spec = self.definition.spec()?;
        let options = json!({"attach_to_existing": self.attach, "skip_validation": self.no_validation});
        let answer = client.create_mirror(&spec, &options).await?;
        let created = Report::new(format!("created mirror {}", spec.name), answer);
        if self.watch {
            created.print(reader)?;
            return WatchArgs::until_running(spec.name).run(client, reader).await;
        }
        Ok(created)
    }
}

impl Change {
    async fn run(
        self,
        client: &Client,
        requested: MirrorState,
        verb: &str,
        within: Within,
    ) -> Result<Report, Error> {
        use MirrorState::{Completed, Paused, Running};
        let answer = client.request_state(&self.name, requested, &json!({})).await?;
        if self.wait {
            let is_done = |state| match requested {
                Paused => state == Paused,
                _ => matches!(state, Running | Completed),
            };
            client.wait_for(&self.name, verb, within, is_done).await?;
        }
        Ok(Report::new(self.sentence(verb), answer))
    }

    fn sentence(&self, verb: &str) -> String {
        let Self { name, wait } = self;
        if *wait {
            let done = match verb {
                "pause" => "is paused",
                "resume" => "goes on",
                "resync" => "is loaded again",
                _ => "is dropped",
            };
            format!("mirror {name} {done}")
        } else {
            format!("{verb} of mirror {name} is requested")
        }
    }
}

impl EditArgs {
    async fn run(self, client: &Client) -> Result<Report, Error> {
        let Self { name, flags } = self;
        flags.check()?;
        let wanted = flags.edit(&client.mirror_status(&name).await?.cdc_status.config)?;
        let Edited { state, was_paused } = edit(client, &name, &wanted).await?;
        let rest = if was_paused { "; it was paused and is paused again" } else { "" };
        let sentence = format!("edited mirror {name}, which is {}{rest}", state_name(state));
        Ok(Report::new(sentence, json!({"flowJobName": name, "currentFlowState": state.name()})))
    }
}
