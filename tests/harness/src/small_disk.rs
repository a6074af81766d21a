//! Programs whose data is on a disk that is soon full.

use std::path::Path;
use std::process::Command;

/// Mounts what `$2` says in MiB at `$1`, with what is there, and becomes the program behind them.
const MOUNT: &str = r#"mkdir -p "$1.disk" && mount -t tmpfs -o size="$2"m tmpfs "$1.disk" && cp -a "$1/." "$1.disk" &&
mount --bind "$1.disk" "$1" && shift 2 && exec "$@""#;

/// A command that runs a program where a folder is a disk of so many MiB, with what the folder holds when it starts. Nobody
/// else sees it, and it goes with the program: the mount is of a namespace of its own.
pub(crate) fn on(mib: u32, folder: &Path, program: &Path) -> Command {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let mut command = Command::new("unshare");
    // Whoever is not root is it in there.
    command.args(["--map-root-user", "--mount", "sh", "-c", MOUNT, "sh"]);
    command.arg(folder).arg(mib.to_string()).arg(program);
    command
}
