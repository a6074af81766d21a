//! ClickHouse's quoting: backslashes escape inside names and literals alike.

/// A quoted identifier: `` `users` ``.
pub fn ident(name: &str) -> String {
    quoted(name, '`')
}

/// A quoted name with its database.
pub fn qualified(database: &str, name: &str) -> String {
    format!("{}.{}", ident(database), ident(name))
}

/// A string literal.
pub fn literal(text: &str) -> String {
    quoted(text, '\'')
}

fn quoted(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for character in text.chars() {
        match character {
            '\0' => out.push_str(r"\0"),
            '\\' => out.push_str(r"\\"),
            _ if character == quote => out.extend(['\\', quote]),
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
        // B176, B178, B185.
        for (name, quoted) in [
            ("users", "`users`"),
            ("名前", "`名前`"),
            (r"back\slash", r"`back\\slash`"),
            ("x`; drop table users; --", r"`x\`; drop table users; --`"),
            (r"x\`y", r"`x\\\`y`"),
            ("a\0b", r"`a\0b`"),
        ] {
            assert_eq!(ident(name), quoted);
        }
        assert_eq!(qualified("db", "t`"), r"`db`.`t\``");
    }

    #[test]
    fn a_literal_stays_one_literal_whatever_it_holds() {
        for (text, quoted) in [("", "''"), ("it's", r"'it\'s'"), (r"a\", r"'a\\'"), (r"\'", r"'\\\''")] {
            assert_eq!(literal(text), quoted);
        }
    }
}
