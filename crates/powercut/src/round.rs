//! [`Round`]: a recording on a new file system, and the cuts in it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::bench::{Bench, Device};
use crate::blocks::Blocks;
use crate::error::{PowercutError, cannot};
use crate::everturn::Everturn;
use crate::formats::FORMATS;
use crate::model::Model;
use crate::recording::{ImageMaker, Point, Recording, Survivors, choose_points};
use crate::report::{Failure, Tally};
use crate::streams::Stage;
use crate::streams::files::{Acknowledgement, FilesStream};
use crate::streams::lifecycle::LifecycleStream;
use crate::streams::session::{Company, SessionStream};
use crate::verify::{Examination, Problem};

/// The root that sessions of all formats and plain files share.
const SHARED: &str = "all";

/// The root that another program writes to as well.
const FOREIGN: &str = "foreign";

/// A recording stops when the file system has no more space than this.
const LEAST_ROOM: u64 = 24 << 20;

/// One of this many points is cut a second time, during its recovery.
const SECOND_CUT: usize = 5;

/// A thread that drives a writer.
type Handle<'scope> = ScopedJoinHandle<'scope, Result<Model, PowercutError>>;

/// One round of the test.
pub(crate) struct Round<'a> {
    /// The disk and its file system.
    pub(crate) bench: Bench,
    /// The binary under test.
    pub(crate) everturn: &'a Everturn,
    /// Determines all random choices; the scheduling of threads still varies.
    pub(crate) seed: u64,
    /// Set by a signal.
    pub(crate) interrupted: &'a AtomicBool,
}

impl Round<'_> {
    /// Records writers for a while.
    pub(crate) fn record(&mut self, duration: Duration) -> Result<Recording, PowercutError> {
        let first = self.bench.format()?;
        self.bench.mount(first.clone(), Device::Recorded)?;
        let device_number = self.bench.device_number()?;
        let stop = AtomicBool::new(false);
        let recoveries = Mutex::default();
        let stage = Stage {
            everturn: self.everturn,
            disk: self.bench.disk(),
            top: self.bench.path(),
            stop: &stop,
            recoveries: &recoveries,
        };
        let models = self.perform(&stage, duration);
        let records = self.bench.disk().records(usize::MAX);
        self.bench.unmount()?;
        let recoveries = recoveries.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Recording { first, records, models: models?, recoveries, device_number })
    }

    /// Runs all writers until the time is over.
    fn perform(&self, stage: &Stage<'_>, duration: Duration) -> Result<Vec<Model>, PowercutError> {
        let mut seeds = Rng::with_seed(self.seed);
        let mut rng = || Rng::with_seed(seeds.u64(..));
        let mut sessions = Vec::new();
        let mut tracker = Vec::new();
        for format in FORMATS {
            let initial: String = format.name().chars().take(2).collect();
            let id = format!("{initial}a");
            let alone = Company::Alone;
            sessions.push(SessionStream::new(stage, *format, SHARED, &id, alone, rng())?);
            if format.foreign_document(&id).is_some() {
                let id = format!("{initial}f");
                let foreign = Company::Foreign;
                sessions.push(SessionStream::new(stage, *format, FOREIGN, &id, foreign, rng())?);
            }
            let root = format!("life-{}", format.name());
            tracker.push(LifecycleStream::new(stage, *format, &root, rng())?);
        }
        let synced = Acknowledgement::Synced;
        let written = Acknowledgement::Written;
        let files = [
            FilesStream::new(stage, SHARED, "synced", synced, rng()),
            FilesStream::new(stage, SHARED, "written", written, rng()),
        ];
        let writeback = rng();
        thread::scope(|scope| {
            let mut handles: Vec<Handle<'_>> = Vec::new();
            for stream in sessions {
                handles.push(scope.spawn(|| stream.run().map(Model::Session)));
            }
            for stream in tracker {
                handles.push(scope.spawn(|| stream.run().map(Model::Lifecycle)));
            }
            for stream in files {
                handles.push(scope.spawn(|| stream.run().map(Model::Files)));
            }
            let waited = wait(stage, duration, self.interrupted, writeback);
            stage.stop.store(true, Ordering::Relaxed);
            let models: Result<Vec<Model>, PowercutError> = handles.into_iter().map(join).collect();
            waited.and(models)
        })
    }

    /// Cuts a recording at `count` points, or at one of them only.
    pub(crate) fn cut(
        &mut self,
        recording: &Recording,
        count: usize,
        only: Option<usize>,
        tally: &mut Tally,
    ) -> Result<(), PowercutError> {
        for model in &recording.models {
            for text in model.failures() {
                tally.add_live(text);
            }
        }
        let points = choose_points(recording, count, &mut Rng::with_seed(self.seed ^ 0x5eed));
        let mut maker = ImageMaker::new(recording.first.clone(), &recording.records);
        for (number, point) in points.into_iter().enumerate() {
            if only.is_some_and(|only| only != number) {
                continue;
            }
            let mut rng = Rng::with_seed(point.seed);
            let image = maker.image(point.position, point.survivors, &mut rng);
            let device = if rng.bool() { Device::Recorded } else { Device::Other };
            let cut = Cut { recording, point, number, device, rng };
            self.examine(cut, image, number % SECOND_CUT == 0, tally)?;
        }
        Ok(())
    }

    /// Mounts an image, examines it, and perhaps cuts the recovery.
    fn examine(
        &mut self,
        mut cut: Cut<'_>,
        image: Blocks,
        is_cut_again: bool,
        tally: &mut Tally,
    ) -> Result<(), PowercutError> {
        let Some(recovery) = self.look(&mut cut, image.clone(), "", tally)? else {
            return Ok(());
        };
        if !is_cut_again {
            return Ok(());
        }
        let records = self.bench.disk().records(recovery.ended);
        let position = cut.rng.usize(recovery.begun..=recovery.ended);
        let choices = [
            Survivors::None,
            Survivors::None,
            Survivors::All,
            Survivors::Half,
            Survivors::Few,
            Survivors::Suffix,
            Survivors::Torn,
        ];
        let survivors = cut.rng.choice(choices).unwrap_or(Survivors::None);
        let mut maker = ImageMaker::new(image, &records);
        let image = maker.image(position, survivors, &mut cut.rng);
        let how = format!(", then at {position} of {} with {survivors:?}", recovery.ended);
        self.look(&mut cut, image, &how, tally)?;
        Ok(())
    }

    /// Runs all phases of an examination; returns the window of the recovery in the records.
    fn look(
        &mut self,
        cut: &mut Cut<'_>,
        image: Blocks,
        how: &str,
        tally: &mut Tally,
    ) -> Result<Option<Window>, PowercutError> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(PowercutError::Interrupted);
        }
        if let Err(error) = self.bench.mount(image, cut.device) {
            // The file system itself did not survive; its contents cannot be judged.
            tally.add_unmountable(cut.number, &error);
            return Ok(None);
        }
        let is_other = self.bench.device_number()? != cut.recording.device_number;
        tally.other_device += usize::from(is_other);
        let begun = self.bench.disk().position();
        let position = cut.point.position;
        let models = &cut.recording.models;
        let top: &Path = self.bench.path();
        let mut examination = Examination::new(self.everturn, top, position, models, &mut cut.rng);
        examination.read()?;
        examination.recover()?;
        let ended = self.bench.disk().position();
        examination.compare()?;
        examination.go_on()?;
        let acknowledged = examination.acknowledged;
        let problems = examination.problems;
        tally.add(&cut.failure(how, is_other, problems), acknowledged, !how.is_empty());
        self.bench.unmount()?;
        Ok(Some(Window { begun, ended }))
    }
}

