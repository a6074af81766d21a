//! A kill at any moment leaves a catalog that opens and holds everything that was acknowledged.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use tarn_catalog::{Catalog, CatalogOptions, LogQuery};
use tarn_model::LogLevel;

const FOLDER: &str = "TARN_TEST_CRASH_FOLDER";

fn options(folder: &Path) -> CatalogOptions {
    CatalogOptions { data_dir: folder.join("data"), ..CatalogOptions::default() }
}

/// Not a test of its own: what the killed process does. It acknowledges each commit on its output.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the parent process reads what was acknowledged")]
async fn writer_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let catalog = Catalog::open(&options(Path::new(&folder))).await.expect("opens");
    loop {
        catalog.log("m", &[(LogLevel::Info, "x".into())]).await.expect("logged");
        println!("acknowledged");
    }
}

#[tokio::test]
async fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut acknowledged = 0;
    // A different number of lines each round, so that the kill meets other moments; the first rounds
    // meet the making of the key and the migrations.
    for round in 0..8 {
        let mut writer = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "crash::writer_process", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(writer.stdout.take().expect("piped")).lines();
        let wanted = round * 7;
        let mut seen = 0;
        while seen < wanted {
            let line = lines.next().expect("it writes until it is killed").expect("text");
            seen += usize::from(line.contains("acknowledged"));
        }
        writer.kill().expect("killed");
        writer.wait().expect("ended");
        acknowledged +=
            seen + lines.map_while(Result::ok).filter(|line| line.contains("acknowledged")).count();
    }
    let catalog = Catalog::open(&options(folder.path())).await.expect("opens after every kill");
    let total = catalog.logs(&LogQuery::default()).await.expect("listed").total;
    assert!(total >= acknowledged as u64, "{total} stored, {acknowledged} acknowledged");
}
