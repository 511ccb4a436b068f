//! What TCP itself does for an accepted connection: a vanished peer becomes a closed socket, as without FIN or RST only
//! TCP finds out, and bytes that a peer does not take wait here and not in the kernel.
//! May import: nothing of this crate.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

const PROBES: u32 = 3;
/// What the kernel keeps of a connection before it is sent. Its own measure grows to megabytes, a third of which a slow
/// reader would have to take before it counted as one that takes something.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT_BYTES_MAX: u32 = 65_536;

/// Unacknowledged data, or silence with three probes unanswered, for `gone` closes the socket; a body on a dead socket
/// is dropped, which detaches.
///
/// # Errors
/// The socket does not take the options.
pub fn watch_peer(stream: &TcpStream, gone: Duration) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let (silence, period) = (gone / 2, gone / 2 / PROBES);
    let keepalive = TcpKeepalive::new().with_time(silence).with_interval(period).with_retries(PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        socket.set_tcp_user_timeout(Some(gone))?;
        socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_accepted_socket_notices_a_vanished_peer_in_time() {
        let gone = Duration::from_secs(30);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        watch_peer(&server, gone).unwrap();
        let socket = SockRef::from(&server);
        assert!(socket.keepalive().unwrap());
        let silence = socket.tcp_keepalive_time().unwrap() + socket.tcp_keepalive_interval().unwrap() * PROBES;
        assert_eq!(silence, gone);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(gone));
        drop(client);
    }
}
