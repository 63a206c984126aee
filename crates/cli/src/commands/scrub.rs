//! `everturn scrub`: removes secrets from sessions, and keeps the originals until they are purged.

use std::sync::Arc;

use everturn::format::SessionFormat;
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::scan::{FamilyCounts, SecretRules};
use everturn::scrub::{self, PurgeTarget, ScrubError, ScrubReport};
use everturn::store::Store;
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::OpenRoot;
use crate::output::{Output, count_noun};
use crate::progress::Progress;
use crate::{catalog, confirm, settings};

/// Replace secrets in sessions with placeholders
///
/// Scrubs the log, snapshots, checkpoints, archives and indexes of a session and of its branches,
/// and copies of them in the trash and the quarantine. Checksums are recomputed; signatures and
/// everything else are kept byte for byte. The search index is removed, and rebuilt by the next search.
/// The originals are kept below .everturn/trash: --undo restores them; --purge removes them
/// permanently, also from Everturn's own logs. An audit record without the secrets is written to
/// .everturn/audit. Prints the plan and asks for confirmation, unless --yes is given.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn scrub --dry-run session-abc123
  everturn scrub session-abc123
  everturn scrub --undo session-abc123
  everturn scrub --all --purge --yes

With --json, one per session:
  {"session":"…","layout":"game","done":true,"files":[{"file":"…","secrets":{"github-token":1},"placeholders":["…"]}],"followed":["…"],"left":0,"kept":"…","seal":null}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    session: Option<String>,

    /// Scrub every session of the root
    #[arg(long)]
    all: bool,

    /// Print the plan and change nothing
    #[arg(long, conflicts_with_all = ["undo", "purge"])]
    dry_run: bool,

    /// Undo the last scrub
    #[arg(long, conflicts_with = "purge")]
    undo: bool,

    /// Remove the originals permanently, also those of earlier scrubs
    #[arg(long)]
    purge: bool,

    /// Apply without asking for confirmation
    #[arg(long)]
    yes: bool,
}

