//! The commands for a server, and their life: options in, one report or error out.

use clap::Subcommand;

use crate::access::AccessArgs;
use crate::apply::ApplyArgs;
use crate::error::Error;
use crate::export::ExportArgs;
use crate::http::Client;
use crate::instance;
use crate::logs::LogsArgs;
use crate::mirror::MirrorCommand;
use crate::output::{Reader, remark};
use crate::peer::PeerCommand;
use crate::script::{ScriptBuilder, ScriptCommand};

/// What a server can be asked.
///
/// Exit codes: 0 done; 1 the server refused, or what was asked for failed; 2 the command line or a file
/// cannot be used, nothing was sent; 3 no server answers; 4 it does not take the user name and password.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "each part is named by its type; a text would be shown as help")]
pub enum ClientCommand {
    /// Data stores: create, list, describe, validate, drop.
    Peer {
        #[command(flatten)]
        access: AccessArgs,
        #[command(subcommand)]
        command: PeerCommand,
    },
    /// Replication from one peer into another: create, watch, pause, resume, edit, resync, drop.
    Mirror {
        #[command(flatten)]
        access: AccessArgs,
        #[command(subcommand)]
        command: MirrorCommand,
    },
    /// Transforms of records: put, list, show, test, dev, build, versions, diff, pin, rollback, component, delete.
    Script {
        #[command(flatten)]
        access: AccessArgs,
        #[command(subcommand)]
        command: ScriptCommand,
    },
    /// What happened to a mirror, or to all of them.
    Logs {
        #[command(flatten)]
        access: AccessArgs,
        #[command(flatten)]
        logs: LogsArgs,
    },
    /// Brings a server to what a file says: peers, scripts and mirrors as code. Shows its plan first.
    Apply {
        #[command(flatten)]
        access: AccessArgs,
        #[command(flatten)]
        apply: ApplyArgs,
    },
    /// Writes a server's peers, scripts and mirrors as a file for `tarn apply`, secrets as references.
    Export {
        #[command(flatten)]
        access: AccessArgs,
        #[command(flatten)]
        export: ExportArgs,
    },
    /// Shows what a server is: version, edition, what it allows, connectors.
    Info {
        #[command(flatten)]
        access: AccessArgs,
    },
}

/// Carries a command out and returns the process' exit code. What needs a compiler of scripts asks `builder`.
pub async fn run(command: ClientCommand, builder: &dyn ScriptBuilder) -> u8 {
    let reader = Reader::new(command.access().json);
    let error = match carry_out(command, reader, builder).await {
        Ok(()) => return 0,
        Err(error) => error,
    };
    match reader {
        // Whoever read the output has seen enough.
        _ if error.is_closed_pipe() => return 0,
        Reader::People => remark(&format!("tarn: {}", error.for_people())),
        Reader::Programs => remark(&error.for_programs().to_string()),
    }
    error.exit_code()
}

impl ClientCommand {
    fn access(&self) -> &AccessArgs {
        match self {
            Self::Peer { access, .. }
            | Self::Mirror { access, .. }
            | Self::Script { access, .. }
            | Self::Logs { access, .. }
            | Self::Apply { access, .. }
            | Self::Export { access, .. }
            | Self::Info { access } => access,
        }
    }
}

async fn carry_out(command: ClientCommand, reader: Reader, builder: &dyn ScriptBuilder) -> Result<(), Error> {
    let client = Client::new(command.access().open()?);
    let report = match command {
        ClientCommand::Peer { command, .. } => command.run(&client).await,
        ClientCommand::Mirror { command, .. } => command.run(&client, reader).await,
        ClientCommand::Script { command, .. } => command.run(&client, reader, builder).await,
        ClientCommand::Logs { logs, .. } => logs.run(&client, reader).await,
        ClientCommand::Apply { apply, .. } => apply.run(&client, reader).await,
        ClientCommand::Export { export, .. } => export.run(&client).await,
        ClientCommand::Info { .. } => instance::show(&client).await,
    };
    report?.print(reader)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<clap::ArgMatches, clap::Error> {
        let command = ClientCommand::augment_subcommands(clap::Command::new("tarn"));
        command.try_get_matches_from(line.split(' '))
    }

    #[test]
    fn the_commands_are_well_formed() {
        ClientCommand::augment_subcommands(clap::Command::new("tarn")).debug_assert();
    }

    #[test]
    fn a_command_line_is_taken_or_refused_before_anything_is_sent() {
        for good in [
            "tarn peer create postgres shop --host h --user u --database d --password-env PW --update",
            "tarn peer create clickhouse ch --host h --no-password --disable-tls",
            "tarn peer create -f peer.yaml --update --json",
            "tarn peer validate shop",
            "tarn peer validate -f -",
            "tarn mirror create orders --source a --destination b --table public.t:t --exclude public.t:x",
            "tarn mirror create -f mirror.json --watch",
            "tarn mirror watch orders --until running --timeout 5 --address https://tarn:1",
            "tarn mirror edit orders --add-table public.u",
            "tarn mirror edit orders --exclude public.t:secret --column-type public.t:price=String",
            "tarn mirror refuse orders --digest 4929f07a1d6d1af1",
            "tarn mirror create orders --source a --destination b --table a.b --script a,b@2 --record-errors skip",
            "tarn mirror edit orders --record-errors dead-letter --record-error-limit 50",
            "tarn mirror dead-letters list orders --waiting -n 5",
            "tarn mirror dead-letters show orders 7",
            "tarn mirror dead-letters export orders",
            "tarn mirror dead-letters replay orders 7 8",
            "tarn mirror dead-letters discard orders --all",
            "tarn script put mask.lua",
            "tarn script test mask.lua --records records.json",
            "tarn script test mask.lua --mirror orders --table public.orders --limit 5 --json",
            "tarn script dev mask.lua",
            "tarn script build mask.lua -o mask.wasm",
            "tarn script component mask@2 -o mask.wasm",
            "tarn script diff mask 1 2",
            "tarn script pin orders mask@2",
            "tarn script rollback mask",
            "tarn logs --follow --level warn",
            "tarn logs orders -n 5",
            "tarn apply -f setup.yaml --dry-run --prune",
            "tarn --help",
        ] {
            let help = |error: &clap::Error| error.kind() == clap::error::ErrorKind::DisplayHelp;
            if let Err(error) = parsed(good) {
                assert!(help(&error), "{good}: {error}");
            }
        }
        for bad in [
            "tarn peer create",
            "tarn peer create postgres shop --host h",
            "tarn peer create postgres shop --host h --user u --database d --password secret",
            "tarn peer validate",
            "tarn peer validate shop -f x",
            "tarn mirror create orders",
            "tarn mirror create orders -f x",
            "tarn mirror create -f x --table a.b",
            "tarn mirror create orders --source a --destination b --table a.b --record-errors ignore",
            "tarn mirror dead-letters discard orders",
            "tarn mirror dead-letters replay orders 7 --all",
            "tarn mirror watch orders --until running --interval 0",
            "tarn logs --level loud",
            "tarn script test mask.lua --mirror orders",
            "tarn script test mask.lua --records r.json --mirror orders --table public.orders",
            "tarn script build mask.lua",
            "tarn script diff mask 1",
            "tarn apply",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
