//! A script in Rust: keeps the rows of one region, masks the e-mail column, and adds the domain of the address.
//!
//! `cargo build --release --target wasm32-unknown-unknown` makes the module that is uploaded; `plugins/build` does the
//! same. It decides in [`Regions::on_record`]; what is below hands batches over.

use tarn_script::author::{Author, Becomes, Problem, Record, Transform, Value};
use tarn_script::handover;
use tarn_sdk::{Failure, Outcome, Script, ScriptSettings};

/// The region whose rows go on.
const REGION: &str = "eu";

/// What this script does.
pub struct Regions;

impl Transform for Regions {
    fn added_columns(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        vec![("public.users", "domain", "text")]
    }

    fn on_record(&mut self, record: &mut Record<'_>) -> Result<Becomes, Problem> {
        let row = record.row();
        if !record.has(row) {
            return Ok(Becomes::Dropped);
        }
        match record.get(row, "region")? {
            Value::Text(region) if region != REGION => return Ok(Becomes::Dropped),
            // Neither sent nor changed: the row is where it was.
            _ => {}
        }
        let domain = match record.get(row, "email")? {
            Value::Text(email) => email.split_once('@').map(|(_, domain)| domain.to_owned()),
            _ => return Ok(Becomes::Kept),
        };
        record.set(row, "email", "***")?;
        match domain {
            Some(domain) => record.set(row, "domain", &*domain)?,
            None => record.set_null(row, "domain")?,
        }
        Ok(Becomes::Kept)
    }
}

/// The script as the host knows it.
pub struct Guest(Author<Regions>);

impl Script for Guest {
    fn describe() -> String {
        r#"{"entryPoints": ["onRecord"]}"#.to_owned()
    }

    fn open(settings: ScriptSettings) -> Result<Self, Failure> {
        let (targets, output) = handover::settings(settings);
        let author = Author::new(Regions, targets, output);
        author.map(Self).map_err(|problem| Failure::permanent("script_columns", problem.to_string()))
    }

    fn apply(&mut self, batch: Vec<u8>) -> Result<Outcome, Failure> {
        Ok(self.0.apply(&batch)?.into())
    }
}

tarn_sdk::export_script!(Guest);
