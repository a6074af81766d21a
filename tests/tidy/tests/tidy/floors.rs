//! A crate imports lower floors only (ARCHITECTURE.md has the drawing).

use std::collections::BTreeMap;

use cargo_metadata::{Dependency, DependencyKind, Package};
use tarn_tidy::{metadata, root};

use crate::assert_none;

/// Where a crate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Shared by host and guests: the batch on the ground, what authors import above it.
    Sdk(u8),
    /// Records and cases as people write them, on the batch: for the host, and for the tests of guests.
    Trial,
    /// The host's floors.
    Host(u8),
    /// A guest.
    Plugin,
    /// The guests' components, as bytes.
    Bundle,
    /// Tests and what they share.
    Test,
}

use Place::{Bundle, Host, Plugin, Sdk, Test, Trial};

/// Every crate of the workspace. A new one takes its place here.
const PLACES: &[(&str, Place)] = &[
    ("tarn-batch", Sdk(0)),
    ("tarn-sdk", Sdk(1)),
    ("tarn-trial", Trial),
    ("tarn-script", Sdk(2)),
    ("tarn-model", Host(0)),
    ("tarn-json", Host(0)),
    ("tarn-replication", Host(1)),
    ("tarn-transport", Host(1)),
    ("tarn-client", Host(2)),
    ("tarn-postgres", Host(2)),
    ("tarn-clickhouse", Host(2)),
    ("tarn-object-store", Host(2)),
    ("tarn-kafka", Host(2)),
    ("tarn-catalog", Host(2)),
    ("tarn-wasm", Host(3)),
    ("tarn-control", Host(4)),
    ("tarn-api", Host(5)),
    ("tarn", Host(6)),
    ("tarn-plugin-postgres", Plugin),
    ("tarn-plugin-clickhouse", Plugin),
    ("tarn-plugin-kafka", Plugin),
    ("tarn-plugin-script-lua", Plugin),
    ("tarn-plugin-script-javascript", Plugin),
    ("tarn-guest-misbehaving", Plugin),
    ("tarn-guest-shouting", Plugin),
    ("tarn-guest-lying", Plugin),
    ("tarn-example-regions", Plugin),
    ("tarn-bundle", Bundle),
    ("tarn-test-modules", Bundle),
    ("tarn-harness", Test),
    ("tarn-e2e", Test),
    ("tarn-components", Test),
    ("tarn-sim", Test),
    ("tarn-bench", Test),
    ("tarn-programs", Test),
    ("tarn-tidy", Test),
];

/// Crates that one crate alone knows, so that what they are made of leaves it nowhere.
const KNOWN_TO_ONE: [(&str, &str); 8] = [
    ("wasmtime", "tarn-wasm"),
    ("wasmtime-wizer", "tarn-wasm"),
    ("wasmtime-wasi", "tarn-wasm"),
    ("sqlx", "tarn-catalog"),
    ("postgres-protocol", "tarn-postgres"),
    ("russh", "tarn-transport"),
    ("wit-bindgen", "tarn-sdk"),
    ("rquickjs-sys", "tarn-plugin-script-javascript"),
];

fn place(package: &str) -> Option<Place> {
    PLACES.iter().find(|(name, _)| *name == package).map(|(_, place)| *place)
}

/// The workspace's crates that a crate imports: for its own tests it may take the harness beside them.
fn imports(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| dependency.path.is_some()).filter(|dependency| {
        dependency.kind != DependencyKind::Development || dependency.name != "tarn-harness"
    })
}

fn may_import(importer: Place, imported: Place) -> bool {
    match (importer, imported) {
        (Test, _) => true,
        (_, Test) => false,
        (Sdk(above), Sdk(below)) | (Host(above), Host(below)) => below < above,
        // The host reads batches; what is for authors is not for it.
        (Host(_), Sdk(floor)) => floor == 0,
        // Only the binary carries the plugins.
        (Host(floor), Bundle) => floor == 6,
        (Trial, Sdk(floor)) => floor == 0,
        (Host(_) | Plugin, Trial) => true,
        (Plugin, Sdk(_)) => true,
        (Sdk(_) | Trial | Plugin | Bundle, _) | (Host(_), Plugin) => false,
    }
}

#[test]
fn every_crate_has_its_floor_and_imports_lower_ones_only() {
    let metadata = metadata();
    let mut broken = Vec::new();
    for package in metadata.workspace_packages() {
        let Some(importer) = place(&package.name) else {
            broken.push(format!("{} has no floor", package.name));
            continue;
        };
        for import in imports(package) {
            match place(&import.name) {
                Some(imported) if may_import(importer, imported) => {}
                imported => {
                    broken.push(format!(
                        "{} ({importer:?}) imports {} ({imported:?})",
                        package.name, import.name
                    ));
                }
            }
        }
    }
    for (name, _) in PLACES {
        if !metadata.workspace_packages().iter().any(|package| package.name == *name) {
            broken.push(format!("{name} has a floor but is no crate of the workspace"));
        }
    }
    assert_none("a crate imports lower floors only", &broken);
}

/// The floors of the host's folders as the drawing has them: rows of a floor and one or more folders.
fn drawn() -> BTreeMap<String, u8> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the drawing is there");
    let mut drawn = BTreeMap::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let mut cells = row.split(" | ");
        let (Some(Ok(floor)), Some(folders)) = (cells.next().map(str::parse), cells.next()) else { continue };
        let folders = folders.split(", ").map(|folder| folder.trim_matches('`').to_owned());
        drawn.extend(folders.filter(|folder| folder.starts_with("host/")).map(|folder| (folder, floor)));
    }
    drawn
}

#[test]
fn the_drawing_has_every_crate_of_the_host_on_its_floor() {
    let metadata = metadata();
    let built: BTreeMap<String, u8> = metadata
        .workspace_packages()
        .into_iter()
        .filter_map(|package| match place(&package.name) {
            Some(Host(floor)) => {
                let folder = package.manifest_path.parent().expect("a manifest is in a folder");
                let folder = folder.as_std_path().strip_prefix(root()).expect("a crate is in the repository");
                Some((folder.display().to_string(), floor))
            }
            _ => None,
        })
        .collect();
    assert_eq!(drawn(), built, "ARCHITECTURE.md and this test have the same floors");
}

#[test]
fn the_batch_depends_on_nothing() {
    let metadata = metadata();
    let batch = metadata.workspace_packages().into_iter().find(|package| package.name == "tarn-batch");
    let broken: Vec<String> = batch
        .into_iter()
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.clone())
        .collect();
    assert_none("the batch is for hosts and guests of every kind, so it depends on nothing", &broken);
}

#[test]
fn what_one_crate_knows_no_other_imports() {
    let metadata = metadata();
    let mut broken = Vec::new();
    for package in metadata.workspace_packages() {
        for (library, owner) in KNOWN_TO_ONE {
            let imports = package.dependencies.iter().any(|dependency| dependency.name == library);
            if imports && package.name != owner {
                broken.push(format!("{} imports {library}, which is {owner}'s", package.name));
            }
        }
    }
    assert_none("some libraries are known to one crate alone", &broken);
}