type SessionTarget = (&'static dyn SessionFormat, SessionRef);

fn failed(error: ScrubError) -> Error {
    match error {
        ScrubError::Store(error) => error.into(),
        ScrubError::Name(error) => error.into(),
        ScrubError::Layout(error) => error.into(),
        other => Error::new(Exit::Request, other.to_string()),
    }
}

/// Returns the root, and the sessions in it with their branches.
fn targets(args: &Args, context: &Context) -> Result<(OpenRoot, Vec<SessionTarget>), Error> {
    if let Some(name) = &args.session {
        let found = match args.dry_run {
            true => context.find_to_read(name)?,
            false => context.find_to_write(name)?,
        };
        let (layout, store) = (found.layout, found.root.store());
        let family = scrub::with_branches(&store, layout, &found.place)?;
        return Ok((found.root, family.into_iter().map(|place| (layout, place)).collect()));
    }
    let root = if args.dry_run { context.open_root()? } else { context.root_to_write()? };
    let mut all = Vec::new();
    for layout in context.layouts() {
        let places = layout.locate(&root.store())?.sessions;
        all.extend(places.into_iter().map(|place| (layout, place)));
    }
    Ok((root, all))
}

fn count_summary(counts: &FamilyCounts) -> String {
    let parts = counts.iter().map(|(family, count)| format!("{count} {family}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn document(target: &SessionTarget, scrub: &ScrubReport, done: bool) -> String {
    let files: Vec<_> = scrub
        .changed
        .iter()
        .map(|it| {
            json!({"file": it.file.as_str(), "secrets": it.counts, "placeholders": it.placeholders})
        })
        .collect();
    let followed: Vec<&str> = scrub.derived.iter().map(FilePath::as_str).collect();
    let left: usize = scrub.left.iter().map(|(_, count)| count).sum();
    let seal = scrub.seals.as_ref().map(|(old, new)| json!({"before": old, "after": new}));
    let (layout, place) = target;
    json!({
        "session": place.id, "layout": layout.name(), "done": done, "files": files,
        "followed": followed, "left": left, "kept": scrub.originals.as_ref().map(FilePath::as_str),
        "seal": seal,
    })
    .to_string()
}

fn print(
    context: &mut Context,
    target: &SessionTarget,
    scrub: &ScrubReport,
    done: bool,
) -> Result<(), EarlyExit> {
    if context.json {
        return writeln!(context.out, "{}", document(target, scrub, done));
    }
    for changed in &scrub.changed {
        writeln!(context.out, "{}: {}", changed.file, count_summary(&changed.counts))?;
    }
    for file in &scrub.derived {
        writeln!(context.out, "{file}: derived data, recomputed")?;
    }
    context.out.flush()?;
    for (file, count) in &scrub.left {
        Output::status(&format!("{file}: secrets kept because they are signed: {count}"));
    }
    Ok(())
}

fn undo(
    context: &mut Context,
    root: OpenRoot,
    targets: &[SessionTarget],
) -> Result<Exit, EarlyExit> {
    let store = root.store();
    let mut taken_back = 0;
    for (layout, place) in targets {
        match scrub::revert(&store, *layout, place, settings::now()) {
            Ok(actions) => {
                taken_back += 1;
                for action in &actions {
                    writeln!(context.out, "{}: {}", action.file, action.what)?;
                }
            }
            // A branch may not have been scrubbed.
            Err(ScrubError::Revert(everturn::repair::RepairError::NoRepair { .. })) => {}
            Err(error) => return Err(failed(error).into()),
        }
    }
    drop(store);
    root.close()?;
    context.out.flush()?;
    if taken_back == 0 {
        let what = "there is no scrub to undo";
        return Err(Error::new(Exit::Request, what).into());
    }
    Output::status("the scrub was undone; the secrets are restored");
    Ok(Exit::Success)
}

/// Removes the originals of all scrubs of the sessions, and their records.
fn purge(args: &Args, store: &Arc<dyn Store>, targets: &[SessionTarget]) -> Result<(), Error> {
    let mut condemned = Vec::new();
    for (layout, place) in targets {
        let originals = scrub::list_originals(store, *layout, place).map_err(failed)?;
        condemned.push(PurgeTarget { layout: *layout, place, originals });
    }
    let (mut count, mut bytes) = (0, 0);
    for PurgeTarget { originals, .. } in &condemned {
        count += originals.len();
        bytes += originals.iter().map(|(_, bytes)| bytes).sum::<u64>();
    }
    let which = count_noun(count as u64, "original", "originals");
    let question = format!("Remove {which} with {bytes} bytes permanently?");
    if !confirm::confirm(args.yes, &question, "the originals were kept")? {
        return Ok(());
    }
    scrub::purge_originals(store, &condemned).map_err(failed)?;
    Output::status(&format!("originals removed permanently: {count}"));
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (root, targets) = targets(args, context)?;
    if args.undo {
        return undo(context, root, &targets);
    }
    let store = root.store();
    let (rules, progress) = (SecretRules::standard(), Progress::new("scrubbing"));
    let mut plans = Vec::new();
    for target in &targets {
        progress.step(&target.1.id);
        let plan = scrub::plan_scrub(&store, target.0, &target.1, rules).map_err(failed)?;
        plans.push(plan);
    }
    progress.finish();
    let secrets: usize =
        plans.iter().flat_map(|plan| &plan.changed).flat_map(|it| it.counts.values()).sum();
    let question = format!("Replace {}?", count_noun(secrets as u64, "secret", "secrets"));
    let is_shown = args.dry_run || !args.yes;
    if is_shown && (!context.json || args.dry_run) {
        for (target, plan) in targets.iter().zip(&plans) {
            print(context, target, plan, false)?;
        }
    }
    if secrets == 0 {
        Output::status("no secrets found that can be replaced");
    }
    if args.dry_run {
        return Ok(Exit::Success);
    }
    if secrets > 0 {
        if !confirm::confirm(args.yes, &question, "nothing was changed")? {
            return Ok(Exit::Success);
        }
        // The index is cleared first, so that a crash leaves no removed text in it.
        let index = catalog::forget()?;
        for target in &targets {
            let now = settings::now();
            let done =
                scrub::scrub_session(&store, target.0, &target.1, rules, now).map_err(failed)?;
            if args.yes || context.json {
                print(context, target, &done, true)?;
            }
            if let Some(kept) = &done.originals {
                Output::status(&format!("the originals of {} are in {kept}", target.1.id));
            }
        }
        catalog::forgotten(index)?;
    }
    if args.purge {
        purge(args, &store, &targets)?;
    }
    drop(store);
    root.close()?;
    Ok(Exit::Success)
}
