//! The two spellings of a field's name.

use std::borrow::Cow;

/// A field's name as it is declared: `flowJobName` and `flow_job_name` are one.
pub fn snake(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    Cow::Owned(snake)
}

/// The name as it is shown.
pub fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for character in name.chars() {
        match character {
            '_' => upper = true,
            _ if upper => {
                camel.push(character.to_ascii_uppercase());
                upper = false;
            }
            _ => camel.push(character),
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        for (declared, shown) in [
            ("flow_job_name", "flowJobName"),
            ("s3_path", "s3Path"),
            ("name", "name"),
            ("soft_delete_col_name", "softDeleteColName"),
        ] {
            assert_eq!(camel(declared), shown);
            assert_eq!(snake(shown), declared);
            assert_eq!(snake(declared), declared);
        }
    }
}
