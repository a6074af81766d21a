//! Which server is asked, and as whom.

use std::path::PathBuf;

use clap::Args;
use tarn_model::Secret;

use crate::address::Address;
use crate::error::Error;
use crate::file;

/// The options that every command takes.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// Where the server is: http://host:port, https://host:port or host:port.
    #[arg(
        long,
        env = "TARN_ADDRESS",
        default_value = "http://127.0.0.1:8113",
        global = true,
        help_heading = "Server"
    )]
    address: Address,
    /// User name of the API; empty unless the server sets one. The password comes from TARN_PASSWORD or
    /// --password-file and never stands on a command line.
    #[arg(long, env = "TARN_USERNAME", default_value = "", global = true, help_heading = "Server")]
    username: String,
    /// File that holds the API's password; wins over TARN_PASSWORD.
    #[arg(long, env = "TARN_PASSWORD_FILE", value_name = "FILE", global = true, help_heading = "Server")]
    password_file: Option<PathBuf>,
    /// PEM file of the authorities to trust instead of the machine's.
    #[arg(long, env = "TARN_CA_FILE", value_name = "FILE", global = true, help_heading = "Server")]
    ca_file: Option<PathBuf>,
    /// Answer in JSON, for programs.
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What a request needs.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    pub(crate) username: String,
    pub(crate) password: Secret,
    /// PEM; empty means the machine's authorities.
    pub(crate) root_ca: String,
}

impl AccessArgs {
    /// Reads what the options name.
    pub(crate) fn open(&self) -> Result<Access, Error> {
        let password = match &self.password_file {
            Some(path) => file::secret(path)?,
            None => Secret::new(std::env::var("TARN_PASSWORD").unwrap_or_default()),
        };
        let root_ca = self.ca_file.as_deref().map(file::text).transpose()?.unwrap_or_default();
        Ok(Access { address: self.address.clone(), username: self.username.clone(), password, root_ca })
    }
}
