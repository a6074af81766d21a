//! Where in a line a message points.

/// The column, from 1, of what a message of Lua's is about: the token that it says the error is near,
/// when that stands in the line exactly once.
pub(super) fn column(source: &str, line: u32, message: &str) -> Option<u32> {
    let text = source.lines().nth(usize::try_from(line.checked_sub(1)?).ok()?)?;
    let (_, near) = message.rsplit_once(" near ")?;
    let before = if near == "<eof>" {
        text
    } else {
        let token = near.strip_prefix('\'')?.strip_suffix('\'')?;
        let (before, after) = text.split_once(token)?;
        if token.is_empty() || after.contains(token) {
            return None;
        }
        before
    };
    u32::try_from(before.chars().count() + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::column;

    #[test]
    fn the_token_is_found_in_its_line() {
        let source = "local a = 1\nlocal ä = = 2\n";
        assert_eq!(column(source, 2, "unexpected symbol near 'ä'"), Some(7));
        assert_eq!(column(source, 1, "syntax error near '1'"), Some(11));
        assert_eq!(column(source, 2, "'end' expected near <eof>"), Some(14));
    }

    #[test]
    fn what_is_not_certain_is_not_said() {
        assert_eq!(column("a = = 1", 1, "unexpected symbol near '='"), None);
        assert_eq!(column("a = 1", 1, "attempt to call a nil value"), None);
        assert_eq!(column("a = 1", 7, "unexpected symbol near 'a'"), None);
        assert_eq!(column("a = 1", 0, "unexpected symbol near 'a'"), None);
    }
}
