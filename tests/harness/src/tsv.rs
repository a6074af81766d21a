//! ClickHouse's TabSeparated rows.

use crate::Row;

/// The rows of an answer: escapes undone, `\N` as NULL.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    text.lines().map(|line| line.split('\t').map(field).collect()).collect()
}

fn field(text: &str) -> Option<String> {
    if text == "\\N" {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_empty_and_escaped_are_told_apart() {
        let expected: Vec<Row> = vec![vec![None, Some(String::new()), Some("a\tb\n\\".to_owned())]];
        assert_eq!(rows("\\N\t\ta\\tb\\n\\\\\n"), expected);
    }
}
