//! Facts about one thing, a line each.

use console::measure_text_width;
use serde_json::Value;
use tarn_json::snake;

use crate::table::one_line;

/// Names and values of facts as lines. An object's fields each become a fact; what is empty, 0 or false is
/// left out.
pub(crate) fn described(facts: &[(String, Value)]) -> String {
    let mut lines = Vec::new();
    for (name, value) in facts {
        collect(name, value, &mut lines);
    }
    let width = lines.iter().map(|(name, _)| measure_text_width(name)).max().unwrap_or(0);
    lines
        .into_iter()
        .map(|(name, value)| {
            let space = " ".repeat(width - measure_text_width(&name));
            format!("{name}{space}  {value}\n")
        })
        .collect()
}

fn collect(name: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Null | Value::Bool(false) => return,
        Value::Bool(true) => "yes".to_owned(),
        Value::Number(number) if number.as_f64() == Some(0.0) => return,
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() || text == "0" => return,
        Value::String(text) => match text.trim_end().lines().collect::<Vec<_>>().as_slice() {
            [line] => one_line(line),
            [first, ..] => format!("{} … ({} lines)", one_line(first), text.trim_end().lines().count()),
            [] => return,
        },
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(&format!("{name}[{index}]"), item, lines);
            }
            return;
        }
        Value::Object(object) => {
            for (key, value) in object {
                let key = snake(key);
                let below = if name.is_empty() { key.into_owned() } else { format!("{name}.{key}") };
                collect(&below, value, lines);
            }
            return;
        }
    };
    lines.push((name.to_owned(), text));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_set_has_a_line_and_what_is_long_is_cut() {
        let facts = [
            ("name".to_owned(), json!("shop")),
            ("used by".to_owned(), json!("")),
            (
                String::new(),
                json!({"host": "db", "port": 5432, "disableTls": false, "requireTls": true,
                "rootCa": "BEGIN\nx\nEND\n", "sshConfig": {"password": "********", "port": 0}}),
            ),
        ];
        let expected = "\
name                 shop
host                 db
port                 5432
require_tls          yes
root_ca              BEGIN … (3 lines)
ssh_config.password  ********
";
        assert_eq!(described(&facts), expected);
    }
}
