//! tarn-wasm
