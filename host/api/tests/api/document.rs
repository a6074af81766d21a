//! The OpenAPI document: what it says is so, and what is so it says.

use std::collections::BTreeSet;
use std::path::Path;

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use tarn_api::openapi;

use crate::fixture::Fixture;

fn document() -> Value {
    serde_json::from_str(&openapi()).expect("the document is JSON")
}

#[test]
fn the_document_in_the_repository_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    if std::env::var_os("TARN_UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, openapi()).expect("the document is written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == openapi(),
        "host/api/openapi.json is not what the code says; bring it up to date with\n  \
         TARN_UPDATE_OPENAPI=1 cargo test --workspace --test api document"
    );
}

#[tokio::test]
async fn the_document_is_served_to_those_who_have_credentials() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.get("openapi.json").await.ok(), document());
    let anonymous = Request::get("/api/v1/openapi.json").body(Body::empty()).expect("a request");
    assert_eq!(fixture.send(anonymous).await.refusal(), (401, 16, vec![]));
}

/// Calls `see` with every object of a value and its path.
fn walk(value: &Value, path: &str, see: &mut impl FnMut(&serde_json::Map<String, Value>, &str)) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{path}/{index}"), see);
            }
        }
        Value::Object(object) => {
            see(object, path);
            for (key, item) in object {
                walk(item, &format!("{path}/{key}"), see);
            }
        }
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_referred_to() {
    let document = document();
    let mut referred = BTreeSet::new();
    walk(&document, "", &mut |object, path| {
        let Some(Value::String(reference)) = object.get("$ref") else { return };
        let pointer = reference.strip_prefix('#').expect("a reference into the document");
        assert!(document.pointer(pointer).is_some(), "{path} refers to {reference}");
        referred.insert(reference.clone());
    });
    for name in document["components"]["schemas"].as_object().expect("schemas").keys() {
        assert!(referred.contains(&format!("#/components/schemas/{name}")), "nothing refers to {name}");
    }
}

#[test]
fn every_property_and_parameter_is_described_in_camel_case_and_64_bits_are_texts() {
    let document = document();
    walk(&document["components"]["schemas"], "", &mut |object, path| {
        if object.get("format").is_some_and(|format| format == "int64") {
            assert!(object["type"] == "string" || object["type"][0] == "string", "{path}");
        }
        let Some(Value::Object(properties)) = object.get("properties") else { return };
        for (name, property) in properties {
            assert!(!name.contains('_'), "{path}/{name}");
            let described =
                ["description", "$ref", "oneOf", "allOf"].iter().any(|key| property.get(key).is_some());
            assert!(described, "{path}/{name} has no description");
        }
    });
    walk(&document["paths"], "", &mut |object, path| {
        if object.contains_key("in") {
            assert!(object["description"].as_str().is_some_and(|text| !text.is_empty()), "{path}");
        }
    });
}

#[test]
fn no_description_is_written_for_programmers_of_the_server() {
    walk(&document(), "", &mut |object, path| {
        let text = object.get("description").and_then(Value::as_str).unwrap_or_default();
        assert!(!text.contains("[`") && !text.contains("::"), "{path}: {text}");
    });
}

#[tokio::test]
async fn what_the_document_says_of_a_route_holds_without_credentials_and_with_nonsense() {
    let fixture = Fixture::new().await;
    for (path, verbs) in document()["paths"].as_object().expect("paths") {
        for (verb, operation) in verbs.as_object().expect("verbs") {
            let url = path.replace("{id}", "5").replace(['{', '}'], "");
            let request = Request::builder().method(verb.to_uppercase().as_str()).uri(&url);
            let reply = fixture.send(request.body(Body::empty()).expect("a request")).await;
            let open = operation.get("security").is_some();
            assert_eq!(reply.status.as_u16() == 401, !open, "{verb} {path}");
            if operation.get("requestBody").is_some() {
                let route = path.strip_prefix("/api/v1/").expect("a versioned path");
                assert_eq!(
                    fixture.post_text(route, "{").await.refusal(),
                    (400, 3, vec![String::new()]),
                    "{path}"
                );
            }
        }
    }
}
