//! `tarn script …`

mod build;
mod dev;
mod rehearsal;
mod version;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use tarn_model::{Enumerated as _, ScriptLanguage};

use crate::answer::ScriptList;
use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report};
use crate::setup::ScriptText;
use crate::table::{Table, grouped};

pub use build::{BuiltScript, ScriptBuilder};

/// What can be done with scripts.
#[derive(Debug, Subcommand)]
pub enum ScriptCommand {
    /// Uploads a script with the tests beside it: a new one, or a new version of the one of that name.
    Put {
        /// The code; - reads standard input. Its extension tells the language: .lua, .js, .wasm.
        file: PathBuf,
        /// Its name; that of the file by default.
        #[arg(long)]
        name: Option<String>,
        /// Its language: lua, javascript or wasm.
        #[arg(long, value_parser = language)]
        lang: Option<ScriptLanguage>,
    },
    /// Lists all scripts.
    List,
    /// Prints a script's code.
    Show {
        /// The script.
        name: String,
        /// This version instead of the newest.
        #[arg(long)]
        version: Option<u32>,
    },
    /// Runs a script file, which is not stored: the tests beside it, and records where some are named.
    Test(rehearsal::TestArgs),
    /// The same again whenever the script, its tests or its records are saved, until it is interrupted.
    Dev(rehearsal::TestArgs),
    /// Builds a script file into a component, without any server. Scripts that it requires are those beside it.
    Build(build::BuildArgs),
    /// Lists a script's versions: when, by whom, rolled back from what.
    Versions {
        /// The script.
        name: String,
    },
    /// Shows what changed between two versions of a script.
    Diff {
        /// The script.
        name: String,
        /// The one version.
        from: u32,
        /// The other.
        to: u32,
    },
    /// Has a mirror use a script at a version, name@version, or its newest one, name.
    Pin {
        /// The mirror; it is paused, edited and let go on.
        mirror: String,
        /// The script.
        script: String,
    },
    /// Stores a new version with the code and the tests of an older one.
    Rollback {
        /// The script.
        name: String,
        /// The version to take up again; the one before the newest where it is left out.
        version: Option<u32>,
    },
    /// Writes the component that a script was compiled into.
    Component {
        /// The script: name, or name@version.
        name: String,
        /// The file to write.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Deletes a script that no mirror uses.
    Delete {
        /// The script.
        name: String,
    },
}

fn language(text: &str) -> Result<ScriptLanguage, &'static str> {
    ScriptLanguage::from_name(text).ok_or("there are lua, javascript and wasm")
}

impl ScriptCommand {
    pub(crate) async fn run(
        self,
        client: &Client,
        reader: Reader,
        builder: &dyn ScriptBuilder,
    ) -> Result<Report, Error> {
        match self {
            Self::Put { file, name, lang } => put(client, &ScriptText::load(&file, name, lang)?).await,
            Self::List => list(client).await,
            Self::Show { name, version } => show(client, &name, version).await,
            Self::Test(args) => args.test(client).await,
            Self::Dev(args) => dev::run(&args, client, reader).await,
            Self::Build(args) => args.build(builder).await,
            Self::Versions { name } => version::list(client, &name).await,
            Self::Diff { name, from, to } => version::diff(client, &name, from, to).await,
            Self::Pin { mirror, script } => version::pin(client, &mirror, &script).await,
            Self::Rollback { name, version } => version::roll_back(client, &name, version).await,
            Self::Component { name, output } => version::component(client, &name, &output).await,
            Self::Delete { name } => {
                let script = client.script(&name).await?;
                let answer = client.delete(&format!("scripts/{}", script.id)).await?;
                Ok(Report::new(format!("deleted script {name}"), answer))
            }
        }
    }
}

async fn put(client: &Client, script: &ScriptText) -> Result<Report, Error> {
    let name = &script.name;
    let known = client.scripts().await?.into_iter().find(|known| known.name == *name);
    if let Some(known) = &known
        && known.source == script.source
        && known.lang == script.language
        && script.tests.as_ref().is_none_or(|tests| *tests == known.tests)
    {
        let answer = json!({"id": known.id, "changed": false});
        return Ok(Report::new(format!("script {name} is like that already"), answer));
    }
    let id = client.store_script(known.as_ref().map(|known| known.id), script).await?;
    let done = if known.is_some() { "stored a new version of" } else { "stored" };
    Ok(Report::new(format!("{done} script {name}"), json!({"id": id, "changed": true})))
}

async fn list(client: &Client) -> Result<Report, Error> {
    let answer = client.get("scripts/-1").await?;
    let mut table = Table::new(&["NAME", "LANGUAGE", "#BYTES"]);
    for script in client.read::<ScriptList>(&answer)?.scripts {
        table.row([script.name, script.lang.name().to_owned(), grouped(script.source.len() as u64)]);
    }
    Ok(Report::new(table.render(), answer))
}

async fn show(client: &Client, name: &str, version: Option<u32>) -> Result<Report, Error> {
    let script = client.script(name).await?;
    let Some(version) = version else {
        let answer = json!({"id": script.id, "lang": script.lang, "name": name, "source": script.source,
            "tests": script.tests});
        return Ok(Report::new(script.source, answer));
    };
    let (versions, answer) = version::all(client, name).await?;
    let found = version::place(&versions, name, version)?;
    Ok(Report::new(versions[found].source.clone(), answer["versions"][found].clone()))
}
