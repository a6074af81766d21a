//! Free ports.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::config::{PORT_FIRST, PORT_LAST};

/// A port of the loopback address that nothing listens on, and that nobody else who asks here gets, in this process or
/// another, until this process ends. So one whose server is stopped is there for its next start. A connection's own end
/// does not take it either: those are of higher numbers.
pub(crate) fn free_port() -> u16 {
    /// Locked as long as they are open.
    static TAKEN: Mutex<Vec<File>> = Mutex::new(Vec::new());
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORT_LAST - PORT_FIRST + 1;
    // Processes that start together begin at different places.
    let begin =
        u16::try_from(std::process::id().wrapping_mul(97) % u32::from(count)).expect("below the count");
    let locks = locks();
    for _ in 0..count {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % count;
        let port = PORT_FIRST
            + u16::try_from((u32::from(begin) + u32::from(step)) % u32::from(count)).expect("a port");
        let Ok(file) = File::create(locks.join(port.to_string())) else { continue };
        if file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            TAKEN.lock().expect("nobody panics with it").push(file);
            return port;
        }
    }
    panic!("the loopback address has no free port from {PORT_FIRST} to {PORT_LAST}")
}

/// The folder of this user's locks.
fn locks() -> PathBuf {
    let user = std::fs::metadata("/proc/self").expect("this process is there").uid();
    let folder = std::env::temp_dir().join(format!("tarn-test-ports-{user}"));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_port_is_given_once_and_kept_while_nothing_listens_on_it() {
        let ports: Vec<u16> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..50).map(|_| free_port()).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
        });
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), ports.len());
        // Another process would find its lock.
        let file = File::create(locks().join(ports[0].to_string())).expect("a file");
        assert!(file.try_lock().is_err());
    }

    #[test]
    fn ports_of_connections_are_others() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").expect("Linux tells");
        let first: u16 = range.split_whitespace().next().expect("a number").parse().expect("a number");
        assert!(free_port() < first, "connections begin at {first}");
    }
}
