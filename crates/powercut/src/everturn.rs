//! Real `everturn` processes: one-shot commands, writers that are fed line by line, and killed ones.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::error::{PowercutError, cannot};
use crate::program;

/// The time after which a command counts as hanging.
const LIMIT: Duration = Duration::from_secs(60);

/// System calls at which a writer is killed, and the maximum number of them before that.
const AIMS: &[(&str, u32)] =
    &[("fdatasync", 6), ("fdatasync", 6), ("pwrite64", 40), ("/^rename", 12), ("/^unlink", 6)];

/// The binary under test, with its own home directory.
#[derive(Clone, Debug)]
pub(crate) struct Everturn {
    binary: PathBuf,
    home: PathBuf,
    has_strace: bool,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit status; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// The standard output.
    pub(crate) stdout: String,
    /// The standard error output.
    pub(crate) stderr: String,
}

impl Outcome {
    /// Parses the printed documents, one per line.
    pub(crate) fn lines(&self) -> Result<Vec<Value>, String> {
        let parse = |line: &str| {
            serde_json::from_str(line)
                .map_err(|error| format!("not JSON ({error}): {}", short(line)))
        };
        self.stdout.lines().filter(|line| !line.is_empty()).map(parse).collect()
    }

    /// Parses the printed document.
    pub(crate) fn document(&self) -> Result<Value, String> {
        let text = &self.stdout;
        serde_json::from_str(text).map_err(|error| format!("not JSON ({error}): {}", short(text)))
    }

    /// Returns an error unless the command succeeded.
    pub(crate) fn success(&self) -> Result<(), String> {
        match self.code {
            Some(0) => Ok(()),
            Some(code) => Err(format!("exit {code}: {}", short(&self.stderr))),
            None => Err(format!("killed by a signal: {}", short(&self.stderr))),
        }
    }
}

/// Returns the first characters of a text, on one line.
pub(crate) fn short(text: &str) -> String {
    let flat: String =
        text.trim().chars().map(|c| if c == '\n' { ' ' } else { c }).take(300).collect();
    flat
}

impl Everturn {
    /// Returns the binary at `binary`, with the home directory `home`.
    pub(crate) fn new(binary: &Path, home: &Path) -> Result<Everturn, PowercutError> {
        fs::create_dir_all(home).map_err(cannot(format!("create {}", home.display())))?;
        let has_strace = program::is_installed("strace");
        Ok(Everturn { binary: binary.to_owned(), home: home.to_owned(), has_strace })
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Removes the caches from the home directory, so that nothing is known from before the power cut.
    pub(crate) fn forget(&self) -> Result<(), PowercutError> {
        let cache = self.home.join(".everturn");
        if cache.exists() {
            fs::remove_dir_all(&cache).map_err(cannot(format!("remove {}", cache.display())))?;
        }
        Ok(())
    }

    fn prepare(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("NO_COLOR", "1")
            .env("PATH", "/usr/bin:/bin");
        command.current_dir(&self.home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn spawn<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Child, PowercutError> {
        let mut command = self.prepare(Command::new(&self.binary));
        command.args(arguments).spawn().map_err(cannot("start everturn"))
    }

    /// Runs a command to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        input: &str,
    ) -> Result<Outcome, PowercutError> {
        finish(self.spawn(arguments)?, input)
    }

    /// Opens a root for writing without changing it, so that the log of a dead process is recovered.
    pub(crate) fn recover(&self, root: &Path, scope: &str) -> Result<Outcome, PowercutError> {
        self.run(&["--root".as_ref(), root.as_os_str(), "commit".as_ref(), scope.as_ref()], "")
    }

    /// Starts a process that takes lines; with `aim`, it will be killed at some system call.
    pub(crate) fn start<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        aim: Option<Aim>,
    ) -> Result<LineWriter, PowercutError> {
        let child = match aim {
            Some(Aim { call, count }) if self.has_strace => {
                let mut command = self.prepare(Command::new("strace"));
                command.args([
                    "-f",
                    "-qq",
                    "-o",
                    "/dev/null",
                    "-e",
                    &format!("trace={call}"),
                    "-e",
                ]);
                command.arg(format!("inject={call}:signal=SIGKILL:when={count}"));
                command.arg(&self.binary).args(arguments);
                command.spawn().map_err(cannot("start strace"))?
            }
            _ => self.spawn(arguments)?,
        };
        LineWriter::new(child)
    }

    /// Runs a command that may be killed at some system call.
    pub(crate) fn run_aimed<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        input: &str,
        aim: Option<Aim>,
    ) -> Result<Outcome, PowercutError> {
        let mut writer = self.start(arguments, aim)?;
        writer.write(input);
        let mut stdout = String::new();
        drop(writer.stdin.take());
        writer.stdout.read_to_string(&mut stdout).ok();
        let (status, stderr) = writer.finish()?;
        Ok(Outcome { code: status.code(), stdout, stderr })
    }
}

