//! What uploaded bytes are, and how a core module becomes a component.

use std::borrow::Cow;

use wasmtime::{Engine, Module};
use wit_component::ComponentEncoder;

use crate::config::COMPONENT_BYTES_MAX;
use crate::error::LoadError;

/// What every WebAssembly file starts with.
const MAGIC: [u8; 4] = *b"\0asm";
/// Then two bytes of version and two that tell the layer.
const HEADER_LEN: usize = 8;
const LAYER_MODULE: [u8; 2] = [0, 0];
const LAYER_COMPONENT: [u8; 2] = [1, 0];

/// The bytes as a component: as they are, or encoded from a core module that carries its component type
/// (what a build with the SDK for a plain wasm target leaves).
pub(crate) fn component_of<'a>(
    engine: &Engine,
    plugin: &str,
    bytes: &'a [u8],
) -> Result<Cow<'a, [u8]>, LoadError> {
    if bytes.len() > COMPONENT_BYTES_MAX {
        return Err(LoadError::TooLarge {
            plugin: plugin.to_owned(),
            bytes: bytes.len(),
            bytes_max: COMPONENT_BYTES_MAX,
        });
    }
    let header = bytes.first_chunk::<HEADER_LEN>().filter(|header| header[..4] == MAGIC);
    match header.map(|header| [header[6], header[7]]) {
        Some(LAYER_COMPONENT) => Ok(Cow::Borrowed(bytes)),
        Some(LAYER_MODULE) => encode(engine, plugin, bytes).map(Cow::Owned),
        _ => Err(LoadError::NotWasm { plugin: plugin.to_owned() }),
    }
}

fn encode(engine: &Engine, plugin: &str, module: &[u8]) -> Result<Vec<u8>, LoadError> {
    let malformed = |error: Box<dyn std::error::Error + Send + Sync>| LoadError::Malformed {
        plugin: plugin.to_owned(),
        source: error,
    };
    // First of all: what comes after takes a module's structure for granted.
    Module::validate(engine, module).map_err(|error| malformed(error.into_boxed_dyn_error()))?;
    let (_, bindgen) = wit_component::metadata::decode(module).map_err(|error| malformed(error.into()))?;
    if bindgen.resolve.worlds.iter().all(|(_, world)| world.exports.is_empty()) {
        return Err(LoadError::NotAComponent { plugin: plugin.to_owned() });
    }
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.encode())
        .map_err(|error| malformed(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::default()
    }

    #[test]
    fn bytes_that_are_not_wasm_are_refused() {
        for bytes in [&b""[..], b"\0as", b"#!/bin/sh\n", b"\0asm\x01\0\x07\0"] {
            let error = component_of(&engine(), "p", bytes).expect_err("not wasm");
            assert!(matches!(error, LoadError::NotWasm { .. }), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn a_core_module_without_a_component_type_is_refused() {
        let error = component_of(&engine(), "p", b"\0asm\x01\0\0\0").expect_err("no component");
        assert!(matches!(error, LoadError::NotAComponent { .. }), "{error}");
    }

    #[test]
    fn a_component_stays_as_it_is() {
        let bytes = b"\0asm\x0d\0\x01\0";
        assert!(matches!(component_of(&engine(), "p", bytes), Ok(Cow::Borrowed(kept)) if kept == bytes));
    }
}
