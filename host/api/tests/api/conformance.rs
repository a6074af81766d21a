//! The document and the server, held against each other by a tool that knows neither.

use std::future::IntoFuture as _;

use tarn_api::Limits;
use tarn_harness::Schemathesis;
use tokio::net::TcpListener;

use crate::fixture::{AUTHORIZATION, Fixture};

/// What the tool looks at in every answer. Left out are the checks that presume what this API promises its
/// clients not to do: it takes unknown keys, both spellings and numbers as texts, so that much of what the
/// document does not describe is taken too.
const CHECKS: [&str; 6] = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_document_allows_or_forbids_the_answer_is_one_that_it_describes() {
    // The tool tries without credentials and with wrong ones, of one address, more often than people may.
    let fixture = Fixture::within(Limits { failed_logins_max: u32::MAX, ..Limits::default() }).await;
    fixture.play_the_shop().await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let url = format!("http://{}/api/v1/openapi.json", listener.local_addr().expect("an address"));
    let server = tokio::spawn(axum::serve(listener, fixture.router()).into_future());
    let run = Schemathesis { seed: 0x7461_726e, examples: 15, checks: &CHECKS };
    let found = tokio::task::spawn_blocking(move || run.check(&url, AUTHORIZATION)).await.expect("it ran");
    server.abort();
    if let Err(report) = found {
        panic!("{report}");
    }
}
