//! Which sessions need not stay: by when they were last active, how many there are, and how much room they take.
//!
//! When a session was last active is what its records say; the times of files are never looked at, so a copy, a
//! backup or another program that touches them changes nothing. A plan says why each session is chosen. Applying it moves
//! them to the trash, from which they can be had back; nothing here removes anything.

mod pins;

use std::sync::Arc;

use jiff::Timestamp;

use crate::registry;
use everturn_session::archived;
use everturn_session::format::{SessionError, SessionFormat, Transition, error_chain};
use everturn_session::model::SessionRef;
use everturn_store::Store;

pub use pins::{Pin, is_pinned, list_pins, pin_session, unpin_session};

/// What may stay. A session goes if any of the rules says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Sessions that were not active for more than so many days go.
    pub days: Option<u32>,
    /// Only so many stay, the last active ones.
    pub count: Option<usize>,
    /// Only so many bytes stay; those that were not active for the longest time go first.
    pub bytes: Option<u64>,
}

impl RetentionPolicy {
    /// Whether it says anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == RetentionPolicy::default()
    }
}

/// A session, as far as a policy looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionCandidate {
    /// The name of its layout.
    pub layout: &'static str,
    /// Where it is.
    pub place: SessionRef,
    /// When something last happened in it, as its records say.
    pub active: Option<Timestamp>,
    /// How many bytes its files have.
    pub bytes: u64,
    /// Whether somebody said that it is to stay.
    pub pinned: bool,
}

/// What a plan says about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionChoice {
    /// The session.
    pub candidate: RetentionCandidate,
    /// Why it goes; nothing if it stays because no rule says anything about it.
    pub why: Vec<String>,
    /// Whether it goes.
    pub goes: bool,
}

/// What would become of every session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionPlan {
    /// The sessions, the last active ones first.
    pub choices: Vec<RetentionChoice>,
}

impl RetentionPlan {
    /// Those that go.
    pub fn chosen(&self) -> impl Iterator<Item = &RetentionChoice> {
        self.choices.iter().filter(|choice| choice.goes)
    }
}

const DAY: i64 = 86_400;

/// Makes a plan. Nothing is looked at but what is given.
#[must_use]
pub fn plan_retention(
    policy: &RetentionPolicy,
    mut candidates: Vec<RetentionCandidate>,
    now: Timestamp,
) -> RetentionPlan {
    candidates.sort_by(|a, b| (b.active, &a.place).cmp(&(a.active, &b.place)));
    // What stays whatever the rules say takes its room first.
    let fixed = |it: &&RetentionCandidate| it.pinned || it.active.is_none();
    let mut room: u64 = candidates.iter().filter(fixed).map(|it| it.bytes).sum();
    let mut count = 0;
    let choose = |candidate: RetentionCandidate| {
        let mut why = Vec::new();
        let Some(active) = candidate.active.filter(|_| !candidate.pinned) else {
            let reason = if candidate.pinned {
                "it is pinned"
            } else {
                "nothing in it says when it was last active"
            };
            return RetentionChoice { why: vec![reason.to_owned()], candidate, goes: false };
        };
        let days = (now.as_second() - active.as_second()).div_euclid(DAY);
        if let Some(most) = policy.days
            && now.as_second() - active.as_second() > i64::from(most) * DAY
        {
            why.push(format!("it was not active for {days} days, and after {most} it may go"));
        }
        if let Some(most) = policy.count
            && count >= most
        {
            why.push(format!("{count} sessions were active after it, and {most} are to stay"));
        }
        if let Some(most) = policy.bytes
            && room + candidate.bytes > most
        {
            let with = room + candidate.bytes;
            why.push(format!("with it there would be {with} bytes, and {most} are to stay"));
        }
        let goes = !why.is_empty();
        count += 1;
        if !goes {
            room += candidate.bytes;
        }
        RetentionChoice { candidate, why, goes }
    };
    RetentionPlan { choices: candidates.into_iter().map(choose).collect() }
}