/// A power cut.
struct Cut<'a> {
    recording: &'a Recording,
    point: Point,
    number: usize,
    device: Device,
    rng: Rng,
}

impl Cut<'_> {
    fn failure(&self, how: &str, is_other: bool, problems: Vec<Problem>) -> Failure {
        let Point { position, survivors, .. } = self.point;
        let last = self.recording.records.len();
        let device = if is_other { ", other device number" } else { "" };
        let words = format!("cut at {position} of {last} with {survivors:?}{how}{device}");
        Failure { point: self.number, words, problems }
    }
}

/// The window of a recovery in the records.
struct Window {
    begun: usize,
    ended: usize,
}

fn join(handle: Handle<'_>) -> Result<Model, PowercutError> {
    let died = || PowercutError::Recording("a writer's thread died".to_owned());
    handle.join().unwrap_or_else(|_| Err(died()))
}

/// Waits until the time is over; triggers writeback once in a while, as the kernel does by itself.
fn wait(
    stage: &Stage<'_>,
    duration: Duration,
    interrupted: &AtomicBool,
    mut rng: Rng,
) -> Result<(), PowercutError> {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(rng.u64(50..300)));
        if interrupted.load(Ordering::Relaxed) {
            return Err(PowercutError::Interrupted);
        }
        let directory =
            std::fs::File::open(stage.top).map_err(cannot("open the mounted directory"))?;
        let room = rustix::fs::fstatvfs(&directory)
            .map_err(|error| cannot("query the free space")(error.into()))?;
        if room.f_bavail * room.f_frsize < LEAST_ROOM {
            return Ok(());
        }
        if rng.u8(..100) < 25 {
            rustix::fs::syncfs(&directory).map_err(|error| cannot("sync")(error.into()))?;
        }
    }
    Ok(())
}
