//! `tarn script dev`: the same test again whenever a file is saved.

use std::path::PathBuf;
use std::time::SystemTime;

use tokio::time::sleep;

use super::rehearsal::TestArgs;
use crate::config::DEV_POLL;
use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report, print, remark};

/// What can be seen of a file without reading it: whether it is there, when it was saved and its length.
type Look = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

/// Tests now and after each save, until the process is interrupted or its output is closed.
pub(super) async fn run(args: &TestArgs, client: &Client, reader: Reader) -> Result<Report, Error> {
    let mut seen = None;
    loop {
        let look = look(args);
        if seen.as_ref() != Some(&look) {
            let outcome = match args.test(client).await {
                Ok(report) => report.print(reader),
                Err(error) => Err(error),
            };
            match (outcome, reader) {
                (Ok(()), Reader::People) => print("passed; waiting for a change\n")?,
                (Ok(()), Reader::Programs) => {}
                (Err(error), _) if error.is_closed_pipe() => return Err(error),
                (Err(error), Reader::People) => {
                    print(&format!("{}\nwaiting for a change\n", error.for_people()))?
                }
                (Err(error), Reader::Programs) => remark(&error.for_programs().to_string()),
            }
            seen = Some(look);
        }
        sleep(DEV_POLL).await;
    }
}

fn look(args: &TestArgs) -> Look {
    let of_file = |path: PathBuf| {
        let metadata = std::fs::metadata(&path).ok();
        let state = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        (path, state)
    };
    args.files().into_iter().map(of_file).collect()
}
