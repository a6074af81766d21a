//! The bad guests and the example of a script in Rust as their authors' builds leave them: core modules. They are
//! apart from the tests of the sandbox so that tests of a whole mirror can upload them without linking it.

/// The core module of `guests/misbehaving`.
pub static MISBEHAVING: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/misbehaving.wasm"));

/// The core module of `guests/shouting`.
pub static SHOUTING: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shouting.wasm"));

/// The core module of `guests/lying`.
pub static LYING: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lying.wasm"));

/// The core module of `examples/plugins/regions`.
pub static REGIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/regions.wasm"));
