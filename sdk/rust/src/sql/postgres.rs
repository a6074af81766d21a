//! PostgreSQL's quoting. No text of PostgreSQL holds a NUL, and one in a statement would end it there:
//! it becomes U+FFFD, which no name of the server matches.

/// A quoted identifier: `"café"`, with inner quotes doubled.
pub fn ident(name: &str) -> String {
    quoted(name, '"')
}

/// A quoted name with its schema: `"public"."users"`.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", ident(schema), ident(name))
}

/// A string literal, read alike whatever `standard_conforming_strings` says.
pub fn literal(text: &str) -> String {
    if text.contains('\\') {
        format!("E{}", quoted(&text.replace('\\', r"\\"), '\''))
    } else {
        quoted(text, '\'')
    }
}

/// A literal, or `NULL`.
pub fn literal_or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), literal)
}

fn quoted(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for character in text.chars() {
        match character {
            '\0' => out.push(char::REPLACEMENT_CHARACTER),
            _ if character == quote => out.extend([quote, quote]),
            _ => out.push(character),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_name_whatever_it_holds() {
        // B125, B176, B178, B179, B181, B185.
        for (name, quoted) in [
            ("users", r#""users""#),
            ("Sales", r#""Sales""#),
            ("名前", r#""名前""#),
            (r"back\slash", r#""back\slash""#),
            ("my-table.1", r#""my-table.1""#),
            (r#"x"; drop table users; --"#, r#""x""; drop table users; --""#),
            ("", r#""""#),
            ("a\0b", "\"a\u{fffd}b\""),
        ] {
            assert_eq!(ident(name), quoted);
        }
        assert_eq!(qualified("テスト", r#"ca"fé"#), r#""テスト"."ca""fé""#);
        assert_eq!(ident("My-slot"), r#""My-slot""#); // B154
    }

    #[test]
    fn a_literal_stays_one_literal_whatever_it_holds() {
        for (text, quoted) in [
            ("", "''"),
            ("it's", "'it''s'"),
            (r"a\b", r"E'a\\b'"),
            (r"\'; drop table users; --", r"E'\\''; drop table users; --'"),
            ("línea\n", "'línea\n'"),
        ] {
            assert_eq!(literal(text), quoted);
        }
        assert_eq!(literal_or_null(None), "NULL");
        assert_eq!(literal_or_null(Some("NULL")), "'NULL'");
    }
}
