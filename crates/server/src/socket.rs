//! The Unix socket, the only file that the server itself creates.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::Mode;

/// The permissions of a new Unix socket: none for other users.
const PRIVATE: Mode = Mode::from_bits_truncate(0o077);

/// Binds a Unix socket that only its owner may use. A socket that nobody listens on is replaced.
pub(crate) fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    let bind = || {
        let before = rustix::process::umask(PRIVATE);
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        bound
    };
    match bind() {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let is_left = UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if !is_left {
                return Err(error);
            }
            rustix::fs::unlink(path)?;
            bind()
        }
        bound => bound,
    }
}

/// Removes the socket when the server ends.
pub(crate) fn remove_socket(path: &Path) {
    // Another server may have replaced it; then it is not ours to report.
    rustix::fs::unlink(path).ok();
}
