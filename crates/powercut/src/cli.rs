//! The command line, and the rounds of a run.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::bench::Bench;
use crate::error::{PowercutError, cannot};
use crate::everturn::Everturn;
use crate::filesystem::{self, FileSystem};
use crate::machine::{self, WorkingDirectory};
use crate::recording::Recording;
use crate::report::{self, Tally};
use crate::round::Round;
use crate::saved;

/// Cut the power under running everturn processes on real file systems, and check all acknowledged data
///
/// Requires root, FUSE and loop devices. Exits with status 0 if nothing was lost, 1 if something was lost, 77 if this
/// machine cannot run the test.
#[derive(Debug, Parser)]
#[command(name = "everturn-powercut", version)]
pub(crate) struct Cli {
    /// The binary under test
    #[arg(long, value_name = "PATH", default_value = "target/release/everturn")]
    everturn: PathBuf,

    /// The number of cuts over all file systems, not counting images that cannot be mounted
    #[arg(long, value_name = "N", default_value = "2050")]
    points: NonZero<usize>,

    /// The seed of all random choices, except the scheduling of processes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The file systems: ext4, ext4-noda, ext4-journal, xfs, btrfs
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    fs: Vec<String>,

    /// The duration of each recording
    #[arg(long, value_name = "SECONDS", default_value_t = 6)]
    seconds: u64,

    /// The number of rounds to run in parallel: by default three for each processor, since they wait for the disk half of
    /// the time
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,

    /// The directory for recordings of rounds with failures
    #[arg(long, value_name = "DIR", default_value = "target/powercut")]
    save: PathBuf,

    /// Save every recording
    #[arg(long)]
    keep: bool,

    /// Cut a saved recording instead of making new ones
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,

    /// Cut at one point only; with --recording, at the same point as in the original run
    #[arg(long, value_name = "FS:POINT")]
    only: Option<String>,
}

/// The maximum number of points of a round: a recording has only so many different positions.
const POINTS_PER_ROUND: usize = 205;

/// The maximum number of failures reported for each round.
const MOST_LINES: usize = 12;

/// A round that is still to be run.
struct Job {
    system: &'static FileSystem,
    number: usize,
    points: usize,
    seed: u64,
    recording: Option<Recording>,
}

/// The state that all rounds share.
struct Shared<'a> {
    binary: PathBuf,
    work: &'a Path,
    interrupted: &'a AtomicBool,
    only: Option<usize>,
    started: Instant,
}

