//! What names look like. A name a person chose becomes part of texts and of objects at the stores.

/// Longest name of a peer or script, in characters.
const PEER_NAME_LENGTH_MAX: usize = 63;
/// Longest name of a mirror, in characters: `tarn_slot_` before it still is a slot's name.
const MIRROR_NAME_LENGTH_MAX: usize = 48;
/// Longest name of a slot, publication or column at PostgreSQL, in bytes.
const IDENTIFIER_LENGTH_MAX: usize = 63;

/// What is wrong with a peer's or script's name, if anything.
pub fn peer_name_problem(name: &str) -> Option<String> {
    let length = name.chars().count();
    if length == 0 {
        return Some("is missing".into());
    }
    if length > PEER_NAME_LENGTH_MAX {
        return Some(format!("has {length} characters; at most {PEER_NAME_LENGTH_MAX} are allowed"));
    }
    let good = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (!good).then(|| "may hold letters, digits, `_`, `-` and `.` only".into())
}

/// What is wrong with a mirror's name, if anything.
pub fn mirror_name_problem(name: &str) -> Option<String> {
    let length = name.chars().count();
    if length == 0 {
        return Some("is missing".into());
    }
    if length > MIRROR_NAME_LENGTH_MAX {
        return Some(format!("has {length} characters; at most {MIRROR_NAME_LENGTH_MAX} are allowed"));
    }
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let good = name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit());
    (!good).then(|| "must be a lower-case letter or `_`, then lower-case letters, digits or `_`".into())
}

/// What is wrong with a publication's name, if anything: PostgreSQL cuts what is longer.
pub fn publication_name_problem(name: &str) -> Option<String> {
    let length = name.len();
    (length > IDENTIFIER_LENGTH_MAX)
        .then(|| format!("has {length} bytes; at most {IDENTIFIER_LENGTH_MAX} are allowed"))
}

/// What is wrong with a replication slot's name, if anything.
pub fn slot_name_problem(name: &str) -> Option<String> {
    if let Some(problem) = publication_name_problem(name) {
        return Some(problem);
    }
    let good = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    (!good).then(|| "may hold lower-case letters, digits and `_` only".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_named_by_1_to_63_letters_digits_and_three_marks() {
        for good in ["a", "Pg-1.main_x", &"n".repeat(63)] {
            assert_eq!(peer_name_problem(good), None, "{good}");
        }
        for bad in ["", "a b", "é", "a/b", &"n".repeat(64)] {
            assert!(peer_name_problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn mirrors_are_named_like_slots() {
        for good in ["a", "_a1", "orders_2", &"m".repeat(48)] {
            assert_eq!(mirror_name_problem(good), None, "{good}");
        }
        for bad in ["", "1a", "A", "a-b", "a.b", "ä", &"m".repeat(49)] {
            assert!(mirror_name_problem(bad).is_some(), "{bad}");
        }
    }
}
