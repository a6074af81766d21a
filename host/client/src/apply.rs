//! `tarn apply`: brings a server to what a setup file says.

mod carry_out;
mod compare;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use console::Term;
use serde_json::json;

use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report, print};
use crate::peer::variable;
use crate::plan::Plan;
use crate::setup::Setup;

/// What is applied, and how.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// YAML or JSON file with peers, scripts and mirrors; - reads standard input.
    #[arg(short, long)]
    file: PathBuf,
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Drop peers, scripts and mirrors that the file does not name.
    #[arg(long)]
    prune: bool,
    /// Drop without asking.
    #[arg(short, long)]
    yes: bool,
    /// Store peers without a connection to their stores.
    #[arg(long)]
    no_validation: bool,
}

impl ApplyArgs {
    pub(crate) async fn run(self, client: &Client, reader: Reader) -> Result<Report, Error> {
        let setup = Setup::load(&self.file, &variable)?;
        let plan = compare::plan(client, setup, self.prune).await?;
        let tally = plan.tally();
        let steps = plan.for_programs();
        let is_shown = reader == Reader::People;
        if is_shown {
            print(&plan.for_people())?;
        }
        if self.dry_run {
            return Ok(Report::new("", json!({"plan": steps, "applied": false})));
        }
        if tally.stuck > 0 {
            return Err(Error::Failed(stuck(&plan, is_shown)));
        }
        if tally.is_idle() {
            return Ok(Report::new("", json!({"plan": steps, "applied": true})));
        }
        if tally.drop > 0 && !self.yes {
            confirm(tally.drop)?;
        }
        carry_out::carry_out(client, plan, self.no_validation, is_shown).await?;
        Ok(Report::new("applied", json!({"plan": steps, "applied": true})))
    }
}

/// Why nothing was done. The plan says more, where it was shown.
fn stuck(plan: &Plan, is_shown: bool) -> String {
    let mut text = "nothing was done: the setup changes what cannot be changed in place".to_owned();
    if !is_shown {
        text.push('\n');
        text.push_str(&plan.for_people());
    }
    text
}

/// Asks whether to drop. Without a terminal there is nobody to ask.
fn confirm(count: usize) -> Result<(), Error> {
    let terminal = Term::stderr();
    if !(terminal.is_term() && std::io::stdin().is_terminal()) {
        return Err(Error::Usage(format!("{count} to drop: give --yes, or apply without --prune")));
    }
    terminal.write_str(&format!("Drop {count}? [y/N] "))?;
    match terminal.read_line()?.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Error::Failed("nothing was done".into())),
    }
}
