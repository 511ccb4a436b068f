//! Makes a vanished peer a closed socket: without FIN or RST, only TCP itself finds out. May import: nothing of this
//! crate.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// Unacknowledged data, or silence with three probes unanswered, for this long closes the socket.
const GONE_AFTER: Duration = Duration::from_secs(30);
const PROBE_AFTER: Duration = Duration::from_secs(15);
const PROBE_PERIOD: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// Sets keepalive and the user timeout on an accepted socket; a body on a dead socket is dropped, which detaches.
///
/// # Errors
/// The socket does not take the options.
pub fn watch_peer(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_PERIOD).with_retries(PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket.set_tcp_user_timeout(Some(GONE_AFTER))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_accepted_socket_notices_a_vanished_peer_within_thirty_seconds() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        watch_peer(&server).unwrap();
        let socket = SockRef::from(&server);
        assert!(socket.keepalive().unwrap());
        let silence = socket.tcp_keepalive_time().unwrap() + PROBE_PERIOD * PROBES;
        assert_eq!(silence, GONE_AFTER);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(GONE_AFTER));
        drop(client);
    }
}