/// Looks at every session of these layouts. One that cannot be read has no time, and stays.
pub fn find_candidates(
    store: &Arc<dyn Store>,
    layouts: &[&'static dyn SessionFormat],
) -> Result<Vec<RetentionCandidate>, SessionError> {
    let mut all = Vec::new();
    for layout in layouts {
        for place in layout.locate(store)?.sessions {
            all.push(read_candidate(store, *layout, place)?);
        }
    }
    Ok(all)
}

fn read_candidate(
    store: &Arc<dyn Store>,
    layout: &'static dyn SessionFormat,
    place: SessionRef,
) -> Result<RetentionCandidate, SessionError> {
    let bytes =
        layout.session_files(store, &place).ok().map(|it| it.total_bytes(store)).transpose()?;
    Ok(RetentionCandidate {
        layout: layout.name(),
        active: last_activity(store, layout, &place),
        bytes: bytes.unwrap_or_default(),
        pinned: is_pinned(store, layout, &place)?,
        place,
    })
}

/// When something last happened in a session: what its last turn says, or, if that is later, its metadata.
pub fn last_activity(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Option<Timestamp> {
    let told = layout.summary(store, place).ok().and_then(|summary| summary.updated);
    let last = || -> Result<Option<Timestamp>, SessionError> {
        let reader = archived::open_reader(store, layout, place)?;
        let turn = *reader.turns()?.end();
        let mut entries = reader.entries(turn..=turn)?;
        let mut time = None;
        while let Some(entry) = entries.next() {
            time = time.max(entry?.time);
        }
        Ok(time)
    };
    match last() {
        Ok(last) => told.max(last),
        // A session of which the end cannot be read may have been active a moment ago.
        Err(_) => None,
    }
}

/// What became of a session that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionOutcome {
    /// The session.
    pub candidate: RetentionCandidate,
    /// Its name in the trash; nothing if it stayed.
    pub trashed: Option<String>,
    /// Why it stayed, or what is left to do.
    pub note: Option<String>,
}

/// Moves what a plan has chosen to the trash, one session after the other. One that has changed since the plan was made,
/// or was pinned, stays.
pub fn apply_plan(
    store: &Arc<dyn Store>,
    plan: &RetentionPlan,
    now: Timestamp,
    mut tell: impl FnMut(RetentionOutcome),
) -> Result<(), SessionError> {
    for RetentionChoice { candidate, .. } in plan.chosen() {
        let mut stays = |note: String| {
            tell(RetentionOutcome {
                candidate: candidate.clone(),
                trashed: None,
                note: Some(note),
            });
        };
        let Some(layout) = registry::find(candidate.layout) else { continue };
        let again = read_candidate(store, layout, candidate.place.clone())?;
        if again != *candidate {
            stays("it has changed since the plan was made".to_owned());
            continue;
        }
        match layout.transition(store, &candidate.place, Transition::Trash, now, &mut |_| {}) {
            Ok(staged) => tell(RetentionOutcome {
                candidate: candidate.clone(),
                trashed: staged.trashed,
                note: staged.deferred_error,
            }),
            Err(error) => stays(error_chain(&error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_json::names::FilePath;

    fn candidate(id: &str, day: Option<i64>, bytes: u64, pinned: bool) -> RetentionCandidate {
        let place = SessionRef { id: id.to_owned(), path: FilePath::parse(id).unwrap() };
        let active = day.map(|day| Timestamp::from_second(day * DAY).unwrap());
        RetentionCandidate { layout: "game", place, active, bytes, pinned }
    }

    #[track_caller]
    fn check(policy: RetentionPolicy, expect: &[&str]) {
        let all = vec![
            candidate("old", Some(10), 10, false),
            candidate("new", Some(99), 30, false),
            candidate("middle", Some(60), 20, false),
            candidate("future", Some(200), 5, false),
            candidate("pinned", Some(1), 40, true),
            candidate("undated", None, 7, false),
        ];
        let plan = plan_retention(&policy, all, Timestamp::from_second(100 * DAY).unwrap());
        let chosen: Vec<&str> = plan.chosen().map(|it| it.candidate.place.id.as_str()).collect();
        assert_eq!(chosen, expect, "{policy:?}");
        assert!(plan.chosen().all(|it| !it.why.is_empty()));
        assert_eq!(plan.choices.len(), 6);
    }

    #[test]
    fn each_rule_chooses_and_says_why() {
        let none = RetentionPolicy::default();
        check(none, &[]);
        check(RetentionPolicy { days: Some(30), ..none }, &["middle", "old"]);
        check(RetentionPolicy { days: Some(90), ..none }, &[]);
        check(RetentionPolicy { days: Some(89), ..none }, &["old"]);
        check(RetentionPolicy { count: Some(2), ..none }, &["middle", "old"]);
        check(RetentionPolicy { count: Some(0), ..none }, &["future", "new", "middle", "old"]);
        // What is pinned, and what says nothing, have 47 bytes.
        check(RetentionPolicy { bytes: Some(47 + 35), ..none }, &["middle", "old"]);
        check(RetentionPolicy { bytes: Some(47 + 55), ..none }, &["old"]);
        check(RetentionPolicy { bytes: Some(47 + 45), ..none }, &["middle"]);
        check(RetentionPolicy { days: Some(89), count: Some(2), ..none }, &["middle", "old"]);
    }
}
