//! What the catalog keeps on disk is its owner's alone, whatever the data directory lets others do.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tarn_catalog::{Catalog, CatalogOptions};
use tarn_model::LogLevel;

async fn written(data_dir: &Path) -> Catalog {
    let options = CatalogOptions { data_dir: data_dir.to_owned(), ..CatalogOptions::default() };
    let catalog = Catalog::open(&options).await.expect("it opens");
    catalog.log("m", &[(LogLevel::Info, "x".into())]).await.expect("logged");
    catalog
}

/// The files that somebody else may read or write, with their modes.
fn open_to_others(data_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(data_dir).expect("a folder").map(|entry| entry.expect("an entry"));
    let modes = entries.map(|entry| (entry.path(), entry.metadata().expect("a file").permissions().mode()));
    let open = modes.filter(|(_, mode)| mode & 0o077 != 0);
    open.map(|(path, mode)| format!("{} {:04o}", path.display(), mode & 0o777)).collect()
}

#[tokio::test]
async fn every_file_is_its_owners_alone() {
    let data_dir = tempfile::tempdir().expect("a folder");
    fs::set_permissions(data_dir.path(), Permissions::from_mode(0o755)).expect("set");
    let catalog = written(data_dir.path()).await;
    let names: Vec<_> =
        fs::read_dir(data_dir.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(names.iter().any(|name| name == "catalog.sqlite-wal"), "{names:?}");
    assert_eq!(open_to_others(data_dir.path()), [""; 0]);
    drop(catalog);
}

#[tokio::test]
async fn files_that_were_open_to_others_are_closed_at_the_next_start() {
    let data_dir = tempfile::tempdir().expect("a folder");
    // Dropped and not closed: the log beside the database stays, as after a kill.
    drop(written(data_dir.path()).await);
    for entry in fs::read_dir(data_dir.path()).expect("a folder").flatten() {
        if entry.file_name().to_string_lossy().starts_with("catalog") {
            fs::set_permissions(entry.path(), Permissions::from_mode(0o644)).expect("set");
        }
    }
    assert!(!open_to_others(data_dir.path()).is_empty());
    let catalog = written(data_dir.path()).await;
    assert_eq!(open_to_others(data_dir.path()), [""; 0]);
    drop(catalog);
}
