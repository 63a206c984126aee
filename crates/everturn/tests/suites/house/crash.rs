//! Scrubs, purges, seals and retention, cut at every change of the disk.

use std::sync::Arc;

use everturn::disk::sim::SimDisk;
use everturn::format::{SessionError, Transition};
use everturn::retention::{
    RetentionPolicy, apply_plan, find_candidates, pin_session, plan_retention,
};
use everturn::scan::SecretRules;
use everturn::scrub::{PurgeTarget, list_originals, purge_originals, revert, scrub_session};
use everturn::seal::{seal_session, verify_session};
use everturn::store::Store;
use jiff::ToSpan;

use crate::common::capabilities::KnownCapabilities;
use crate::house::crashes::{crash_everywhere, fail_everywhere};
use crate::house::kinds::{ALL, Kind, at, holding, named, open, token};

type Op = fn(&Kind, &Arc<dyn Store>) -> Result<(), SessionError>;

fn scrubbed(kind: &Kind, store: &Arc<dyn Store>, second: i64) -> Result<(), SessionError> {
    let place = kind.place(store)?;
    let done = scrub_session(store, kind.layout(), &place, SecretRules::standard(), at(second));
    done.map(drop).map_err(|error| SessionError::Request { what: error.to_string() })
}

const OPS: &[Op] = &[
    |kind, store| kind.create(store),
    |kind, store| kind.say(store, "Hello."),
    |kind, store| kind.say(store, &token()),
    |kind, store| seal_session(store, kind.layout(), &kind.place(store)?, at(10)).map(drop),
    |kind, store| kind.say(store, "Later."),
    |kind, store| scrubbed(kind, store, 20),
    |kind, store| {
        let done = revert(store, kind.layout(), &kind.place(store)?, at(21));
        done.map(drop).map_err(|error| SessionError::Request { what: error.to_string() })
    },
    |kind, store| scrubbed(kind, store, 22),
    |kind, store| {
        let place = kind.place(store)?;
        let failed =
            |error: everturn::scrub::ScrubError| SessionError::Request { what: error.to_string() };
        let (layout, place) = (kind.layout(), &place);
        let originals = list_originals(store, layout, place).map_err(failed)?;
        purge_originals(store, &[PurgeTarget { layout, place, originals }]).map_err(failed)
    },
    |kind, store| pin_session(store, kind.layout(), &kind.place(store)?, at(30)).map(drop),
    |kind, store| {
        everturn::retention::unpin_session(store, kind.layout(), &kind.place(store)?).map(drop)
    },
    |kind, store| {
        // Without its index, nothing in a session of Codelia says when it was active, and no rule is about it.
        if kind.layout == "codelia" {
            let place = kind.place(store)?;
            return kind
                .layout()
                .movable()
                .transition(store, &place, Transition::Trash, at(40), &mut |_| {})
                .map(drop);
        }
        let policy = RetentionPolicy { days: Some(30), ..RetentionPolicy::default() };
        let later = at(0) + (24 * 40).hours();
        let plan = plan_retention(&policy, find_candidates(store, &[kind.layout()])?, later);
        let mut note = None;
        apply_plan(store, &plan, later, |it| note = it.note)?;
        note.map_or(Ok(()), |what| Err(SessionError::Request { what }))
    },
    |kind, store| {
        let trashed = kind.layout().movable().list_trash(store)?;
        kind.layout().movable().restore(store, &trashed[0].name).map(drop)
    },
];

/// The operation after whose end no byte of the token may be anywhere.
const PURGED: usize = 9;

/// What anybody can see of the session: what it says and whether its seal is whole.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Seen {
    told: Option<Vec<String>>,
    trashed: usize,
    whole: Option<bool>,
}

fn seen(kind: &Kind, store: &Arc<dyn Store>) -> Result<Seen, SessionError> {
    let trashed = kind.layout().movable().list_trash(store)?.len();
    let Some(place) = kind.place_of(store, kind.id)? else {
        return Ok(Seen { told: None, trashed, whole: None });
    };
    let verdict = verify_session(store, kind.layout(), &place)?;
    let whole = verdict.map(|verdict| verdict.damages.is_empty());
    Ok(Seen { told: Some(kind.told(store, &place)?), trashed, whole })
}

fn states(kind: &Kind) -> Vec<Seen> {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    let mut all = vec![seen(kind, &store).unwrap()];
    for (number, op) in OPS.iter().enumerate() {
        op(kind, &store).unwrap_or_else(|error| panic!("{} {number}: {error}", kind.layout));
        all.push(seen(kind, &store).unwrap());
    }
    all
}

fn work(kind: &Kind, disk: &SimDisk) -> usize {
    let Ok(store) = open(disk) else { return 0 };
    let mut done = 0;
    for op in OPS {
        if op(kind, &store).is_err() {
            break;
        }
        done += 1;
    }
    done
}

fn check(kind: &Kind, disk: &SimDisk, done: usize, states: &[Seen]) -> Result<(), String> {
    let store = open(disk).map_err(|error| error.to_string())?;
    let found = seen(kind, &store).map_err(|error| error.to_string())?;
    let last = (done + 1).min(states.len() - 1);
    if found != states[done] && found != states[last] {
        return Err(format!("{found:?} is neither {:?} nor {:?}", states[done], states[last]));
    }
    if done >= PURGED {
        let held = holding(disk, &token());
        if !held.is_empty() {
            return Err(format!("the token is still in {held:?}"));
        }
    }
    Ok(())
}

fn suite(kind: &Kind, least: u64) {
    let states = states(kind);
    crash_everywhere(
        &format!("{} in order", kind.layout),
        OPS.len(),
        least,
        |disk| work(kind, disk),
        |disk, done, _| check(kind, disk, done, &states),
    );
}

#[test]
fn games_are_kept_in_order_whatever_cuts_it_off() {
    suite(named("game"), 100);
}

#[test]
fn campaigns_are_kept_in_order_whatever_cuts_it_off() {
    suite(named("campaign"), 100);
}

#[test]
fn sessions_of_codelia_are_kept_in_order_whatever_cuts_it_off() {
    suite(named("codelia"), 100);
}

#[test]
fn sessions_of_linggen_are_kept_in_order_whatever_cuts_it_off() {
    suite(named("linggen"), 100);
}

#[test]
fn threads_are_kept_in_order_whatever_cuts_it_off() {
    suite(named("thread"), 100);
}

#[test]
fn chat_logs_are_kept_in_order_whatever_cuts_it_off() {
    suite(named("chatlog"), 100);
}

#[test]
fn a_full_disk_leaves_a_session_as_it_was_or_as_it_was_to_be() {
    for kind in ALL.iter() {
        let states = states(kind);
        let name = format!("{} on a full disk", kind.layout);
        fail_everywhere(
            &name,
            OPS.len(),
            50,
            9,
            |disk| work(kind, disk),
            |disk, done| check(kind, disk, done, &states),
        );
    }
}
