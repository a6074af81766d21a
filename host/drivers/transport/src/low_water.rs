//! How much must have arrived before a waiting reader is woken.
//!
//! A server that sends a small message for each change wakes its reader for each: both sides then pay more
//! for the waking than for the change. The kernel can keep the reader asleep until a mark is reached
//! (`SO_RCVLOWAT`); what is below the mark stays readable all the while, and lowering the mark wakes at
//! once where something is there.

use std::io;

use socket2::Socket;
use tokio::net::TcpStream;

/// The mark of one connection, set beside whoever reads from it.
#[derive(Debug)]
pub struct LowWater {
    socket: Socket,
    bytes: usize,
}

impl LowWater {
    /// The mark of a socket; nothing where the system has none.
    pub(crate) fn of(socket: &TcpStream) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let socket = socket2::SockRef::from(socket).try_clone().ok()?;
        Some(Self { socket, bytes: 1 })
    }

    /// Keeps readers asleep until so many bytes have arrived; 1 wakes them for anything. The kernel takes
    /// half of what its buffer may grow to instead of more.
    ///
    /// # Errors
    /// What the system answers. The mark is then as it was.
    pub fn set(&mut self, bytes: usize) -> io::Result<()> {
        if bytes != self.bytes {
            set(&self.socket, bytes)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no published crate sets this option of a socket")]
fn set(socket: &Socket, bytes: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open, for the socket is borrowed, and the kernel reads the value's bytes
    // during the call only.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn set(_: &Socket, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_reader_sleeps_below_the_mark_and_wakes_when_the_mark_is_lowered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut reader = TcpStream::connect(address).await.expect("somebody listens");
        let (mut writer, _) = listener.accept().await.expect("a connection");
        let mut mark = LowWater::of(&reader).expect("Linux has it");
        mark.set(1000).expect("it can be set");
        writer.write_all(&[7; 999]).await.expect("somebody reads");

        let mut bytes = [0; 2000];
        let below = timeout(Duration::from_millis(50), reader.read(&mut bytes)).await;
        assert!(below.is_err(), "{below:?}");
        mark.set(1).expect("it can be set");
        assert_eq!(reader.read(&mut bytes).await.expect("bytes"), 999);

        mark.set(1000).expect("it can be set");
        writer.write_all(&[7; 1000]).await.expect("somebody reads");
        assert_eq!(reader.read(&mut bytes).await.expect("bytes"), 1000);
    }
}
