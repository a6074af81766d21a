//! A route with everything that a client must know of it. The router and the OpenAPI document are made of
//! these alone, so that neither has a route the other lacks.

use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, post};
use serde_json::Value;
use tarn_control::Control;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, Required};
use utoipa::{IntoParams, ToSchema};

use crate::error::Code;

/// The verb of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    /// Its key in an OpenAPI document.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Credentials,
    Anyone,
}

/// A request and its answer, as a file of `examples`: `{"path": {…}, "query": {…}, "request": {…},
/// "answer": {…}}`, each part where the route has it. The tests send every one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    /// The file's name, which becomes the operation's id.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The example of that name.
macro_rules! example {
    ($name:literal) => {
        crate::operation::Example {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples/", $name, ".json")),
        }
    };
}
pub(crate) use example;

/// A resource by the name it has in the document, with all that it refers to.
#[derive(Clone)]
pub(crate) struct Resource {
    pub(crate) name: String,
    pub(crate) schemas: Vec<(String, RefOr<Schema>)>,
}

impl Resource {
    pub(crate) fn of<T: ToSchema>() -> Self {
        let mut schemas = Vec::new();
        T::schemas(&mut schemas);
        schemas.push((T::name().into_owned(), T::schema()));
        Self { name: T::name().into_owned(), schemas }
    }
}

/// A route.
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    pub(crate) example: Example,
    pub(crate) handler: MethodRouter<Control>,
    pub(crate) access: Access,
    pub(crate) summary: &'static str,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) request: Option<Resource>,
    pub(crate) answer: Option<Resource>,
    /// The media type of an answer that is no JSON.
    pub(crate) media: Option<&'static str>,
    /// What it refuses with, beyond what every route may.
    pub(crate) refusals: Vec<Code>,
}

impl Operation {
    /// A route that reads.
    pub(crate) fn get<H, T>(path: &'static str, example: Example, handler: H) -> Self
    where
        H: Handler<T, Control>,
        T: 'static,
    {
        Self::new(Verb::Get, path, example, get(handler))
    }

    /// A route that takes a body.
    pub(crate) fn post<H, T>(path: &'static str, example: Example, handler: H) -> Self
    where
        H: Handler<T, Control>,
        T: 'static,
    {
        Self::new(Verb::Post, path, example, post(handler))
    }

    /// A route that removes.
    pub(crate) fn delete<H, T>(path: &'static str, example: Example, handler: H) -> Self
    where
        H: Handler<T, Control>,
        T: 'static,
    {
        Self::new(Verb::Delete, path, example, delete(handler))
    }

    fn new(verb: Verb, path: &'static str, example: Example, handler: MethodRouter<Control>) -> Self {
        Self {
            verb,
            path,
            example,
            handler,
            access: Access::Credentials,
            summary: "",
            parameters: Vec::new(),
            request: None,
            answer: None,
            media: None,
            refusals: Vec::new(),
        }
    }

    /// What it does, in a sentence or two.
    pub(crate) fn about(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// It is served without credentials.
    pub(crate) fn open(mut self) -> Self {
        self.access = Access::Anyone;
        self
    }

    /// A name in its path.
    pub(crate) fn names(self, parameter: &'static str, description: &'static str) -> Self {
        self.in_path(parameter, description, Type::String)
    }

    /// A number in its path.
    pub(crate) fn numbers(self, parameter: &'static str, description: &'static str) -> Self {
        self.in_path(parameter, description, Type::Integer)
    }

    fn in_path(mut self, parameter: &'static str, description: &'static str, of: Type) -> Self {
        let schema = ObjectBuilder::new().schema_type(of);
        let parameter = ParameterBuilder::new()
            .name(parameter)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(description))
            .schema(Some(schema));
        self.parameters.push(parameter.build());
        self
    }

    /// What it takes in the URL's query.
    pub(crate) fn asks<T: IntoParams>(mut self) -> Self {
        self.parameters.extend(T::into_params(|| Some(ParameterIn::Query)));
        self
    }

    /// What it takes as a body.
    pub(crate) fn takes<T: ToSchema>(mut self) -> Self {
        self.request = Some(Resource::of::<T>());
        self
    }

    /// What it answers with success.
    pub(crate) fn answers<T: ToSchema>(mut self) -> Self {
        self.answer = Some(Resource::of::<T>());
        self
    }

    /// It answers bytes of a media type.
    pub(crate) fn answers_bytes(mut self, media: &'static str) -> Self {
        self.media = Some(media);
        self
    }

    /// What it refuses with.
    pub(crate) fn refuses(mut self, codes: &[Code]) -> Self {
        self.refusals.extend_from_slice(codes);
        self
    }

    /// A part of its example.
    pub(crate) fn example_of(&self, part: &str) -> Option<Value> {
        let example: Value = serde_json::from_str(self.example.text)
            .unwrap_or_else(|error| panic!("the example {} is no JSON: {error}", self.example.name));
        example.get(part).cloned()
    }
}
