//! Names of tables as settings write them.

/// Reads `schema.table`. Each part is taken as it is, or from between double quotes, where a double quote is
/// written twice. A schema with a point in it needs the quotes; after it, an unquoted rest is the table's name,
/// points and all. Nothing where the text is no such name.
pub fn split_table_name(text: &str) -> Option<(String, String)> {
    let (schema, rest) = match quoted(text) {
        Some(part) => part,
        None if text.starts_with('"') => return None,
        None => text.find('.').map(|point| (text[..point].to_owned(), &text[point..]))?,
    };
    let rest = rest.strip_prefix('.')?;
    let (name, rest) = match quoted(rest) {
        Some(part) => part,
        None if rest.starts_with('"') => return None,
        None => (rest.to_owned(), ""),
    };
    (rest.is_empty() && !schema.is_empty() && !name.is_empty()).then_some((schema, name))
}

/// A part in double quotes and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut part = String::new();
    loop {
        let quote = rest.find('"')?;
        part.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                part.push('"');
                rest = after;
            }
            None => return Some((part, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_literally() {
        // B125, B176, B178, B181, B187.
        for (text, schema, name) in [
            ("public.users", "public", "users"),
            ("Sales.Q1", "Sales", "Q1"),
            (r#""Sales"."Q1""#, "Sales", "Q1"),
            (r#"public."my.table""#, "public", "my.table"),
            ("public.my-table.1", "public", "my-table.1"),
            (r"s1.back\slash", "s1", r"back\slash"),
            ("テスト.café", "テスト", "café"),
            (r#""a.b"."c""d""#, "a.b", r#"c"d"#),
            (r#"public.say"hi""#, "public", r#"say"hi""#),
        ] {
            assert_eq!(split_table_name(text), Some((schema.to_owned(), name.to_owned())), "{text}");
        }
        for text in ["", "users", ".", "public.", ".users", r#""public.users"#, r#""a"b.c"#, r#"a."b"c"#] {
            assert_eq!(split_table_name(text), None, "{text}");
        }
    }
}
