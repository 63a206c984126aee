//! Retention: selects expired sessions by their last activity, their number, and their size.
//!
//! The last activity is taken from the records of a session, never from file times, so copies, backups and programs
//! that touch files have no effect. [`plan_retention`] makes a [`RetentionPlan`] with the reason for each session, and
//! [`apply_plan`] moves the expired sessions to the trash, from which they can be restored. Nothing is purged.

mod pins;

use std::sync::Arc;

use jiff::Timestamp;

use crate::registry;
use everturn_session::format::{Operation, SessionError, SessionFormat, Transition, error_chain};
use everturn_session::model::SessionRef;
use everturn_store::Store;

pub use pins::{Pin, is_pinned, list_pins, pin_session, unpin_session};

/// The limits of retention. A session expires if it exceeds any of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// The most days since the last activity.
    pub days: Option<u32>,
    /// The most sessions; the most recently active ones stay.
    pub count: Option<usize>,
    /// The most bytes; the least recently active sessions expire first.
    pub bytes: Option<u64>,
}

impl RetentionPolicy {
    /// Whether it has no limits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == RetentionPolicy::default()
    }
}

/// The properties of a session that a policy considers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionCandidate {
    /// The name of its format.
    pub layout: &'static str,
    /// The ref of the session.
    pub place: SessionRef,
    /// Its last activity, according to its records.
    pub active: Option<Timestamp>,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// Whether it is pinned.
    pub pinned: bool,
    /// The number of its store, if the sessions of several stores are planned together.
    pub source: usize,
}

/// The decision about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionChoice {
    /// The session.
    pub candidate: RetentionCandidate,
    /// Why it expires, or why it cannot; empty if no limit applies.
    pub why: Vec<String>,
    /// Whether it expires.
    pub goes: bool,
}

/// The decisions about all sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionPlan {
    /// The sessions, most recently active first.
    pub choices: Vec<RetentionChoice>,
}

impl RetentionPlan {
    /// Returns the part of the plan about the sessions of one store.
    #[must_use]
    pub fn of_source(&self, source: usize) -> RetentionPlan {
        let here = self.choices.iter().filter(|choice| choice.candidate.source == source);
        RetentionPlan { choices: here.cloned().collect() }
    }

    /// The expired sessions.
    pub fn chosen(&self) -> impl Iterator<Item = &RetentionChoice> {
        self.choices.iter().filter(|choice| choice.goes)
    }
}

const DAY: i64 = 86_400;

/// Makes a plan from its arguments alone.
#[must_use]
pub fn plan_retention(
    policy: &RetentionPolicy,
    mut candidates: Vec<RetentionCandidate>,
    now: Timestamp,
) -> RetentionPlan {
    candidates.sort_by(|a, b| (b.active, &a.place).cmp(&(a.active, &b.place)));
    // Sessions that cannot expire count first.
    let fixed = |it: &&RetentionCandidate| it.pinned || it.active.is_none();
    let mut room: u64 = candidates.iter().filter(fixed).map(|it| it.bytes).sum();
    let mut count = 0;
    let choose = |candidate: RetentionCandidate| {
        let mut why = Vec::new();
        let Some(active) = candidate.active.filter(|_| !candidate.pinned) else {
            let reason =
                if candidate.pinned { "it is pinned" } else { "its last activity is not known" };
            return RetentionChoice { why: vec![reason.to_owned()], candidate, goes: false };
        };
        let days = (now.as_second() - active.as_second()).div_euclid(DAY);
        if let Some(most) = policy.days
            && now.as_second() - active.as_second() > i64::from(most) * DAY
        {
            why.push(format!("inactive for {days} days, more than the limit of {most}"));
        }
        if let Some(most) = policy.count
            && count >= most
        {
            why.push(format!("{count} sessions are more recent, and the limit is {most}"));
        }
        if let Some(most) = policy.bytes
            && room + candidate.bytes > most
        {
            let with = room + candidate.bytes;
            why.push(format!(
                "it would bring the total to {with} bytes, above the limit of {most}"
            ));
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

/// Finds all sessions of these formats. An unreadable session has no time, and stays.
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
        source: 0,
    })
}

/// The last activity of a session: the time of its last turn or of its metadata, whichever is later.
pub fn last_activity(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Option<Timestamp> {
    let told = layout.summary(store, place).ok().and_then(|summary| summary.updated);
    let last = || -> Result<Option<Timestamp>, SessionError> {
        let reader = layout.open(store, place)?;
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
        // A session whose end cannot be read may have been active just now.
        Err(_) => None,
    }
}

/// What happened to an expired session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionOutcome {
    /// The session.
    pub candidate: RetentionCandidate,
    /// Its name in the trash; `None` if it stayed.
    pub trashed: Option<String>,
    /// Why it stayed, or what is left to do.
    pub note: Option<String>,
}

/// Moves the expired sessions of a plan to the trash, one by one. A session that was changed or pinned since the plan
/// was made stays. The plan must have only sessions of this store; see [`RetentionPlan::of_source`].
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
        let again = RetentionCandidate { source: candidate.source, ..again };
        if again != *candidate {
            stays("it has changed since the plan was created".to_owned());
            continue;
        }
        let stage = Transition::Trash;
        let moved = layout.lifecycle(Operation::Transition(stage)).and_then(|lifecycle| {
            lifecycle.transition(store, &candidate.place, stage, now, &mut |_| {})
        });
        match moved {
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
        RetentionCandidate { layout: "game", place, active, bytes, pinned, source: 0 }
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
        // The pinned and the undated session have 47 bytes.
        check(RetentionPolicy { bytes: Some(47 + 35), ..none }, &["middle", "old"]);
        check(RetentionPolicy { bytes: Some(47 + 55), ..none }, &["old"]);
        check(RetentionPolicy { bytes: Some(47 + 45), ..none }, &["middle"]);
        check(RetentionPolicy { days: Some(89), count: Some(2), ..none }, &["middle", "old"]);
    }
}
