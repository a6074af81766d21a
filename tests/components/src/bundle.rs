//! The first-party plugins load under their manifests.

use tarn_wasm::{Capabilities, Kind, Limits, Manifest};

use crate::sandbox::loaded;

#[tokio::test]
async fn the_postgres_plugin_is_a_source() {
    let manifest = Manifest::parse(tarn_bundle::POSTGRES_MANIFEST).expect("valid manifest");
    let (runtime, _) = loaded().await;
    let component = runtime.load(&manifest, tarn_bundle::POSTGRES).await.expect("loaded");
    assert!(component.is(Kind::Source));
    let mut source =
        runtime.source(&component, Capabilities::none(), Limits::connector()).await.expect("instance");
    let settings = r#"{"mirror":"m","slot":"s","publication":"p","publicationManaged":true,"tables":[{"source":"public.t"}]}"#;
    source.configure(settings).await.expect("configured");
}

#[tokio::test]
async fn the_clickhouse_plugin_is_a_destination() {
    let manifest = Manifest::parse(tarn_bundle::CLICKHOUSE_MANIFEST).expect("valid manifest");
    let (runtime, _) = loaded().await;
    let component = runtime.load(&manifest, tarn_bundle::CLICKHOUSE).await.expect("loaded");
    assert!(component.is(Kind::Destination));
    let mut destination =
        runtime.destination(&component, Capabilities::none(), Limits::connector()).await.expect("instance");
    let settings = r#"{"mirror":"m","tables":[{"source":"public.t","destination":"t"}]}"#;
    destination.configure(settings).await.expect("configured");
}

#[tokio::test]
async fn the_lua_runtime_is_a_script() {
    let manifest = Manifest::parse(tarn_bundle::SCRIPT_LUA_MANIFEST).expect("valid manifest");
    let (runtime, _) = loaded().await;
    let component = runtime.load(&manifest, tarn_bundle::SCRIPT_LUA).await.expect("loaded");
    assert!(component.is(Kind::Script));
    runtime.script(&component, Capabilities::none(), Limits::script()).await.expect("instance");
}
