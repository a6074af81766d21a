//! What is wrong with a component is said before it runs (B251, B253).

use tarn_model::Failure;
use tarn_wasm::{Capabilities, Kind, LoadError, Manifest};

use crate::sandbox::{MISBEHAVING, loaded, manifest, read, runtime, tight};

async fn refused(manifest: &Manifest, bytes: Vec<u8>) -> LoadError {
    loaded().await.0.load(manifest, bytes).await.expect_err("refused")
}

/// The version of the contract that the guest was built for, as it names it.
const OF_NOW: &str = "@0.1.3";

/// The bad guest with a text in it replaced by another of the same length.
fn with(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = MISBEHAVING.to_vec();
    let mut replaced = 0;
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            replaced += 1;
        }
    }
    assert!(replaced > 0, "the guest does not say {from}");
    bytes
}

#[tokio::test]
async fn a_core_module_is_loaded_as_the_component_it_describes() {
    let (_, component) = loaded().await;
    assert_eq!(component.plugin(), "misbehaving");
    assert!(component.is(Kind::Source) && !component.is(Kind::Script));
}

#[tokio::test]
async fn a_capability_that_was_not_granted_is_refused_by_name() {
    let text = r#"
        manifest = 1
        name = "greedy"
        version = "0.1.0"
        kinds = ["source"]
        capabilities = ["log", "clock"]
    "#;
    let error = refused(&Manifest::parse(text).expect("valid manifest"), MISBEHAVING.to_vec()).await;
    assert_eq!(
        error.to_string(),
        "the plugin greedy imports the capability clickhouse, which it is not granted"
    );
    assert_eq!(Failure::from(error).code, "plugin_capability_not_granted");
}

#[tokio::test]
async fn an_unknown_version_is_refused_by_name_with_the_range_served() {
    let error = refused(&manifest(), with(OF_NOW, "@0.9.0")).await;
    let LoadError::UnknownVersion { interface, .. } = &error else { panic!("{error}") };
    assert!(interface.starts_with("tarn:plugin/") && interface.ends_with("@0.9.0"), "{interface}");
    assert!(error.to_string().ends_with("this host serves 0.1.x"), "{error}");
}

#[tokio::test]
async fn a_component_of_an_earlier_or_later_version_of_the_line_runs() {
    let runtime = runtime();
    for version in ["@0.1.0", "@0.1.9"] {
        let component = runtime.load(&manifest(), with(OF_NOW, version)).await.expect("of the line");
        let mut source = runtime.source(&component, Capabilities::none(), tight()).await.expect("instance");
        source.configure(r#"{"mirror": "good"}"#).await.expect("configured");
        assert_eq!(read(&mut source).await.expect("reads").sequence, 7, "{version}");
    }
}

#[tokio::test]
async fn a_component_that_leaves_inspection_out_says_so_when_it_is_asked() {
    let (runtime, component) = loaded().await;
    let asked = runtime.inspection(component, Capabilities::none(), tight()).await;
    let failure = asked.err().expect("it exports no inspection");
    assert_eq!(failure.code, "plugin_inspection_missing");
    assert!(failure.message.contains("misbehaving"), "{failure}");
}

#[tokio::test]
async fn an_unknown_interface_is_refused_by_name() {
    let error = refused(&manifest(), with("clock", "flock")).await;
    assert_eq!(
        error.to_string(),
        format!("the plugin misbehaving needs tarn:plugin/flock{OF_NOW}, which this host does not have")
    );
}

#[tokio::test]
async fn a_plugin_that_is_not_what_its_manifest_says_is_refused() {
    let text = r#"
        manifest = 1
        name = "pretender"
        version = "0.1.0"
        kinds = ["source", "destination"]
        capabilities = ["log", "clock", "clickhouse"]
    "#;
    let error = refused(&Manifest::parse(text).expect("valid manifest"), MISBEHAVING.to_vec()).await;
    assert_eq!(
        error.to_string(),
        "the plugin pretender is no destination: it does not export that interface"
    );
}

#[tokio::test]
async fn a_script_that_is_a_source_is_refused() {
    let error = refused(&Manifest::script("mask"), MISBEHAVING.to_vec()).await;
    assert!(
        matches!(error, LoadError::CapabilityNotGranted { .. } | LoadError::KindMissing { .. }),
        "{error}"
    );
}

/// Where the sections of a module end.
fn section_ends(module: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 8;
    while at < module.len() {
        let (mut length, mut shift) = (0, 0);
        at += 1;
        loop {
            let byte = module[at];
            length |= usize::from(byte & 0x7f) << shift;
            (at, shift) = (at + 1, shift + 7);
            if byte & 0x80 == 0 {
                break;
            }
        }
        at += length;
        ends.push(at);
    }
    ends
}

#[tokio::test]
async fn a_truncated_module_is_refused_at_every_length() {
    let step = MISBEHAVING.len() / 50;
    let ends = section_ends(MISBEHAVING);
    // Cut off between two sections it may be whole: those at the end only name things.
    for len in (0..MISBEHAVING.len() - 1).step_by(step).filter(|len| !ends.contains(len)) {
        let failure = Failure::from(refused(&manifest(), MISBEHAVING[..len].to_vec()).await);
        let codes = ["plugin_not_wasm", "plugin_not_a_component", "plugin_malformed"];
        assert!(codes.contains(&failure.code.as_str()), "{len} bytes: {failure}");
    }
}

#[tokio::test]
async fn a_truncated_component_is_refused_at_every_length() {
    let component = tarn_bundle::POSTGRES;
    let manifest = Manifest::parse(tarn_bundle::POSTGRES_MANIFEST).expect("valid manifest");
    let step = component.len() / 50;
    for len in (8..component.len() - 1).step_by(step) {
        let failure = Failure::from(refused(&manifest, component[..len].to_vec()).await);
        let codes = ["plugin_malformed", "plugin_kind_missing"];
        assert!(codes.contains(&failure.code.as_str()), "{len} bytes: {failure}");
    }
}

#[tokio::test]
async fn a_core_module_without_a_component_type_is_refused() {
    let failure = Failure::from(refused(&manifest(), b"\0asm\x01\0\0\0".to_vec()).await);
    assert_eq!(failure.code, "plugin_not_a_component");
}

#[tokio::test]
async fn damaged_bytes_never_harm_the_host() {
    // A fixed seed: the same damage each time.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let runtime = runtime();
    for _ in 0..30 {
        let mut bytes = MISBEHAVING.to_vec();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= (state >> 25) as u8 | 1;
        }
        // Refused or, where the damage hit no structure, loaded: either is an answer.
        drop(runtime.load(&manifest(), bytes).await);
    }
}
