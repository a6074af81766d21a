//! A row that was found unequal, until it is known whether it differs.

use tarn_model::DifferenceKind;
use tarn_wasm::{Finding, Outcome};

use crate::config::VERIFY_STRIKES;

/// A row under suspicion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspect {
    /// Its key at the source.
    pub(super) source_key: Vec<String>,
    /// Its key at the destination: another one where a script changes it.
    pub(super) target_key: Vec<String>,
    /// The number of its key at the destination.
    pub(super) hash: u64,
    /// The commit of the latest row that the destination had at the last look.
    seen: u64,
    /// At how many points in a row it was found different.
    strikes: u32,
}

/// Whether the source had a row of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtSource {
    Present,
    Absent,
}

/// What a look at a suspect came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Both sides are equal.
    Equal,
    /// It differs in this way, in these columns.
    Different(DifferenceKind, Vec<String>),
    /// The destination cannot hold it.
    Unwritable(Vec<String>),
    /// Another look is needed.
    Open,
}

impl Suspect {
    /// A row that was found unequal before any point was waited for.
    pub(super) fn new(source_key: Vec<String>, target_key: Vec<String>, hash: u64, seen: u64) -> Self {
        Self { source_key, target_key, hash, seen, strikes: 0 }
    }

    /// Judges what was found as of a point that was held after the last look, and that the destination has
    /// passed; `at_source` is whether the source had the row at it.
    pub(super) fn judge(&mut self, finding: Option<&Finding>, point: u64, at_source: AtSource) -> Verdict {
        let Some(finding) = finding else { return Verdict::Equal };
        let kind = match finding.outcome {
            Outcome::Unwritable => return Verdict::Unwritable(finding.columns.clone()),
            Outcome::Missing => DifferenceKind::Missing,
            Outcome::Present => DifferenceKind::Extra,
            Outcome::Differs => DifferenceKind::Differs,
            Outcome::Later => {
                // Whatever the source committed before the last look is before this point.
                let was_there = self.seen == finding.commit && finding.commit > point;
                self.seen = finding.commit;
                if !was_there {
                    self.strikes = 0;
                    return Verdict::Open;
                }
                match at_source {
                    AtSource::Absent => DifferenceKind::Extra,
                    AtSource::Present if finding.columns.is_empty() => DifferenceKind::Missing,
                    AtSource::Present => DifferenceKind::Differs,
                }
            }
        };
        self.seen = finding.commit;
        self.strikes += 1;
        if self.strikes < VERIFY_STRIKES {
            return Verdict::Open;
        }
        Verdict::Different(kind, finding.columns.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(seen: u64) -> Suspect {
        Suspect::new(vec!["1".to_owned()], vec!["1".to_owned()], 7, seen)
    }

    fn finding(outcome: Outcome, commit: u64) -> Finding {
        Finding { at: 0, outcome, columns: vec!["name".to_owned()], commit }
    }

    /// A look while the source has the row.
    fn look(suspect: &mut Suspect, finding: Option<&Finding>, point: u64) -> Verdict {
        suspect.judge(finding, point, AtSource::Present)
    }

    #[test]
    fn a_difference_counts_once_it_was_found_at_two_points() {
        let mut suspect = suspect(0);
        let found = finding(Outcome::Differs, 5);
        assert_eq!(look(&mut suspect, Some(&found), 10), Verdict::Open);
        let names = vec!["name".to_owned()];
        assert_eq!(look(&mut suspect, Some(&found), 20), Verdict::Different(DifferenceKind::Differs, names));
    }

    #[test]
    fn what_was_only_late_is_equal() {
        let mut suspect = suspect(0);
        assert_eq!(look(&mut suspect, Some(&finding(Outcome::Missing, 0)), 10), Verdict::Open);
        assert_eq!(look(&mut suspect, None, 20), Verdict::Equal);
    }

    #[test]
    fn a_row_that_changes_at_each_look_is_never_a_difference() {
        let mut suspect = suspect(5);
        for round in 1..100 {
            let found = finding(Outcome::Later, round * 10 + 5);
            assert_eq!(look(&mut suspect, Some(&found), round * 10), Verdict::Open);
        }
    }

    #[test]
    fn a_difference_between_two_changes_does_not_add_up() {
        let mut suspect = suspect(0);
        assert_eq!(look(&mut suspect, Some(&finding(Outcome::Differs, 5)), 10), Verdict::Open);
        assert_eq!(look(&mut suspect, Some(&finding(Outcome::Later, 25)), 20), Verdict::Open);
        assert_eq!(look(&mut suspect, Some(&finding(Outcome::Differs, 25)), 30), Verdict::Open);
    }

    #[test]
    fn a_row_of_the_future_that_was_there_before_is_not_from_the_source() {
        let mut suspect = suspect(u64::MAX);
        assert_eq!(look(&mut suspect, Some(&finding(Outcome::Later, u64::MAX)), 10), Verdict::Open);
        let verdict = look(&mut suspect, Some(&finding(Outcome::Later, u64::MAX)), 20);
        assert!(matches!(verdict, Verdict::Different(DifferenceKind::Differs, _)), "{verdict:?}");
    }

    #[test]
    fn a_value_that_cannot_be_stored_is_no_difference() {
        let verdict = look(&mut suspect(0), Some(&finding(Outcome::Unwritable, 0)), 10);
        assert_eq!(verdict, Verdict::Unwritable(vec!["name".to_owned()]));
    }
}
