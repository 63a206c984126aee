//! Compares roots in which sessions were created, forked, moved and trashed.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{differences, some};
use super::{Examination, Fault};
use crate::error::PowercutError;
use crate::model::{Bounds, CommandRun, LifecycleModel};
use crate::streams::lifecycle::listing;
use crate::trees;

/// How the state found relates to the states that may exist.
enum Place {
    /// It is the state after one of the commands.
    Known,
    /// It lies between two commits of a command, and differs only where the command makes changes.
    Between,
    /// It is neither.
    Unknown,
}

fn life_bounds(examination: &Examination<'_>, model: &LifecycleModel) -> Bounds {
    Bounds::at(examination.position, model.commands.iter().map(|run| run.span))
}

/// Runs `ls` and `show` before anything is written.
pub(super) fn read_lifecycle(examination: &mut Examination<'_>, model: &LifecycleModel) {
    let bounds = life_bounds(examination, model);
    let root = &model.root;
    match listing(examination.everturn, &examination.path(root)) {
        Err(why) => examination.add(Fault::Reader, format!("{root}: {why}")),
        Ok(found) => {
            let place = place(model, bounds, &found, |run| &run.listing, |_| false);
            if matches!(place, Place::Unknown) {
                let wanted = model.commands.get(bounds.least.saturating_sub(1));
                let text = format!(
                    "{root}: ls and show print {}, not {} ({})",
                    render_listing(&found),
                    wanted.map_or_else(String::new, |run| render_listing(&run.listing)),
                    commands(model, bounds)
                );
                examination.add(Fault::Reader, text);
            }
        }
    }
}

/// Compares the files after recovery.
pub(super) fn compare_lifecycle(
    examination: &mut Examination<'_>,
    model: &LifecycleModel,
) -> Result<(), PowercutError> {
    let bounds = life_bounds(examination, model);
    examination.acknowledged += bounds.least;
    let found = trees::tree(&examination.path(&model.root))?;
    // The next process folds the journal of a chat log into its document.
    let is_cache =
        |path: &String| path.contains("/checkpoints/") || path.ends_with(".journal.jsonl");
    let place = place(model, bounds, &found, |run| &run.tree, is_cache);
    if matches!(place, Place::Unknown) {
        let earlier = model.commands.iter().take(bounds.least.saturating_sub(1));
        let fault = if earlier.into_iter().any(|run| run.tree == found) {
            Fault::Lost
        } else {
            Fault::Half
        };
        let differences_at = |count: usize| {
            let run = count.checked_sub(1).and_then(|index| model.commands.get(index));
            run.map_or_else(String::new, |run| some(&differences(&run.tree, &found)))
        };
        let Bounds { least, most } = bounds;
        let text = format!(
            "{}: files differ from those after {least} commands: {}, and after {most}: {} ({})",
            model.root,
            differences_at(least),
            differences_at(most),
            commands(model, bounds)
        );
        examination.add(fault, text);
    }
    Ok(())
}

/// Finds the place of `found` among the states after the commands.
fn place<V: PartialEq>(
    model: &LifecycleModel,
    bounds: Bounds,
    found: &BTreeMap<String, V>,
    left: impl Fn(&CommandRun) -> &BTreeMap<String, V>,
    is_cache: impl Fn(&String) -> bool,
) -> Place {
    let first = bounds.least.saturating_sub(1);
    let possible: Vec<&CommandRun> = model.commands.iter().take(bounds.most).skip(first).collect();
    if possible.iter().any(|run| left(run) == found) {
        return Place::Known;
    }
    let is_staged = possible.iter().skip(1).any(|run| run.is_staged);
    let names: BTreeSet<&String> =
        possible.iter().flat_map(|run| left(run).keys()).chain(found.keys()).collect();
    let is_kept = |name: &&String| {
        let mut values = possible.iter().map(|run| left(run).get(*name));
        let before = values.next().flatten();
        let is_changed = values.any(|value| value != before);
        is_changed || found.get(*name) == before || is_cache(name)
    };
    // A running command may create files that no longer exist when it has ended.
    let is_new = |name: &&String| !possible.iter().any(|run| left(run).contains_key(*name));
    if is_staged && names.iter().all(|name| is_kept(name) || is_new(name)) {
        Place::Between
    } else {
        Place::Unknown
    }
}

fn render_listing(listing: &crate::model::Listing) -> String {
    let sessions: Vec<String> = listing
        .iter()
        .map(|(id, session)| format!("{id} {} {}", session.status, session.turns))
        .collect();
    format!("[{}]", sessions.join(", "))
}

/// Returns the commands that were running.
fn commands(model: &LifecycleModel, bounds: Bounds) -> String {
    let runs = model.commands.iter().take(bounds.most).skip(bounds.least.saturating_sub(1));
    runs.map(|run| run.arguments.join(" ")).collect::<Vec<String>>().join(" | ")
}
