//! `tarn script …`

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use tarn_model::{Enumerated as _, ScriptLanguage};

use crate::answer::{ScriptList, VersionList};
use crate::error::Error;
use crate::http::Client;
use crate::output::Report;
use crate::setup::ScriptText;
use crate::table::{Table, grouped};

/// What can be done with scripts.
#[derive(Debug, Subcommand)]
pub enum ScriptCommand {
    /// Uploads a script: a new one, or a new version of the one of that name.
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
    /// Lists a script's versions.
    Versions {
        /// The script.
        name: String,
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
    pub(crate) async fn run(self, client: &Client) -> Result<Report, Error> {
        match self {
            Self::Put { file, name, lang } => put(client, &ScriptText::load(&file, name, lang)?).await,
            Self::List => list(client).await,
            Self::Show { name, version } => show(client, &name, version).await,
            Self::Versions { name } => versions(client, &name).await,
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
        let answer = json!({"id": script.id, "lang": script.lang, "name": name, "source": script.source});
        return Ok(Report::new(script.source, answer));
    };
    let answer = client.get(&format!("scripts/{}/versions", script.id)).await?;
    let versions = client.read::<VersionList>(&answer)?.versions;
    let found = versions.iter().position(|known| known.version == version).ok_or_else(|| {
        Error::Failed(format!(
            "script {name} has no version {version}; `tarn script versions {name}` shows which"
        ))
    })?;
    Ok(Report::new(versions[found].source.clone(), answer["versions"][found].clone()))
}

async fn versions(client: &Client, name: &str) -> Result<Report, Error> {
    let script = client.script(name).await?;
    let answer = client.get(&format!("scripts/{}/versions", script.id)).await?;
    let mut table = Table::new(&["#VERSION", "LANGUAGE", "#BYTES", "CREATED", "DIGEST"]);
    for version in client.read::<VersionList>(&answer)?.versions {
        table.row([
            version.version.to_string(),
            version.lang,
            grouped(version.source.len() as u64),
            version.created_at.split('.').next().unwrap_or_default().trim_end_matches('Z').to_owned(),
            version.digest.chars().take(12).collect(),
        ]);
    }
    Ok(Report::new(table.render(), answer))
}
