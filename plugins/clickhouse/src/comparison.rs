//! What a target holds against what it should: for whoever verifies a mirror. Nothing is changed.
//!
//! Rows are encoded by the plan that would write them and compared byte for byte with what the target holds of
//! their keys, so that no two dialects have to agree on the form of a value. While the mirror goes on, the
//! target may be ahead of the rows that it is compared with: of each key the latest row counts whose version
//! is not after the rows' sequence. Merges forget earlier rows of a key; where a later one is there, nothing
//! but equality can be said.

mod find;
mod hash;
mod key_text;
mod list_keys;
mod rows;

use std::rc::Rc;

use tarn_batch::Table;
use tarn_sdk::Failure;

use crate::client::Client;
use crate::design::Engine;
use crate::plan::Plan;
use crate::targets::Targets;

pub(crate) use find::find;
pub(crate) use list_keys::list_keys;
pub(crate) use rows::compare;

/// What people read of a statement that fails.
const DOING: &str = "comparing with";

/// Settings of its statements: others come first.
const QUIETLY: &str = "max_threads = 2, priority = 10";

/// How rows of a table would be written to its target as it is.
pub(crate) fn plan(
    targets: &mut Targets,
    client: &mut impl Client,
    table: &Table,
) -> Result<Rc<Plan>, Failure> {
    let plan = targets.plan_as_is(client, table)?;
    if plan.engine == Engine::Null {
        let message = format!("table {} is of the engine Null and keeps no rows to compare", plan.target);
        return Err(Failure::permanent("target_keeps_nothing", message).with_table(table.qualified_name()));
    }
    Ok(plan)
}

/// The greatest version of a commit.
fn until(sequence: u64) -> u128 {
    u128::from(sequence) << 64 | u128::from(u64::MAX)
}

/// The commit of a version.
fn commit_of(version: u128) -> u64 {
    u64::try_from(version >> 64).expect("half of 128 bits")
}
