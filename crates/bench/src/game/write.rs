//! Measures writes: saves, snapshots, and the plain files that a snapshot is compared with.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::measurements::{
    BenchSession, GameMeasurements, GameOp, GameRunError, MeasurementPlan, SAVES, SNAPSHOTS, say,
};
use super::peer::GameKeeper;
use super::workload::NewTurn;
use crate::files;
use crate::peer::PeerError;

/// The row of the files that an Everturn snapshot writes, each written and flushed separately.
pub(crate) const PLAIN: &str = "plain-files";

/// The number of rounds in a run, in each of which all sessions are written. The speed of disks varies from second to
/// second, so sessions that are compared must be written at almost the same time.
const ROUNDS: u32 = 5;

/// Writes to every session in turn, as often as `plan` says.
pub(super) fn measure(
    plan: &MeasurementPlan,
    sites: &[BenchSession],
    home: &Path,
    progress: &mut dyn Write,
    measured: &mut GameMeasurements,
) -> Result<(), GameRunError> {
    if !plan.ops.iter().any(|op| matches!(op, GameOp::Save | GameOp::Snapshot)) {
        return Ok(());
    }
    let mut order: Vec<&BenchSession> = sites.iter().collect();
    let mut played = 0;
    for run in 1..=plan.runs {
        let mut times: BTreeMap<(GameOp, u32, &str), Vec<Duration>> = BTreeMap::new();
        say(progress, &format!("writing, run {run} of {}", plan.runs))?;
        for _ in 0..ROUNDS {
            for site in &order {
                let taken = play_on(site, site.last() + played, home);
                for (op, row, taken) in taken.map_err(site.failed("continue"))? {
                    times.entry((op, site.size, row)).or_default().extend(taken);
                }
            }
            played += SAVES / ROUNDS + SNAPSHOTS / ROUNDS;
            order.rotate_left(1);
        }
        for ((op, size, row), times) in times {
            if plan.ops.contains(&op) {
                measured.add(op, size, row, times);
            }
        }
    }
    Ok(())
}

type TimedOp = (GameOp, &'static str, Vec<Duration>);

/// Saves the turns of a round after those that were `played`, then takes snapshots, each after one more turn.
fn play_on(site: &BenchSession, played: u32, home: &Path) -> Result<Vec<TimedOp>, PeerError> {
    let saved = played + SAVES / ROUNDS;
    let new = |number: u32| NewTurn::new(number);
    let turns: Vec<NewTurn> = (played + 1..=saved).map(new).collect::<Result<_, _>>()?;
    let mut keeper = (site.peer.play)(&site.dir)?;
    files::sync_all();
    let mut saves = Vec::with_capacity(turns.len());
    for turn in &turns {
        let start = Instant::now();
        keeper.save(turn)?;
        saves.push(start.elapsed());
    }
    let mut taken = vec![(GameOp::Save, site.peer.name, saves)];
    let (mut snapshots, mut plain) = (Vec::new(), Vec::new());
    for number in saved + 1..=saved + SNAPSHOTS / ROUNDS {
        keeper.save(&new(number)?)?;
        let (written, time) = snapshot(keeper.as_mut())?;
        snapshots.push(time);
        if !written.is_empty() {
            plain.push(write_plainly(&written, home)?);
        }
    }
    taken.push((GameOp::Snapshot, site.peer.name, snapshots));
    if !plain.is_empty() {
        taken.push((GameOp::Snapshot, PLAIN, plain));
    }
    keeper.close()?;
    Ok(taken)
}

fn snapshot(keeper: &mut dyn GameKeeper) -> Result<(Vec<PathBuf>, Duration), PeerError> {
    let start = Instant::now();
    let written = keeper.snapshot()?;
    Ok((written, start.elapsed()))
}

/// Writes the same bytes as plain files, each durable before the next one.
fn write_plainly(written: &[PathBuf], home: &Path) -> Result<Duration, PeerError> {
    let dir = home.join(PLAIN);
    files::create_dir(&dir)?;
    let mut contents = Vec::new();
    for path in written {
        let name = path.file_name().unwrap_or_default();
        contents.push((dir.join(name), files::read_text(path)?));
    }
    let start = Instant::now();
    for (path, text) in &contents {
        files::write_safely(path, text.as_bytes())?;
    }
    Ok(start.elapsed())
}
