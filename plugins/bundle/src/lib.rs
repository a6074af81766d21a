//! The first-party plugins, built from source with the host and carried inside it: the binary runs
//! with nothing beside it.
//!
//! It holds bytes and manifests and knows nothing of what loads them. Invariant: no built plugin is kept
//! in the repository; `build.rs` makes each from `plugins/<name>` by `plugins/build`.

/// The PostgreSQL source, a component of the world `source-plugin`.
pub static POSTGRES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/postgres.wasm"));
/// Its manifest.
pub static POSTGRES_MANIFEST: &str = include_str!("../../postgres/plugin.toml");

/// The ClickHouse destination, a component of the world `destination-plugin`.
pub static CLICKHOUSE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clickhouse.wasm"));
/// Its manifest.
pub static CLICKHOUSE_MANIFEST: &str = include_str!("../../clickhouse/plugin.toml");

/// The Kafka destination, a component of the world `destination-plugin`.
pub static KAFKA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kafka.wasm"));
/// Its manifest.
pub static KAFKA_MANIFEST: &str = include_str!("../../kafka/plugin.toml");

/// The Lua runtime, a core module of the world `script-plugin` without a script: the script compiler
/// loads one into it and makes the component.
pub static SCRIPT_LUA: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/script-lua.wasm"));
/// Its manifest, which every script compiled from it shares.
pub static SCRIPT_LUA_MANIFEST: &str = include_str!("../../script-lua/plugin.toml");

/// The JavaScript runtime, as the Lua one.
pub static SCRIPT_JAVASCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/script-javascript.wasm"));
/// Its manifest, which every script compiled from it shares.
pub static SCRIPT_JAVASCRIPT_MANIFEST: &str = include_str!("../../script-javascript/plugin.toml");
