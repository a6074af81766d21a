//! Every route of the API, one module per resource.

mod batches;
mod flows;
mod instance;
mod later;
mod logs;
mod mirrors;
mod peers;
mod scripts;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::routing::{delete, get, post};
use tarn_control::Control;

use crate::error::{ApiError, Code};

/// All routes over the resources.
pub(crate) fn all() -> Router<Control> {
    Router::new()
        .route("/healthz", get(instance::alive))
        .route("/readyz", get(instance::ready))
        .nest("/api/v1", v1())
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_verb)
}

fn v1() -> Router<Control> {
    Router::new()
        .route("/version", get(instance::version))
        .route("/instance/info", get(instance::info))
        .merge(peer_routes())
        .merge(mirror_routes())
        .route("/scripts", post(scripts::store))
        .route("/scripts/test", post(scripts::test))
        .route("/scripts/{id}", get(scripts::list).merge(delete(scripts::remove)))
        .route("/scripts/{id}/versions", get(scripts::versions))
}

fn peer_routes() -> Router<Control> {
    Router::new()
        .route("/peers/create", post(peers::create))
        .route("/peers/validate", post(peers::validate))
        .route("/peers/compare", post(peers::compare))
        .route("/peers/drop", post(peers::remove))
        .route("/peers/list", get(peers::list))
        .route("/peers/info/{peer_name}", get(peers::info))
        .route("/peers/type/{peer_name}", get(peers::kind))
        .route("/peers/schemas", get(later::unimplemented))
        .route("/peers/publications", get(later::unimplemented))
        .route("/peers/tables", get(later::unimplemented))
        .route("/peers/tables/all", get(later::unimplemented))
        .route("/peers/columns", get(later::unimplemented))
        .route("/peers/slots/{peer_name}", get(later::unimplemented))
        .route("/peers/stats/{peer_name}", get(later::unimplemented))
}

fn mirror_routes() -> Router<Control> {
    Router::new()
        .route("/flows/cdc/create", post(flows::create))
        .route("/flows/tags", post(later::unimplemented))
        .route("/flows/tags/{flow_name}", get(later::unimplemented))
        .route("/mirrors/cdc/validate", post(flows::validate))
        .route("/mirrors/state_change", post(mirrors::change_state))
        .route("/mirrors/list", get(mirrors::list))
        .route("/mirrors/names", get(mirrors::names))
        .route("/mirrors/status", post(mirrors::status))
        .route("/mirrors/logs", post(logs::list))
        .route("/mirrors/cdc/batches", post(batches::list))
        .route("/mirrors/cdc/batches/{flow_job_name}", get(batches::list_by_path))
        .route("/mirrors/cdc/graph", post(later::unimplemented))
        .route("/mirrors/cdc/initial_load/{flow_job_name}", get(mirrors::initial_load))
        .route("/mirrors/cdc/table_total_counts/{flow_job_name}", get(mirrors::table_total_counts))
        .route("/mirrors/total_rows_synced/{flow_job_name}", get(mirrors::total_rows_synced))
        .route("/mirrors/row_counts", post(later::unimplemented))
        .route("/mirrors/verify", post(later::unimplemented))
        .route("/mirrors/verify/{verify_id}", get(later::unimplemented))
}

async fn no_route(request: Request) -> ApiError {
    let message = format!("there is no route {}", request.uri().path());
    ApiError::new(Code::NotFound, message)
}

/// The router adds `Allow` with the verbs there are. The code is that of a method that does not exist.
async fn wrong_verb(method: Method, request: Request) -> ApiError {
    let message = format!("{} does not take {method}", request.uri().path());
    ApiError::new(Code::Unimplemented, message).with_status(StatusCode::METHOD_NOT_ALLOWED)
}
