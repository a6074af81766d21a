//! Every operation with everything that can be wrong with its request, one thing at a time. The good requests
//! are the document's examples, which `story` sends.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::described::{Operation, Spelling, operations};
use crate::fixture::Fixture;

/// The places of a request that have a value, each with the path that a refusal names, in snake_case.
fn places(value: &Value, pointer: &str, path: &str, found: &mut Vec<(String, String)>) {
    if !pointer.is_empty() {
        found.push((pointer.to_owned(), path.to_owned()));
    }
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                places(value, &format!("{pointer}/{key}"), &path, found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, &format!("{pointer}/{index}"), &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// A value that no field of the given one's place takes.
fn of_another_type(value: &Value) -> Value {
    match value {
        Value::Array(_) => json!({"a": 1}),
        _ => json!([[1]]),
    }
}

async fn send(fixture: &Fixture, operation: &Operation, path: &str, body: String) -> crate::fixture::Reply {
    fixture.call(operation.method.clone(), path, body).await
}

#[tokio::test]
async fn a_field_of_another_json_type_is_400_naming_its_path_on_every_operation() {
    let fixture = Fixture::new().await.with_peers().await;
    let mut tried = 0;
    for operation in operations() {
        let (path, Some(request)) = operation.request(Spelling::Snake) else { continue };
        let mut found = Vec::new();
        places(&request, "", "", &mut found);
        for (pointer, field) in found {
            let mut wrong = request.clone();
            let place = wrong.pointer_mut(&pointer).expect("it was found there");
            *place = of_another_type(place);
            let reply = send(&fixture, &operation, &path, wrong.to_string()).await;
            assert_eq!(reply.refusal(), (400, 3, vec![field]), "{}: {wrong}", operation.id);
            tried += 1;
        }
    }
    assert!(tried > 50, "only {tried} fields were tried");
}

#[tokio::test]
async fn a_parameter_that_cannot_be_read_is_400_on_every_operation() {
    let fixture = Fixture::new().await.with_peers().await;
    let mut tried = 0;
    for operation in operations() {
        let (path, _) = operation.request(Spelling::Snake);
        for parameter in operation.body["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name");
            let of_texts = parameter["schema"]["type"] == "string" && parameter["schema"]["format"].is_null();
            let wrong = if of_texts { "%00" } else { "wrong" };
            let url = if parameter["in"] == "path" {
                operation.path.replace(&format!("{{{name}}}"), wrong)
            } else {
                let (route, query) = path.split_once('?').unwrap_or((&path, ""));
                let others = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with(name));
                let others: Vec<_> = others.collect();
                format!("{route}?{name}={wrong}&{}", others.join("&"))
            };
            let reply = send(&fixture, &operation, url.trim_end_matches('&'), String::new()).await;
            let (status, code, fields) = reply.refusal();
            assert_eq!((status, code), (400, 3), "{} {url}: {}", operation.id, reply.text);
            if parameter["in"] == "query" {
                assert_eq!(fields, [name], "{url}");
            }
            tried += 1;
        }
    }
    assert!(tried > 25, "only {tried} parameters were tried");
}

#[tokio::test]
async fn unknown_keys_are_ignored_and_null_is_absent_on_every_operation() {
    let fixture = Fixture::new().await.with_peers().await;
    for operation in operations() {
        let (path, Some(request)) = operation.request(Spelling::Camel) else { continue };
        let plain = send(&fixture, &operation, &path, request.to_string()).await;
        let mut padded = request.clone();
        let object = padded.as_object_mut().expect("a request is an object");
        object.insert("fromTheFuture".into(), json!({"a": [1, null]}));
        object.insert("from_the_past".into(), Value::Null);
        let padded = send(&fixture, &operation, &path, padded.to_string()).await;
        let same = |reply: &crate::fixture::Reply| (reply.status, reply.json()["code"].clone());
        // What is created by the first is in the way of the second.
        if plain.status != 200 || padded.status != 409 {
            assert_eq!(same(&plain), same(&padded), "{}: {}", operation.id, padded.text);
        }
        let empty: Value =
            request.as_object().expect("an object").keys().map(|key| (key.clone(), Value::Null)).collect();
        let nulls = send(&fixture, &operation, &path, empty.to_string()).await;
        let nothing = send(&fixture, &operation, &path, "{}".to_owned()).await;
        assert_eq!(same(&nulls), same(&nothing), "{}", operation.id);
    }
}

#[tokio::test]
async fn without_credentials_every_operation_is_401_whatever_else_is_wrong() {
    let fixture = Fixture::new().await;
    for operation in operations() {
        let (path, _) = operation.request(Spelling::Camel);
        let request = Request::builder().method(operation.method.clone()).uri(&path).body(Body::from("{"));
        let reply = fixture.send(request.expect("a request")).await;
        if operation.body["security"].is_null() {
            assert_eq!(reply.refusal(), (401, 16, vec![]), "{}", operation.id);
        } else {
            reply.ok();
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_400_on_every_operation_that_takes_one() {
    let fixture = Fixture::new().await;
    for operation in operations().iter().filter(|operation| !operation.body["requestBody"].is_null()) {
        for body in ["{", "[]", "\"x\"", "1", "{\"a\":1} x", "nonsense", "{\"a\":\"\\ud800\"}", "\u{feff}{}"]
        {
            let reply = send(&fixture, operation, &operation.path, body.to_owned()).await;
            assert_eq!(reply.refusal(), (400, 3, vec![String::new()]), "{} {body}", operation.id);
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert_eq!(
            send(&fixture, operation, &operation.path, deep).await.refusal().0,
            400,
            "{}",
            operation.id
        );
    }
}

#[tokio::test]
async fn another_verb_is_405_and_says_which_there_are() {
    let fixture = Fixture::new().await;
    for operation in operations() {
        let (path, _) = operation.request(Spelling::Camel);
        let reply = fixture.call(axum::http::Method::PATCH, &path, Body::empty()).await;
        assert_eq!(reply.refusal().0, 405, "{path}");
        let allowed = reply.header(axum::http::header::ALLOW);
        assert!(allowed.split(',').any(|verb| verb == operation.method.as_str()), "{path} allows {allowed}");
    }
}
