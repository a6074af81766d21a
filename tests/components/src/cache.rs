//! A component is compiled once.

use std::fs;
use std::path::{Path, PathBuf};

use tarn_wasm::{Capabilities, Component, Origin, Runtime, RuntimeConfig};

use crate::sandbox::{MISBEHAVING, manifest, read, tight};

/// Loads the bad guest in a sandbox of its own, as a new process would.
async fn load(dir: &Path) -> (Runtime, Component) {
    let config =
        RuntimeConfig { cache_dir: Some(dir.to_owned()), instances_max: 2, ..RuntimeConfig::default() };
    let runtime = Runtime::new(config).expect("sandbox");
    let component = runtime.load(&manifest(), MISBEHAVING).await.expect("loaded");
    (runtime, component)
}

async fn works(runtime: &Runtime, component: &Component) {
    let mut source = runtime.source(component, Capabilities::none(), tight()).await.expect("instance");
    source.configure(r#"{"mirror":"good"}"#).await.expect("configured");
    read(&mut source).await.expect("read");
}

fn entry(dir: &Path) -> PathBuf {
    let mut entries = fs::read_dir(dir).expect("folder").map(|entry| entry.expect("entry").path());
    let entry = entries.next().expect("an entry");
    assert_eq!(entries.next(), None, "one component, one entry");
    entry
}

#[tokio::test]
async fn the_second_load_does_not_compile() {
    let dir = tempfile::tempdir().expect("temporary folder");
    assert_eq!(load(dir.path()).await.1.origin(), Origin::Compiled);
    let (runtime, component) = load(dir.path()).await;
    assert_eq!(component.origin(), Origin::Cached);
    works(&runtime, &component).await;
}

#[tokio::test]
async fn a_corrupted_entry_is_compiled_again() {
    let dir = tempfile::tempdir().expect("temporary folder");
    load(dir.path()).await;
    let path = entry(dir.path());
    let whole = fs::read(&path).expect("entry");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [flipped, whole[..whole.len() / 2].to_vec(), Vec::new(), b"garbage".to_vec()] {
        fs::write(&path, damaged).expect("damage");
        let (runtime, component) = load(dir.path()).await;
        assert_eq!(component.origin(), Origin::Compiled);
        works(&runtime, &component).await;
        assert_eq!(load(dir.path()).await.1.origin(), Origin::Cached);
    }
}

#[tokio::test]
async fn another_component_has_another_entry() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let (runtime, _) = load(dir.path()).await;
    let mut bytes = MISBEHAVING.to_vec();
    // An empty custom section at the end: the same guest with another digest.
    bytes.extend(b"\0\x05\x04note");
    let other = runtime.load(&manifest(), bytes).await.expect("loaded");
    assert_eq!(other.origin(), Origin::Compiled);
}
