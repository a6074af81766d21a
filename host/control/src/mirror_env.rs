//! Settings by name in a mirror's `env`. Whatever is not ours is kept for clients that send it; of ours, a misspelt name or
//! value would do nothing, and nobody would know.

use tarn_model::{MirrorSpec, Problem};

use crate::guest_settings::SWITCHES;
use crate::{queue_settings, usual_types};

/// What the names of our settings begin with.
const OURS: &str = "TARN_";

/// What is wrong with the names, and with the values of switches.
pub(crate) fn problems(spec: &MirrorSpec) -> Vec<Problem> {
    let known: Vec<&str> = [&SWITCHES[..], &queue_settings::NAMES, &usual_types::NAMES].concat();
    let mut problems = Vec::new();
    for (name, value) in &spec.env {
        let path = format!("env.{name}");
        if name.starts_with(OURS) && !known.contains(&name.as_str()) {
            let hint = format!("there are {}", known.join(", "));
            problems.push(Problem::new(path, "is no setting of a mirror", hint));
        } else if SWITCHES.contains(&name.as_str()) && !["", "true", "false"].contains(&value.as_str()) {
            let message = format!("{value:?} is none of its values");
            problems.push(Problem::new(path, message, "it is true or false"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(env: &[(&str, &str)]) -> Vec<String> {
        let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let spec = MirrorSpec { env, ..MirrorSpec::default() };
        problems(&spec).into_iter().map(|problem| problem.path).collect()
    }

    #[test]
    fn a_name_of_ours_that_is_misspelt_is_told_and_one_of_others_is_kept() {
        let sound = [
            ("TARN_REREAD", "false"),
            ("TARN_STREAM_IN_PROGRESS", ""),
            ("TARN_CLICKHOUSE_TIME", "Time64(6)"),
            ("TARN_KAFKA_DELETES", "both"),
            ("PEERDB_QUEUE_FORCE", "x"),
        ];
        assert_eq!(paths(&sound), [""; 0]);
        assert_eq!(paths(&[("TARN_REREADS", "false")]), ["env.TARN_REREADS"]);
    }

    #[test]
    fn a_switch_is_true_or_false() {
        assert_eq!(paths(&[("TARN_REREAD", "no")]), ["env.TARN_REREAD"]);
        assert_eq!(paths(&[("TARN_STREAM_IN_PROGRESS", "True")]), ["env.TARN_STREAM_IN_PROGRESS"]);
    }
}