/// The point at which a process is killed: at the entry to the `count`th `call`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aim {
    call: &'static str,
    count: u32,
}

impl Aim {
    /// Chooses an aim.
    pub(crate) fn choose(rng: &mut Rng) -> Aim {
        let (call, most) = AIMS.get(rng.usize(..AIMS.len())).copied().unwrap_or(("fdatasync", 2));
        Aim { call, count: rng.u32(1..=most) }
    }
}

/// A process that answers each line of its input with a line.
pub(crate) struct LineWriter {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: mpsc::Receiver<String>,
    _watchdog: Watchdog,
}

impl LineWriter {
    fn new(mut child: Child) -> Result<LineWriter, PowercutError> {
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(PowercutError::Recording("a process without pipes".to_owned()));
        };
        let watchdog = Watchdog::new(&child);
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).ok();
            sender.send(text).ok();
        });
        let stdin = child.stdin.take();
        let stdout = BufReader::new(stdout);
        Ok(LineWriter { child, stdin, stdout, stderr: receiver, _watchdog: watchdog })
    }

    /// Writes to the process. Errors are ignored: a dead process shows by not answering.
    fn write(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).ok();
        }
    }

    /// Sends a line and waits for the answer; `None` if the process is dead.
    pub(crate) fn send(&mut self, line: &str) -> Option<String> {
        self.write(&format!("{line}\n"));
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).ok().filter(|count| *count > 0)?;
        Some(answer)
    }

    /// Sends the last line: the process reads to the end of its input before it answers.
    pub(crate) fn send_last(&mut self, line: &str) -> Option<String> {
        self.write(line);
        drop(self.stdin.take());
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).ok().filter(|count| *count > 0)?;
        Some(answer)
    }

    /// Returns the process ID, for another thread to kill the process.
    pub(crate) fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Closes the input and waits for the end of the process.
    pub(crate) fn finish(mut self) -> Result<(ExitStatus, String), PowercutError> {
        drop(self.stdin.take());
        let status = self.child.wait().map_err(cannot("wait for everturn"))?;
        let stderr = self.stderr.recv_timeout(LIMIT).unwrap_or_default();
        Ok((status, stderr))
    }
}

/// Kills a process that hangs. Dropped when the process has ended.
struct Watchdog {
    _ended: mpsc::Sender<()>,
}

impl Watchdog {
    fn new(child: &Child) -> Watchdog {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (sender, receiver) = mpsc::channel::<()>();
        thread::spawn(move || {
            if receiver.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout)
                && let Some(pid) = pid
            {
                kill_process(pid, Signal::KILL).ok();
            }
        });
        Watchdog { _ended: sender }
    }
}

/// Kills a process after a while, unless it has ended before.
pub(crate) fn kill_later(pid: Pid, after: Duration) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        thread::sleep(after);
        kill_process(pid, Signal::KILL).ok();
    })
}

/// Feeds `input` to a process and collects its output.
fn finish(mut child: Child, input: &str) -> Result<Outcome, PowercutError> {
    if let Some(mut stdin) = child.stdin.take() {
        // A process may end without reading all of it.
        stdin.write_all(input.as_bytes()).ok();
    }
    let watchdog = Watchdog::new(&child);
    let output = child.wait_with_output().map_err(cannot("wait for everturn"))?;
    drop(watchdog);
    let code = output.status.code();
    let mut stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if let Some(signal) = output.status.signal() {
        stderr.push_str(&format!("(signal {signal})"));
    }
    Ok(Outcome { code, stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr })
}