impl Cli {
    /// Runs the test; returns whether nothing was lost.
    pub(crate) fn execute(&self, out: &mut dyn Write) -> Result<bool, PowercutError> {
        let (only_system, only) = self.only()?;
        let (systems, jobs) = self.jobs(only_system)?;
        machine::require(&systems)?;
        machine::clear_leftovers(&mut io::stderr())?;
        let binary = fs::canonicalize(&self.everturn)
            .map_err(cannot(format!("find the binary {}", self.everturn.display())))?;
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in
            [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(cannot("wait for signals"))?;
        }
        let work = WorkingDirectory::new()?;
        let shared = Shared {
            binary,
            work: work.path(),
            interrupted: &interrupted,
            only,
            started: Instant::now(),
        };
        let tallies = Mutex::new(systems.iter().map(|s| (s.name, Tally::default())).collect());
        let queue = Mutex::new(jobs);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.job_count())
                .map(|_| scope.spawn(|| self.work(&shared, &queue, &tallies)))
                .collect();
            let died = || Err(PowercutError::Recording("a worker died".to_owned()));
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| died()))
        })?;
        let tallies: Vec<(&str, Tally)> =
            tallies.into_inner().unwrap_or_else(PoisonError::into_inner);
        report::print(out, &tallies).map_err(cannot("print the report"))?;
        Ok(tallies.iter().all(|(_, tally)| tally.failed == 0 && tally.all() > 0))
    }

    fn job_count(&self) -> usize {
        let processors = || thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(|| 3 * processors(), NonZero::get)
    }

    fn only(&self) -> Result<(Option<String>, Option<usize>), PowercutError> {
        let Some(only) = &self.only else { return Ok((None, None)) };
        let wrong = || PowercutError::Usage(format!("--only {only}: not FS:POINT"));
        let (system, point) = only.split_once(':').ok_or_else(wrong)?;
        Ok((Some(system.to_owned()), Some(point.parse().map_err(|_| wrong())?)))
    }

    /// Returns the file systems and the rounds on them.
    fn jobs(
        &self,
        only: Option<String>,
    ) -> Result<(Vec<&'static FileSystem>, VecDeque<Job>), PowercutError> {
        if let Some(path) = &self.recording {
            let (header, recording) = saved::load(path)?;
            let systems = filesystem::choose(&[header.system])?;
            let job = |system: &&'static FileSystem| Job {
                system,
                number: 0,
                points: header.points,
                seed: header.seed,
                recording: None,
            };
            let mut jobs: VecDeque<Job> = systems.iter().map(job).collect();
            if let Some(job) = jobs.front_mut() {
                job.recording = Some(recording);
            }
            return Ok((systems, jobs));
        }
        let names = only.map_or_else(|| self.fs.clone(), |system| vec![system]);
        let systems = filesystem::choose(&names)?;
        let per_system = self.points.get().div_ceil(systems.len().max(1));
        let rounds = per_system.div_ceil(POINTS_PER_ROUND);
        let mut jobs = VecDeque::new();
        for number in 0..rounds {
            for (index, system) in systems.iter().enumerate() {
                let points = (per_system - number * POINTS_PER_ROUND).min(POINTS_PER_ROUND);
                let seed = self.seed.wrapping_mul(1000).wrapping_add((number * 10 + index) as u64);
                jobs.push_back(Job { system, number, points, seed, recording: None });
            }
        }
        Ok((systems, jobs))
    }

    /// Runs rounds until the queue is empty.
    fn work(
        &self,
        shared: &Shared<'_>,
        queue: &Mutex<VecDeque<Job>>,
        tallies: &Mutex<Vec<(&'static str, Tally)>>,
    ) -> Result<(), PowercutError> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(job) = next else { return Ok(()) };
            let name = job.system.name;
            let tally = self.round(shared, job)?;
            let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, sum)) = tallies.iter_mut().find(|(system, _)| *system == name) {
                sum.merge(&tally);
            }
        }
    }

    fn round(&self, shared: &Shared<'_>, job: Job) -> Result<Tally, PowercutError> {
        let Job { system, number, points, seed, recording } = job;
        let directory = shared.work.join(format!("{}-{number}", system.name));
        let everturn = Everturn::new(&shared.binary, &directory.join("home"))?;
        let bench = Bench::new(&directory, system)?;
        let mut round = Round { bench, everturn: &everturn, seed, interrupted: shared.interrupted };
        let was_saved = recording.is_some();
        let recording = match recording {
            Some(recording) => recording,
            None => round.record(Duration::from_secs(self.seconds))?,
        };
        let mut tally = Tally::default();
        round.cut(&recording, points, shared.only, &mut tally)?;
        let acknowledged: usize =
            recording.models.iter().map(|model| model.acknowledgements().len()).sum();
        let mut text = format!(
            "[{:>4}s] {} round {number}: {} records, {acknowledged} acknowledged, {} cuts, {} failed\n",
            shared.started.elapsed().as_secs(),
            system.name,
            recording.records.len(),
            tally.all(),
            tally.failed
        );
        let path = self.save.join(format!("{}-{}.recording", system.name, seed));
        let most = if was_saved { usize::MAX } else { MOST_LINES };
        text.push_str(&tally.worst(system.name, most));
        if !was_saved && (tally.failed > 0 || self.keep) {
            saved::save(&path, system.name, seed, points, recording)?;
            text.push_str(&format!(
                "    repeat with: everturn-powercut --recording {} --only {}:POINT\n",
                path.display(),
                system.name
            ));
        }
        io::stderr().write_all(text.as_bytes()).map_err(cannot("report a round"))?;
        Ok(tally)
    }
}
