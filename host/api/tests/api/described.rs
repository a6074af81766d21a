//! The operations of the OpenAPI document, as the tests send them.

use axum::http::Method;
use serde_json::Value;
use tarn_api::openapi;

/// How keys of requests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    Camel,
    Snake,
}

/// An operation of the document.
pub struct Operation {
    pub id: String,
    pub method: Method,
    pub path: String,
    pub body: Value,
}

impl Operation {
    fn parameter(parameter: &Value, spelling: Spelling) -> (String, String, bool) {
        let name = parameter["name"].as_str().expect("a name");
        let name = if spelling == Spelling::Snake { name.to_owned() } else { camel(name) };
        let text = match &parameter["example"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (name, text, parameter["in"] == "path")
    }

    /// Its example as a request: path and body.
    pub fn request(&self, spelling: Spelling) -> (String, Option<Value>) {
        let mut path = self.path.clone();
        let mut query = Vec::new();
        for parameter in self.body["parameters"].as_array().into_iter().flatten() {
            if parameter["example"].is_null() {
                assert_ne!(parameter["required"], true, "{}: {parameter}", self.id);
                continue;
            }
            let (name, text, in_path) = Self::parameter(parameter, spelling);
            if in_path {
                path = path.replace(&format!("{{{}}}", parameter["name"].as_str().expect("a name")), &text);
            } else {
                query.push(format!("{name}={text}"));
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let content = &self.body["requestBody"]["content"]["application/json"];
        let request = content.get("example").cloned();
        (path, request.map(|request| if spelling == Spelling::Snake { snake_keys(request) } else { request }))
    }

    pub fn answer(&self) -> &Value {
        &self.body["responses"]["200"]["content"]["application/json"]["example"]
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |camel, word| camel + &word[..1].to_uppercase() + &word[1..])
}

fn snake_keys(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(snake_keys).collect(),
        Value::Object(object) => {
            let snake = |key: &str| {
                key.chars().fold(String::new(), |snake, character| match character {
                    upper if upper.is_ascii_uppercase() => format!("{snake}_{}", upper.to_ascii_lowercase()),
                    other => format!("{snake}{other}"),
                })
            };
            Value::Object(object.into_iter().map(|(key, value)| (snake(&key), snake_keys(value))).collect())
        }
        other => other,
    }
}

/// Every operation of the document.
pub fn operations() -> Vec<Operation> {
    let document: Value = serde_json::from_str(&openapi()).expect("the document is JSON");
    let paths = document["paths"].as_object().expect("paths").clone();
    let mut operations = Vec::new();
    for (path, verbs) in paths {
        for (verb, body) in verbs.as_object().expect("verbs") {
            operations.push(Operation {
                id: body["operationId"].as_str().expect("an id").to_owned(),
                method: verb.to_uppercase().parse().expect("a verb"),
                path: path.clone(),
                body: body.clone(),
            });
        }
    }
    operations
}
