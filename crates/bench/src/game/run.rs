//! Runs the measurements: sessions are built once, then every row is measured in turn.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use super::measurements::{
    BEHIND, BenchSession, BuildTime, FileUsage, GameMeasurements, GameOp, GameRunError, JUMPS,
    MeasurementPlan, REPLAY_TURNS, REPLAYS, RESUMES, say,
};
use super::peer::ReplayDepth;
use super::workload::NewTurn;
use super::{memory, write};
use crate::files;
use crate::peer::PeerError;
use crate::workload::SEED;

/// The number of turns at which the states of all peers are compared.
const CHECKED: u32 = 5;

/// Builds all sessions in `dir`, and performs the measurements of `plan`.
pub(crate) fn measure(
    plan: &MeasurementPlan,
    dir: &Path,
    progress: &mut dyn Write,
) -> Result<GameMeasurements, GameRunError> {
    let home = tempfile::Builder::new()
        .prefix("game")
        .tempdir_in(dir)
        .map_err(|source| GameRunError::Directory { dir: dir.display().to_string(), source })?;
    let mut measured = GameMeasurements::default();
    let mut sites = Vec::new();
    for &size in &plan.sizes {
        for &peer in &plan.peers {
            let dir = home.path().join(format!("{}-{size}", peer.name));
            let site = BenchSession { peer, size, dir };
            say(progress, &format!("building a session of {size} turns: {}", peer.name))?;
            let start = Instant::now();
            build(&site).map_err(site.failed("build"))?;
            let seconds = start.elapsed().as_secs_f64();
            measured.built.push(BuildTime { size, peer: peer.name, seconds });
            sites.push(site);
        }
    }
    check(&sites)?;
    files::sync_all();
    for run in 1..=plan.runs {
        for site in &sites {
            say(
                progress,
                &format!("run {run} of {}: {} {}", plan.runs, site.peer.name, site.size),
            )?;
            for &op in &plan.ops {
                read(op, site, run, &mut measured).map_err(site.failed(op.name()))?;
            }
        }
        // Each round starts with another session, so that none is always first.
        sites.rotate_left(1);
    }
    sites.sort_by_key(|site| site.size);
    for site in &sites {
        measured.peaks.extend(memory::peaks(site).map_err(site.failed("measure the memory of"))?);
        measured.kinds.extend(sizes(site).map_err(site.failed("count the files of"))?);
    }
    write::measure(plan, &sites, home.path(), progress, &mut measured)?;
    Ok(measured)
}

/// Plays a session up to its size. The last snapshot, and with it the state files, is a few turns old.
fn build(site: &BenchSession) -> Result<(), PeerError> {
    files::create_dir(&site.dir)?;
    let mut keeper = (site.peer.create)(&site.dir)?;
    for number in 1..=site.last() {
        keeper.save(&NewTurn::new(number)?)?;
        if number + BEHIND == site.last() {
            keeper.snapshot()?;
        }
    }
    keeper.close()
}

/// Returns a pseudo-random turn of the session, the same in every run of the program.
fn random_turn(size: u32, count: u32, salt: u32) -> u64 {
    // A multiplicative mix, twice: good enough for choosing turns.
    let seed = SEED ^ (u64::from(salt) << 32) ^ u64::from(count);
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    1 + (mixed >> 17) % u64::from(size)
}

/// Verifies that all peers have the same turns and states.
fn check(sites: &[BenchSession]) -> Result<(), GameRunError> {
    for site in sites {
        let Some(first) = sites.iter().find(|first| first.size == site.size) else { continue };
        let differs =
            |what: String| GameRunError::Differs { peer: site.peer.name, what, size: site.size };
        let open = |site: &BenchSession| (site.peer.read)(&site.dir).map_err(site.failed("open"));
        let (mut one, mut two) = (open(first)?, open(site)?);
        let some = (0..CHECKED).map(|count| random_turn(site.size, count, 0));
        for turn in some.chain([1, u64::from(site.last())]) {
            let a = one.jump(turn).and_then(|held| held.into_values());
            let b = two.jump(turn).and_then(|held| held.into_values());
            let what = "jump in";
            if a.map_err(first.failed(what))? != b.map_err(site.failed(what))? {
                return Err(differs(format!("state at turn {turn}")));
            }
        }
        let (a, b) = (one.resume(), two.resume());
        let a = a.and_then(|held| held.into_values()).map_err(first.failed("resume"))?;
        let b = b.and_then(|held| held.into_values()).map_err(site.failed("resume"))?;
        if site.peer.resumes_all && a.unstamped() != b.unstamped() {
            return Err(differs("last state".to_owned()));
        }
        let what = "replay";
        let (a, _) =
            one.replay(site.replayed(), ReplayDepth::AsFound).map_err(first.failed(what))?;
        let (b, _) = two.replay(site.replayed(), ReplayDepth::Values).map_err(site.failed(what))?;
        if a != b || a.turns != u64::from(site.size).min(REPLAY_TURNS) {
            return Err(differs(format!("turns {a:?}, {b:?}")));
        }
    }
    Ok(())
}

