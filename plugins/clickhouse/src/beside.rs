//! Tables that are loaded beside those that people read: what they are called, and which load they are of.
//!
//! The load's name stands in the table's comment, which goes with the table when it is exchanged for another. So a
//! table is told from the one it replaced, whatever their names are by then.

/// What the comment's line begins with; a person's own lines stay.
const MARK: &str = "tarn: load ";

/// The name of the table that is loaded beside a target.
pub(crate) fn name(target: &str) -> String {
    format!("{target}_tarn_beside")
}

/// The name under which a table is kept until it is dropped, where tables cannot be exchanged.
pub(crate) fn aside(target: &str) -> String {
    format!("{target}_tarn_replaced")
}

/// The comment of a table that a load makes.
pub(crate) fn comment(load: &str) -> String {
    format!("{MARK}{load}")
}

/// A comment without the lines that say which load a table is of.
pub(crate) fn unmarked(comment: &str) -> String {
    let kept: Vec<&str> = comment.lines().filter(|line| !line.starts_with(MARK)).collect();
    kept.join("\n")
}

/// Whether a table's comment says that it is of a load.
pub(crate) fn is_of(comment: &str, load: &str) -> bool {
    comment.lines().any(|line| line.strip_prefix(MARK) == Some(load))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_of_the_load_that_made_it() {
        let made = format!("by hand\n{}", comment("17"));
        assert!(is_of(&made, "17") && !is_of(&made, "1") && !is_of("", "17"));
        assert_eq!(unmarked(&made), "by hand");
    }
}
