//! `tarn info`: what a server is.

use serde::Deserialize;

use crate::error::Error;
use crate::http::Client;
use crate::output::Report;
use crate::table::Table;

/// `GET instance/info`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    version: String,
    edition: String,
    scripts_enabled: bool,
    staging_bucket: String,
    connectors: Vec<Connector>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Connector {
    name: String,
    version: String,
    kind: String,
    capabilities: Vec<String>,
}

pub(crate) async fn show(client: &Client) -> Result<Report, Error> {
    let answer = client.get("instance/info").await?;
    let info: Info = client.read(&answer)?;
    let scripts = if info.scripts_enabled { "on" } else { "off" };
    let mut table = Table::new(&["CONNECTOR", "VERSION", "KIND", "MAY USE"]);
    for connector in info.connectors {
        let may_use = connector.capabilities.join(", ");
        table.row([connector.name, connector.version, connector.kind, may_use]);
    }
    let text = format!(
        "version  {}\nedition  {}\nscripts  {scripts}\nbucket   the {}'s\n\n{}",
        info.version,
        info.edition,
        info.staging_bucket,
        table.render()
    );
    Ok(Report::new(text, answer))
}
