//! [`Server`]: start and stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::dispatch::router;
use crate::guard::Guard;
use crate::listener::{Listener, accept};
use crate::mcp;
use crate::options::{ServeAddress, ServeOptions};
use crate::socket::{bind_socket, remove_socket};
use crate::state::ServerState;

/// How long requests under way may take after the signal to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How often sessions that are no longer written to are released.
const RELEASE_PERIOD: Duration = Duration::from_millis(500);

/// The threads that read and write sockets.
const SOCKET_THREADS: usize = 2;

/// Why a server cannot be started or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The system has no threads or random numbers.
    #[error("cannot start the server: {0}")]
    Start(String),
    /// Pending data of sessions cannot be written.
    #[error("cannot close the sessions: {0}")]
    Close(String),
}

/// A server that listens, and serves when it is run.
pub struct Server {
    runtime: Runtime,
    listener: Listener,
    signals: StopSignals,
    state: Arc<ServerState>,
    /// The URL without a code, or `None` for a Unix socket.
    base: Option<String>,
    code: String,
}

fn listen_error(address: impl std::fmt::Display) -> impl FnOnce(io::Error) -> ServeError {
    let address = address.to_string();
    move |source| ServeError::Listen { address, source }
}

/// The names of a server, as clients write them in `Host`.
fn host_names(address: Option<SocketAddr>, extra: &[String]) -> Vec<String> {
    let Some(address) = address else { return vec!["localhost".to_owned()] };
    let port = address.port();
    let mut hosts =
        vec![format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    if !address.ip().is_unspecified() {
        hosts.push(address.to_string());
    }
    for name in extra {
        hosts.push(format!("{name}:{port}"));
    }
    if port == 80 {
        let without: Vec<String> =
            hosts.iter().filter_map(|host| host.strip_suffix(":80").map(str::to_owned)).collect();
        hosts.extend(without);
    }
    hosts
}

impl Server {
    /// Listens on the address, and creates the first one-time code.
    pub fn bind(options: ServeOptions) -> Result<Server, ServeError> {
        let failed = |cause: &dyn std::fmt::Display| ServeError::Start(cause.to_string());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(SOCKET_THREADS)
            .max_blocking_threads(options.limits.workers + 8)
            .enable_all()
            .build()
            .map_err(|error| failed(&error))?;
        let inside = runtime.enter();
        let signals = StopSignals::new().map_err(|error| failed(&error))?;
        drop(inside);
        let (listener, address) = match &options.address {
            ServeAddress::Tcp(address) => {
                let listener =
                    runtime.block_on(TcpListener::bind(address)).map_err(listen_error(address))?;
                let bound = listener.local_addr().map_err(listen_error(address))?;
                (Listener::Tcp(listener), Some(bound))
            }
            ServeAddress::Unix(path) => {
                let inside = runtime.enter();
                let bound = bind_socket(path).and_then(|listener| {
                    listener.set_nonblocking(true)?;
                    UnixListener::from_std(listener)
                });
                drop(inside);
                let user = rustix::process::geteuid().as_raw();
                (Listener::Unix(bound.map_err(listen_error(path.display()))?, user), None)
            }
        };
        let cookie = format!("everturn_{}", address.map_or(0, |address| address.port()));
        let hosts = host_names(address, &options.hosts);
        let guard = Guard::new(&hosts, cookie, &options.limits, Instant::now());
        let code = guard.credentials.new_code().map_err(|error| failed(&error))?;
        let start = guard.credentials.new_start_id().map_err(|error| failed(&error))?;
        let base = address.map(|address| match address.ip().is_unspecified() {
            true => format!("http://127.0.0.1:{}", address.port()),
            false => format!("http://{address}"),
        });
        let state = Arc::new(ServerState::new(guard, options, start));
        Ok(Server { runtime, listener, signals, state, base, code })
    }

    /// The address without a code; `None` for a Unix socket.
    #[must_use]
    pub fn base_url(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The first one-time code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The path at which a browser exchanges the code for a cookie.
    #[must_use]
    pub fn login_path(&self) -> String {
        format!("/login?code={}", self.code)
    }

    /// Serves until SIGINT, SIGTERM or SIGHUP. Requests under way are finished, and sessions are closed.
    pub fn run(self) -> Result<(), ServeError> {
        let Server { runtime, listener, mut signals, state, .. } = self;
        let (stopper, stop) = watch::channel(false);
        let limits = state.options.limits;
        runtime.block_on(async {
            let router = router(&state, &stop);
            let hub = Arc::clone(&state.hub);
            drop(tokio::task::spawn_blocking(move || hub.watch()).await);
            let accepting = tokio::spawn(accept(listener, router, limits, stop));
            let releasing = tokio::spawn(release_idle(Arc::clone(&state)));
            signals.wait().await;
            // All receivers are gone only if nothing is served any more.
            stopper.send(true).ok();
            releasing.abort();
            drop(accepting.await);
            let end = Instant::now() + GRACE;
            // Every connection holds a receiver.
            while stopper.receiver_count() > 0 && Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        if let ServeAddress::Unix(path) = &state.options.address {
            remove_socket(path);
        }
        runtime.shutdown_timeout(GRACE);
        state.library.close().map_err(|problem| ServeError::Close(problem.to_string()))
    }
}

/// Serves MCP on stdin and stdout until the client closes them. The address of the options is not used.
pub fn serve_mcp(options: &ServeOptions) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(SOCKET_THREADS)
        .max_blocking_threads(options.limits.workers + 8)
        .enable_all()
        .build()
        .map_err(|error| ServeError::Start(error.to_string()))?;
    let served = runtime.block_on(mcp::serve_stdio(options)).map_err(ServeError::Start);
    // A read of stdin cannot be interrupted.
    runtime.shutdown_background();
    served
}

/// The signals that stop the server. They are caught from its start, so that none ends it abruptly.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl StopSignals {
    fn new() -> io::Result<StopSignals> {
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

async fn release_idle(state: Arc<ServerState>) {
    loop {
        tokio::time::sleep(RELEASE_PERIOD).await;
        let library = Arc::clone(&state.library);
        drop(tokio::task::spawn_blocking(move || library.release_idle()).await);
    }
}
