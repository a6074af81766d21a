//! `tarn secrets`: the key that seals what the catalog keeps secret.

use clap::Subcommand;
use std::path::PathBuf;

use tarn_catalog::{Catalog, CatalogError, Rotation};

use crate::settings::Settings;

/// What can be done with the secrets at rest.
#[derive(Debug, Subcommand)]
pub enum SecretsCommand {
    /// Seals every secret anew under another key, while no server runs on the data directory.
    ///
    /// With a key file, a new key is made and takes its place. With TARN_SEALING_KEY, that is the new key, and
    /// TARN_SEALING_KEY_PREVIOUS the one so far. Interrupted at any instant, it can be run again, or the server
    /// be started.
    Rotate {
        /// Settings file (TOML) of the server. The TARN_… environment variables win over it.
        #[arg(long, env = "TARN_CONFIG")]
        config: Option<PathBuf>,
    },
}

/// Carries the command out and returns what to tell.
///
/// # Errors
/// What is wrong, with the remedy.
pub async fn run(command: SecretsCommand) -> Result<String, String> {
    let SecretsCommand::Rotate { config } = command;
    let settings = Settings::load(config.as_deref(), std::env::vars()).map_err(|error| error.to_string())?;
    let Rotation { resealed, old_key, new_key } =
        Catalog::rotate(&settings.catalog_options()).await.map_err(|error| with_remedy(&error))?;
    let place = match settings.sealing_key {
        Some(_) => {
            "from now on start the server with this key alone: TARN_SEALING_KEY_PREVIOUS is not needed \
                    any more"
                .to_owned()
        }
        None => format!("the key is in {}", settings.data_dir.join("sealing.key").display()),
    };
    Ok(format!("sealed {resealed} secrets anew with key {new_key}, before it was {old_key}; {place}"))
}

fn with_remedy(error: &CatalogError) -> String {
    let remedy = match error {
        CatalogError::InUse { .. } => "; stop it first",
        CatalogError::KeyMissing { .. } => "; give it as TARN_SEALING_KEY_PREVIOUS",
        _ => "",
    };
    error.chain() + remedy
}
