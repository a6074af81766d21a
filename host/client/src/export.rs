//! `tarn export`: a server's peers, scripts and mirrors as a setup file that `tarn apply` takes.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tarn_model::{Peer, PeerConfig};

use crate::answer::{PeerInfo, PeerShown};
use crate::error::Error;
use crate::http::{Client, segment};
use crate::output::{Report, remark};
use crate::setup::{ScriptText, Setup, Written, written};

/// Where the setup goes.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// File to write; standard output by default.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

impl ExportArgs {
    pub(crate) async fn run(self, client: &Client) -> Result<Report, Error> {
        let Written { text, variables } = written(&stored(client).await?);
        let text = header(&variables) + &text;
        let programs = json!({"setup": text, "variables": variables});
        match self.output {
            None => Ok(Report::new(text, programs)),
            Some(path) => {
                write(&path, &text)
                    .map_err(|source| Error::Failed(format!("cannot write {}: {source}", path.display())))?;
                if !variables.is_empty() {
                    remark(&format!("to apply it, set {}", variables.join(", ")));
                }
                Ok(Report::new(format!("wrote {}", path.display()), programs))
            }
        }
    }
}

fn header(variables: &[String]) -> String {
    let mut text = "# A setup of tarn, for `tarn apply -f`.\n".to_owned();
    if !variables.is_empty() {
        text.push_str("# Its secrets are references; before it is applied, set\n");
        for variable in variables {
            text.push_str(&format!("#   {variable}\n"));
        }
    }
    text
}

/// Names, hosts and code are not for everyone either.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Everything that a server holds; secrets are masks.
async fn stored(client: &Client) -> Result<Setup, Error> {
    let mut setup = Setup::default();
    for item in client.peers().await? {
        let answer = client.get(&format!("peers/info/{}", segment(&item.name))).await?;
        setup.peers.push(peer(client.read::<PeerInfo>(&answer)?.peer)?);
    }
    for script in client.scripts().await? {
        setup.scripts.push(ScriptText {
            name: script.name,
            language: script.lang,
            source: script.source,
            tests: Some(script.tests),
        });
    }
    for mirror in client.mirrors().await? {
        setup.mirrors.push(client.mirror_status(&mirror.name).await?.cdc_status.config);
    }
    Ok(setup)
}

fn peer(shown: PeerShown) -> Result<Peer, Error> {
    let PeerShown { name, r#type, postgres_config, clickhouse_config } = shown;
    let config = postgres_config.map(PeerConfig::Postgres);
    match config.or(clickhouse_config.map(PeerConfig::Clickhouse)) {
        Some(config) => Ok(Peer { name, config }),
        None => {
            Err(Error::Failed(format!("peer {name} is of kind {}, which this tarn does not export", r#type)))
        }
    }
}
