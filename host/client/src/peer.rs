//! `tarn peer …`

mod flags;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tarn_model::Peer;

use self::flags::Kind;
use crate::answer::{PeerInfo, PeerList};
use crate::calls::PeerCreation;
use crate::describe::described;
use crate::error::Error;
use crate::http::{Client, segment};
use crate::output::Report;
use crate::setup::load_peer;
use crate::table::Table;

/// What can be done with peers.
#[derive(Debug, Subcommand)]
pub enum PeerCommand {
    /// Creates a peer, or changes it with --update, after a connection to the store.
    #[command(subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
    Create(Box<Create>),
    /// Lists all peers.
    List,
    /// Shows a peer's settings, secrets masked, with the store's version and the mirrors that use it.
    Describe {
        /// The peer.
        name: String,
    },
    /// Connects to a stored peer, or to the one of a file, and stores nothing.
    Validate(Validate),
    /// Removes a peer that no mirror uses.
    Drop {
        /// The peer.
        name: String,
    },
}

/// A peer from flags by kind, or from a file.
#[derive(Debug, Args)]
pub struct Create {
    /// YAML or JSON file of one peer: name, and postgres_config, clickhouse_config or kafka_config; - reads standard
    /// input. Secrets are references, ${env:NAME} or ${file:PATH}.
    #[arg(short, long, required = true)]
    file: Option<PathBuf>,
    /// Change the peer of that name, if there is one.
    #[arg(long, global = true)]
    update: bool,
    /// Store it without a connection to the store.
    #[arg(long, global = true)]
    no_validation: bool,
    #[command(subcommand)]
    kind: Option<Kind>,
}

/// A peer that is stored, or that a file holds.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Validate {
    /// The stored peer.
    name: Option<String>,
    /// YAML or JSON file of one peer.
    #[arg(short, long)]
    file: Option<PathBuf>,
}

impl PeerCommand {
    pub(crate) async fn run(self, client: &Client) -> Result<Report, Error> {
        match self {
            Self::Create(create) => create.run(client).await,
            Self::List => list(client).await,
            Self::Describe { name } => describe(client, &name).await,
            Self::Validate(validate) => validate.run(client).await,
            Self::Drop { name } => {
                let answer = client.drop_peer(&name).await?;
                Ok(Report::new(format!("dropped peer {name}"), answer))
            }
        }
    }
}

impl Create {
    async fn run(self, client: &Client) -> Result<Report, Error> {
        let peer = match (self.kind, self.file) {
            (Some(kind), _) => kind.peer()?,
            (None, Some(file)) => load_peer(&file, &variable)?,
            (None, None) => return Err(Error::Usage("name a kind, or a file by -f".into())),
        };
        let creation = PeerCreation { allow_update: self.update, disable_validation: self.no_validation };
        let answer = client.create_peer(&peer, creation).await.map_err(|error| match error {
            // The server speaks of the field that `--update` sets.
            Error::Failed(message) => Error::Failed(message.replace("set allow_update", "give --update")),
            other => other,
        })?;
        Ok(Report::new(format!("stored peer {}", peer.name), answer))
    }
}

impl Validate {
    async fn run(self, client: &Client) -> Result<Report, Error> {
        let (name, body) = match (self.file, self.name) {
            (Some(file), _) => {
                let peer: Peer = load_peer(&file, &variable)?;
                let body = crate::setup::peer_body(&peer);
                (peer.name, body)
            }
            // What is shown with masks is checked with the secrets that are stored.
            (None, name) => {
                let name = name.unwrap_or_default();
                let info = client.get(&format!("peers/info/{}", segment(&name))).await?;
                (name, info["peer"].clone())
            }
        };
        let answer = client.outcome(client.post("peers/validate", &json!({"peer": body})).await?)?;
        Ok(Report::new(format!("peer {name} can be connected to"), answer))
    }
}

async fn list(client: &Client) -> Result<Report, Error> {
    let answer = client.get("peers/list").await?;
    let list: PeerList = client.read(&answer)?;
    let mut table = Table::new(&["NAME", "KIND", "SERVES AS"]);
    for peer in &list.items {
        let is_in = |items: &[crate::answer::PeerItem]| items.iter().any(|item| item.name == peer.name);
        let roles = [("source", is_in(&list.source_items)), ("destination", is_in(&list.destination_items))];
        let roles: Vec<_> = roles.iter().filter(|(_, fits)| *fits).map(|(role, _)| *role).collect();
        table.row([peer.name.clone(), peer.r#type.clone(), roles.join(", ")]);
    }
    Ok(Report::new(table.render(), answer))
}

async fn describe(client: &Client, name: &str) -> Result<Report, Error> {
    let answer = client.get(&format!("peers/info/{}", segment(name))).await?;
    let PeerInfo { version, .. } = client.read(&answer)?;
    let mirrors = client.mirrors().await?;
    let users = mirrors.iter().filter(|mirror| mirror.source_name == name || mirror.destination_name == name);
    let users: Vec<_> = users.map(|mirror| mirror.name.as_str()).collect();
    let mut facts = vec![("name".to_owned(), answer["peer"]["name"].clone())];
    facts.push(("kind".into(), answer["peer"]["type"].clone()));
    let version = if version.is_empty() { "(the store cannot be asked)".into() } else { version };
    facts.push(("version".into(), Value::String(version)));
    facts.push(("used by".into(), Value::String(users.join(", "))));
    for (key, value) in answer["peer"].as_object().into_iter().flatten() {
        if key.ends_with("Config") {
            facts.push((String::new(), value.clone()));
        }
    }
    Ok(Report::new(described(&facts), answer))
}

/// A variable of this process' environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
