//! Asking for a verification, and looking at one.

use tarn_catalog::VerificationPlanned;
use tarn_model::{Problem, TableVerification, Verification};

use super::point::Standing;
use super::run::name as state_name;
use crate::error::one_line;
use crate::{Control, ControlError};

/// Which part of a mirror to verify.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerificationRequest {
    /// The mirror.
    pub mirror: String,
    /// Tables by their source; none for all.
    pub tables: Vec<String>,
    /// Which part of the rows to compare, by their keys; 0 is all, as is 1.
    pub sample_rate: f64,
}

impl Control {
    /// Plans a verification and returns its number.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::InvalidArgument`] for the rate, and for tables that the
    /// mirror does not have; [`ControlError::FailedPrecondition`] where the mirror is not set up;
    /// [`ControlError::AlreadyExists`] while the mirror has another one under way; [`ControlError::Catalog`].
    pub async fn start_verification(&self, request: &VerificationRequest) -> Result<i64, ControlError> {
        let sample_rate = match request.sample_rate {
            0.0 => 1.0,
            rate if rate > 0.0 && rate <= 1.0 => rate,
            rate => {
                return Err(ControlError::invalid("sample_rate", format!("{rate} is not between 0 and 1")));
            }
        };
        let mirror = self.known_mirror(&request.mirror).await?;
        let destination = self.catalog().peer(&mirror.spec.destination_peer).await?;
        if destination.is_some_and(|peer| peer.config.is_queue()) {
            let message = "the mirror's destination is a queue, which keeps messages and not rows: there is nothing to \
                           compare them with";
            return Err(ControlError::precondition("flow_job_name", message));
        }
        let mut problems = Vec::new();
        for (index, source) in request.tables.iter().enumerate() {
            if !mirror.spec.tables.iter().any(|table| table.source == *source) {
                let message = format!("{source} is no table of the mirror");
                let hint = "name it as the mirror's mappings do";
                problems.push(Problem::new(format!("tables[{index}]"), message, hint));
            }
        }
        if !problems.is_empty() {
            return Err(ControlError::InvalidArgument { message: one_line(&problems), problems });
        }
        match Standing::of(Some(&mirror)) {
            Standing::Streams | Standing::Rests(_) => {}
            Standing::Moves(state) => {
                let message = format!("the mirror is {}; verify it once it streams", state_name(state));
                return Err(ControlError::precondition("flow_job_name", message));
            }
            Standing::Gone => {
                return Err(ControlError::precondition("flow_job_name", "the mirror is dropped"));
            }
        }
        let wanted = |source: &String| request.tables.is_empty() || request.tables.contains(source);
        let tables = mirror.spec.tables.iter().filter(|table| wanted(&table.source));
        let tables: Vec<_> = tables
            .map(|table| TableVerification {
                source_table: table.source.clone(),
                destination_table: table.destination.clone(),
                ..TableVerification::default()
            })
            .collect();
        let planned =
            self.catalog().plan_verification(mirror.id, &mirror.spec.name, sample_rate, &tables).await?;
        match planned {
            VerificationPlanned::Done(id) => {
                self.wake();
                Ok(id)
            }
            VerificationPlanned::Busy(other) => {
                let message = format!("verification {other} of the mirror is under way");
                Err(ControlError::exists("flow_job_name", message))
            }
        }
    }

    /// A verification.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::Catalog`].
    pub async fn verification(&self, id: i64) -> Result<Verification, ControlError> {
        let found = self.catalog().verification(id).await?;
        found.ok_or_else(|| ControlError::missing("verify_id", format!("there is no verification {id}")))
    }
}
