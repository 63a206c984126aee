//! Conversions to everything, cut at every change of the disk: the new session is there whole, or nothing of it is.

use std::sync::Arc;

use everturn::convert::{Conversion, ConversionPlan, TARGETS};
use everturn::disk::sim::SimDisk;
use everturn::store::{FileStore, LockOwner, Options, Store, StoreError};

use crate::convert::crashes::{crash_everywhere, fail_everywhere};
use crate::convert::sessions::{Random, at, session};

fn open(disk: &SimDisk) -> Result<Arc<dyn Store>, StoreError> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) };
    Ok(Arc::new(FileStore::open(Arc::new(disk.process()), options)?))
}

fn plans() -> Vec<ConversionPlan> {
    let from = session("game", &mut Random::new(3));
    let plan = |to: &&str| {
        let conversion =
            Conversion { to, id: None, project: Some("/srv/site"), dir: None, branch: None };
        conversion.plan(&from.store, from.layout, &from.place, at(9)).unwrap()
    };
    TARGETS.iter().map(plan).collect()
}

/// Whether a session is there and reads as it should; an error, if it is there in part.
fn is_there(plan: &ConversionPlan, store: &Arc<dyn Store>) -> Result<bool, String> {
    let told = |error: StoreError| error.to_string();
    let dir = &plan.place().path;
    if store.stat(dir).map_err(told)?.is_some() {
        plan.compare(store).map_err(|error| format!("{dir}: {error}"))?;
        return Ok(true);
    }
    match plan.files().find(|(file, _)| file.is_within(dir) && store.stat(file).unwrap().is_some())
    {
        Some((file, _)) => Err(format!("{file} is there, and its session is not")),
        None => Ok(false),
    }
}

fn verify(plans: &[ConversionPlan], disk: &SimDisk, done: usize) -> Result<(), String> {
    let store = open(disk).map_err(|error| error.to_string())?;
    for (number, plan) in plans.iter().enumerate().skip(done.saturating_sub(2)) {
        match (is_there(plan, &store)?, number) {
            (false, number) if number < done => {
                return Err(format!("{} was acknowledged, and is gone", plan.place().path));
            }
            (true, number) if number > done => {
                return Err(format!("{} is there too early", plan.place().path));
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn a_crash_leaves_the_whole_session_or_nothing() {
    let plans = plans();
    let work = |disk: &SimDisk| match open(disk) {
        Ok(store) => plans.iter().take_while(|plan| plan.write(&store).is_ok()).count(),
        Err(_) => 0,
    };
    crash_everywhere("convert", plans.len(), 60, work, |disk, done, _| verify(&plans, disk, done));
    fail_everywhere("convert", plans.len(), 60, 3, work, |disk, done| verify(&plans, disk, done));
}
