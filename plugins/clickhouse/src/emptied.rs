//! When a target was last emptied, remembered in the table's comment.
//!
//! A write that is repeated may begin before a TRUNCATE that was carried out already. Its rows have
//! nothing left to keep unchanged values from, and need none: the TRUNCATE comes again. To tell them from
//! rows whose earlier row is missing for a worse reason, the version of the TRUNCATE must outlive
//! the rows, and the process.

/// What the comment's line begins with; a person's own lines stay.
const MARK: &str = "tarn: emptied at ";

/// The version of the last TRUNCATE that a table's comment tells of.
pub(crate) fn read(comment: &str) -> Option<u128> {
    comment.lines().find_map(|line| line.strip_prefix(MARK)?.trim().parse().ok())
}

/// The comment that tells of a TRUNCATE.
pub(crate) fn written(comment: &str, version: u128) -> String {
    let lines = comment.lines().filter(|line| !line.starts_with(MARK)).map(str::to_owned);
    lines.chain([format!("{MARK}{version}")]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_version_is_told_and_a_persons_lines_stay() {
        assert_eq!(read("made by hand"), None);
        let comment = written(&written("made\nby hand", 7), u128::MAX);
        assert_eq!(comment, format!("made\nby hand\ntarn: emptied at {}", u128::MAX));
        assert_eq!(read(&comment), Some(u128::MAX));
    }
}
