//! Connections: a bounded number, with a time limit for each head, served until the server stops.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::options::ServeLimits;

/// The pause after a connection that could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The largest head of a request.
const MAX_HEAD: usize = 64 << 10;

/// Where connections come from.
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// Only processes of this user are let in.
    Unix(UnixListener, u32),
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(
    listener: Listener,
    router: Router,
    limits: ServeLimits,
    stop: watch::Receiver<bool>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let mut stopping = stop.clone();
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot,
            () = stopped(&mut stopping) => return,
        };
        let Ok(slot) = slot else { return };
        let connection = (router.clone(), limits, stop.clone(), slot);
        tokio::select! {
            () = accept_one(&listener, connection) => {}
            () = stopped(&mut stopping) => return,
        }
    }
}

/// Waits until the server stops.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|is_stopping| *is_stopping).await);
}

type Connection = (Router, ServeLimits, watch::Receiver<bool>, OwnedSemaphorePermit);

async fn accept_one(listener: &Listener, connection: Connection) {
    match listener {
        Listener::Tcp(listener) => match listener.accept().await {
            Ok((stream, _)) => {
                // An answer is written at once.
                stream.set_nodelay(true).ok();
                tokio::spawn(serve(stream, connection));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        },
        Listener::Unix(listener, user) => match listener.accept().await {
            Ok((stream, _)) => {
                if stream.peer_cred().is_ok_and(|peer| peer.uid() == *user) {
                    tokio::spawn(serve(stream, connection));
                }
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        },
    }
}

/// Serves the requests of a connection. When the server stops, the one under way is finished.
async fn serve<S>(stream: S, (router, limits, mut stop, slot): Connection)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that goes away is no error of the server.
        served = connection.as_mut() => drop(served),
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
    drop(slot);
}
