//! The API's description for programs: OpenAPI 3.1, made of the routes and their resources.
//!
//! The schemas come from the types that requests are read into and answers are written from. What the
//! API's JSON does to every type alike is done here to every schema: keys in camelCase, 64-bit integers
//! as texts (`tarn_json` says more).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use tarn_json::camel;

use crate::error::{Code, Refusal};
use crate::operation::{Access, Operation, Resource};
use crate::routes;

const DESCRIPTION: &str = "\
Replicates one data store (a peer) into another through a mirror; scripts transform records on the way.

Keys are read in camelCase and in snake_case, enumerations by name and by number, 64-bit integers as \
JSON numbers and as strings; null means absent, and unknown keys are ignored. Answers have camelCase keys, \
every scalar, 64-bit integers as strings, enumerations by name.

Every answer that is not a success has the body of a Refusal. Creating a peer and changing a mirror's state \
report what went wrong with the operation in the body of a success.";

/// The refusals that every route with credentials may answer, and routes that take input.
const EVERYWHERE: [Code; 4] =
    [Code::Unauthenticated, Code::ResourceExhausted, Code::Internal, Code::Unavailable];

/// The document as text, indented, ending with a line break: what is checked into the repository.
pub fn openapi() -> String {
    let document = document(&routes::operations());
    let mut text = serde_json::to_string_pretty(&document).expect("a document is plain JSON");
    text.push('\n');
    text
}

fn document(operations: &[Operation]) -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let mut schemas = BTreeMap::new();
    let mut refusals: BTreeSet<u16> = BTreeSet::new();
    let mut add = |resource: &Resource| {
        for (name, schema) in &resource.schemas {
            let mut schema = serde_json::to_value(schema).expect("a schema is plain JSON");
            as_written(&mut schema);
            let earlier = schemas.insert(name.clone(), schema.clone());
            assert!(earlier.is_none_or(|earlier| earlier == schema), "two resources are called {name}");
        }
    };
    add(&Resource::of::<Refusal>());
    for operation in operations {
        for resource in operation.request.iter().chain(&operation.answer) {
            add(resource);
        }
        refusals.extend(refusals_of(operation).iter().map(|code| code.status().as_u16()));
        let described = described(operation);
        paths.entry(operation.path).or_default().insert(operation.verb.key().to_owned(), described);
    }
    let responses: Map<String, Value> = refusals.into_iter().map(refusal_response).collect();
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Tarn", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "security": [{"basic": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic",
                "description": "The configured user, empty unless set, and the password."}},
        },
    })
}

fn refusals_of(operation: &Operation) -> Vec<Code> {
    let mut codes = operation.refusals.clone();
    if operation.access == Access::Credentials {
        codes.extend(EVERYWHERE);
    }
    if operation.request.is_some() || !operation.parameters.is_empty() {
        codes.push(Code::InvalidArgument);
    }
    codes
}

fn described(operation: &Operation) -> Value {
    let mut responses = Map::new();
    let answer = operation.answer.as_ref().map_or_else(
        || json!({"schema": {"type": "object"}}),
        |answer| json!({"schema": reference(&answer.name), "example": operation.example_of("answer")}),
    );
    let content = match operation.media {
        Some(media) => json!({media: {"schema": {"type": "string", "format": "binary"}}}),
        None => json!({"application/json": answer}),
    };
    responses.insert("200".into(), json!({"description": "Done.", "content": content}));
    for code in refusals_of(operation) {
        let status = code.status().as_u16().to_string();
        responses.insert(status.clone(), json!({"$ref": format!("#/components/responses/{status}")}));
    }
    let mut described = json!({
        "operationId": camel(operation.example.name),
        "summary": operation.summary,
        "tags": [tag(operation.path)],
        "responses": responses,
    });
    if operation.access == Access::Anyone {
        described["security"] = json!([]);
    }
    if !operation.parameters.is_empty() {
        described["parameters"] = parameters(operation);
    }
    if let Some(request) = &operation.request {
        let content = json!({"schema": reference(&request.name), "example": operation.example_of("request")});
        described["requestBody"] = json!({"required": true, "content": {"application/json": content}});
    }
    described
}

/// The parameters, each with its value in the example.
fn parameters(operation: &Operation) -> Value {
    let examples = [operation.example_of("path"), operation.example_of("query")];
    let described = operation.parameters.iter().map(|parameter| {
        let mut described = serde_json::to_value(parameter).expect("a parameter is plain JSON");
        as_written(&mut described);
        let name = &parameter.name;
        if let Some(value) = examples.iter().flatten().find_map(|example| example.get(name)) {
            described["example"] = value.clone();
        }
        described
    });
    described.collect()
}

/// The part of the API that a path belongs to: its first word after the version.
fn tag(path: &str) -> &str {
    let rest = path.strip_prefix("/api/v1/").unwrap_or("health");
    rest.split('/').next().unwrap_or(rest)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn refusal_response(status: u16) -> (String, Value) {
    let examples: Value = serde_json::from_str(include_str!("examples/refusals.json"))
        .unwrap_or_else(|error| panic!("the examples of refusals are no JSON: {error}"));
    let example = &examples[status.to_string()];
    let content = json!({"schema": reference("Refusal"), "example": example["answer"]});
    let response = json!({"description": example["description"], "content": {"application/json": content}});
    (status.to_string(), response)
}

/// Changes a schema of a Rust type into that of its JSON in the API.
fn as_written(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(as_written),
        Value::Object(object) => {
            // A type's own default is an empty value; what the API takes for it is decided elsewhere.
            if object.contains_key("type") || object.contains_key("$ref") || object.contains_key("oneOf") {
                object.remove("default");
            }
            if object.get("format").is_some_and(|format| format == "int64") {
                whole_number_as_text(object);
            }
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                *properties = std::mem::take(properties)
                    .into_iter()
                    .map(|(name, property)| (camel(&name), property))
                    .collect();
            }
            if let Some(Value::Array(required)) = object.get_mut("required") {
                for name in required {
                    *name = camel(name.as_str().unwrap_or_default()).into();
                }
            }
            object.values_mut().for_each(as_written);
        }
        _ => {}
    }
}

fn whole_number_as_text(schema: &mut Map<String, Value>) {
    let unsigned = schema.remove("minimum").is_some();
    let kind = match schema.get("type") {
        Some(Value::Array(_)) => json!(["string", "null"]),
        _ => json!("string"),
    };
    schema.insert("type".into(), kind);
    schema.insert("pattern".into(), if unsigned { "^[0-9]+$" } else { "^-?[0-9]+$" }.into());
}
