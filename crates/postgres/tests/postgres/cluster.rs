//! A private server of PostgreSQL for one test process: installed if it is missing, started on a free port of loopback as
//! an unprivileged user, and stopped when the process ends, however it ends.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use everturn_postgres::{PostgresStore, ServerAddress, StoreHolder};
use everturn_store::LockOwner;
use postgres::{Client, NoTls};

/// The unprivileged user; the server refuses to run as root.
const NOBODY: u32 = 65534;

pub(crate) struct Cluster {
    pub(crate) port: u16,
    dir: PathBuf,
    settings: String,
    /// The script stops the server and removes its files when this is closed, which it is at the latest with the process.
    _open: ChildStdin,
    script: Child,
}

fn is_root() -> bool {
    let out = Command::new("id").arg("-u").output().unwrap();
    out.stdout.trim_ascii() == b"0"
}

/// The directory of the programs of the server. Debian's `postgresql` is installed if there is none.
pub(crate) fn programs() -> PathBuf {
    let find = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let bins = versions.map(|version| version.unwrap().path().join("bin"));
        bins.filter(|bin| bin.join("initdb").exists()).max()
    };
    find().unwrap_or_else(|| {
        let install =
            "apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql";
        let mut apt = Command::new("sh");
        apt.args(["-c", install]).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        assert!(apt.status().unwrap().success(), "Debian's postgresql cannot be installed");
        find().unwrap()
    })
}

/// Runs a command as an unprivileged user, who owns `dir`.
fn unprivileged(command: &mut Command, dir: &Path) {
    if is_root() {
        std::os::unix::fs::chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
}

/// Starts a server. It is stopped, and its files are removed, when the pipe is closed.
fn run_server(dir: &Path, port: u16, settings: &str) -> (ChildStdin, Child) {
    let script = format!(
        "'{}' -D data -p {port} -k '{}' -c listen_addresses=127.0.0.1 -c max_connections=200 {settings} \
         >>log 2>&1 & server=$!; cat >/dev/null; kill -QUIT $server; wait $server; rm -rf '{}'",
        programs().join("postgres").display(),
        dir.display(),
        dir.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(dir).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    unprivileged(&mut command, dir);
    let mut script = command.spawn().unwrap();
    (script.stdin.take().unwrap(), script)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Cluster {
    pub(crate) fn start(settings: &str) -> Cluster {
        let bin = programs();
        let dir = tempfile::Builder::new().prefix("everturn-pg").tempdir().unwrap().keep();
        let mut initdb = Command::new(bin.join("initdb"));
        initdb
            .args(["-U", "everturn", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "-D"])
            .arg("data");
        initdb.current_dir(&dir).stdout(Stdio::null());
        unprivileged(&mut initdb, &dir);
        assert!(initdb.status().unwrap().success(), "initdb failed");
        let port = free_port();
        let (open, script) = run_server(&dir, port, settings);
        let settings = settings.to_owned();
        let cluster = Cluster { port, dir, settings, _open: open, script };
        cluster.wait_until_ready(&cluster.dir);
        cluster
    }

    /// Starts a standby that follows this server, with settings of its own.
    pub(crate) fn standby(&self, settings: &str) -> Cluster {
        let dir = tempfile::Builder::new().prefix("everturn-pg").tempdir().unwrap().keep();
        let mut copy = Command::new(programs().join("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-U", "everturn", "-p", &self.port.to_string(), "-N"]);
        copy.args(["-R", "-X", "stream", "-c", "fast", "-D", "data"]).current_dir(&dir);
        unprivileged(&mut copy, &dir);
        assert!(copy.status().unwrap().success(), "the server cannot be copied");
        let port = free_port();
        let (open, script) = run_server(&dir, port, settings);
        let settings = settings.to_owned();
        let cluster = Cluster { port, dir, settings, _open: open, script };
        cluster.wait_until_ready(&cluster.dir);
        cluster
    }

    /// Makes a standby accept writes.
    pub(crate) fn promote(&self) {
        let row = self.client().query_one("SELECT pg_promote(true, 60)", &[]).unwrap();
        assert!(row.get::<_, bool>(0));
    }

    /// Kills the server and all its processes at once, as a crash of the machine does.
    pub(crate) fn kill(&mut self) {
        let group = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        let server = group.lines().next().unwrap();
        let signal = |name: &str, processes: &[String]| {
            let mut kill = Command::new("kill");
            kill.arg(name).args(processes).stderr(Stdio::null());
            kill.status().unwrap().success()
        };
        // A stopped server starts no backend that would be missed.
        assert!(signal("-STOP", &[server.to_owned()]));
        let backends = Command::new("pgrep").args(["-P", server]).output().unwrap();
        let mut all = vec![server.to_owned()];
        all.extend(String::from_utf8(backends.stdout).unwrap().lines().map(str::to_owned));
        // A backend may have ended by itself.
        signal("-KILL", &all);
        while all.iter().any(|process| signal("-0", std::slice::from_ref(process))) {
            sleep(Duration::from_millis(10));
        }
        std::fs::remove_file(self.dir.join("data/postmaster.pid")).unwrap();
    }

    /// Kills the server, and starts it again.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill();
        // The script of the killed server must not remove the files of the new one.
        self.script.kill().unwrap();
        self.script.wait().unwrap();
        (self._open, self.script) = run_server(&self.dir, self.port, &self.settings);
        self.wait_until_ready(&self.dir);
    }

    /// Restarts the server with other settings.
    pub(crate) fn restart_with(&mut self, settings: &str) {
        settings.clone_into(&mut self.settings);
        self.kill_and_restart();
    }

    fn wait_until_ready(&self, dir: &Path) {
        for _ in 0..600 {
            if Client::connect(&self.url("postgres"), NoTls).is_ok() {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("{}", std::fs::read_to_string(dir.join("log")).unwrap_or_default());
    }

    fn url(&self, db: &str) -> String {
        format!("postgres://everturn@127.0.0.1:{}/{db}", self.port)
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.url("postgres"), NoTls).unwrap()
    }

    pub(crate) fn address(&self, root: &str) -> ServerAddress {
        address_at(self.port, root)
    }
}

pub(crate) fn address_at(port: u16, root: &str) -> ServerAddress {
    let url = format!("postgres://everturn@127.0.0.1:{port}/postgres?root={root}");
    ServerAddress::parse(&url).unwrap()
}

/// The server of this test process.
pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(""))
}

/// A name for a root that no other test has.
pub(crate) fn new_root() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("root_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn holder(host: &str) -> StoreHolder {
    let owner = LockOwner { pid: 7, started: "2026-01-01T00:00:00Z".to_owned() };
    StoreHolder::new(host.to_owned(), owner)
}

pub(crate) fn new_store() -> PostgresStore {
    PostgresStore::open(&cluster().address(&new_root()), &holder("one")).unwrap()
}
