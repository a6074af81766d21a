//! Servers that refuse to run as root run as the user `postgres` there, and as oneself elsewhere.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// The command as an unprivileged user, working in `folder`.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(folder);
    command
}

/// Makes that user the owner of a folder and of what is in it.
pub(crate) fn give(folder: &Path) {
    if is_root() {
        let owner = Command::new("chown").args(["-R", "postgres:postgres"]).arg(folder).status();
        assert!(
            owner.is_ok_and(|status| status.success()),
            "there is no user postgres: run tests/harness/setup"
        );
    }
}

fn is_root() -> bool {
    // The owner of this process' own folder under /proc.
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