/// Times `work` several times; its results are dropped after the clock has stopped.
fn timed<T>(
    times: u32,
    mut work: impl FnMut(u32) -> Result<T, PeerError>,
) -> Result<Vec<Duration>, PeerError> {
    let mut taken = Vec::new();
    for count in 0..times {
        let start = Instant::now();
        let made = work(count)?;
        taken.push(start.elapsed());
        drop(made);
    }
    Ok(taken)
}

/// Measures one reading operation of a session; writing is measured later.
fn read(
    op: GameOp,
    site: &BenchSession,
    run: u32,
    measured: &mut GameMeasurements,
) -> Result<(), PeerError> {
    let (peer, size) = (site.peer, site.size);
    let values = format!("{}-values", peer.name);
    let open = || (peer.read)(&site.dir);
    match op {
        GameOp::Jump => {
            let mut reader = open()?;
            let turn = |count: u32| random_turn(size, count, run);
            let times = timed(JUMPS, |count| reader.jump(turn(count)))?;
            measured.add(op, size, peer.name, times);
            if peer.lazy {
                let jump = |count| reader.jump(turn(count))?.into_values();
                measured.add(op, size, &values, timed(JUMPS, jump)?);
            }
        }
        GameOp::Resume => {
            measured.add(op, size, peer.name, timed(RESUMES, |_| open()?.resume())?);
            if peer.lazy {
                let resume = |_| open()?.resume()?.into_values();
                measured.add(op, size, &values, timed(RESUMES, resume)?);
            }
            let play = format!("{}-play", peer.name);
            let mut times = Vec::new();
            for _ in 0..RESUMES {
                let start = Instant::now();
                let keeper = (peer.play)(&site.dir)?;
                times.push(start.elapsed());
                keeper.close()?;
            }
            measured.add(op, size, &play, times);
        }
        GameOp::Replay => {
            let mut reader = open()?;
            let mut replay = |reading| {
                timed(REPLAYS, |_| {
                    let (seen, held) = reader.replay(site.replayed(), reading)?;
                    Ok((
                        seen,
                        if reading == ReplayDepth::Values {
                            Ok(held.into_values()?)
                        } else {
                            Err(held)
                        },
                    ))
                })
            };
            measured.add(op, size, peer.name, replay(ReplayDepth::AsFound)?);
            if peer.lazy {
                measured.add(op, size, &values, replay(ReplayDepth::Values)?);
            }
        }
        GameOp::Save | GameOp::Snapshot => {}
    }
    Ok(())
}

/// Returns the disk usage of a session's files.
fn sizes(site: &BenchSession) -> Result<Vec<FileUsage>, PeerError> {
    let mut kinds = Vec::new();
    for (kind, place) in (site.peer.kinds)(&site.dir) {
        if files::is_there(&place) {
            let (files, bytes) = files::count(&place)?;
            kinds.push(FileUsage { size: site.size, peer: site.peer.name, kind, files, bytes });
        }
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_turns_are_in_the_session_spread_out_and_the_same_every_time() {
        let turns: Vec<u64> = (0..200).map(|count| random_turn(1000, count, 3)).collect();
        assert!(turns.iter().all(|turn| (1..=1000).contains(turn)));
        let low = turns.iter().filter(|turn| **turn <= 500).count();
        assert!((70..=130).contains(&low), "{low} of 200 are in the first half");
        let again: Vec<u64> = (0..200).map(|count| random_turn(1000, count, 3)).collect();
        assert_eq!(turns, again);
        assert_ne!(turns, (0..200).map(|count| random_turn(1000, count, 4)).collect::<Vec<u64>>());
    }
}
