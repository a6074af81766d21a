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
    address: String,
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
        // Read here: the command line's parser quotes what it refuses, and people write passwords into addresses.
        let address: Address =
            self.address.parse().map_err(|why| Error::Usage(format!("--address (TARN_ADDRESS): {why}")))?;
        let root_ca = self.ca_file.as_deref().map(file::text).transpose()?.unwrap_or_default();
        Ok(Access { address, username: self.username.clone(), password, root_ca })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        access: AccessArgs,
    }

    #[test]
    fn an_address_that_cannot_be_used_is_not_quoted() {
        let line = Line::try_parse_from(["tarn", "--address", "https://ann:planted@host"]).expect("options");
        let error = line.access.open().expect_err("a password in it");
        assert!(error.to_string().contains("do not belong into the address"), "{error}");
        assert!(!error.to_string().contains("planted") && error.exit_code() == 2, "{error}");
    }
}
