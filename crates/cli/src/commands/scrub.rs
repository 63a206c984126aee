//! `everturn scrub`: removes secrets from sessions, and keeps the originals until they are purged.

use std::sync::Arc;

use everturn::format::SessionFormat;
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::scan::{FamilyCounts, SecretRules};
use everturn::scrub::{self, LeftoverSecrets, PurgeTarget, ScrubError, ScrubReport, ScrubScope};
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
/// and copies of them in the trash and the quarantine; --all also covers sessions in the trash and
/// every other file of the root, except settings and files that store keys on purpose. Checksums
/// are recomputed; signatures and everything else stay byte for byte. The search index is removed,
/// and rebuilt by the next search. The originals are kept below .everturn/trash: --undo restores
/// them; --purge removes them permanently, also from Everturn's own logs. An audit record without
/// the secrets is written to .everturn/audit. Prints the plan and asks for confirmation, unless
/// --yes is given.
///
/// What cannot be scrubbed does not stop the rest. At the end, the raw bytes of everything that was
/// scrubbed are scanned. Whatever is left is named, and the status is 3.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn scrub --dry-run session-abc123
  everturn scrub session-abc123
  everturn scrub --undo session-abc123
  everturn scrub --all --purge --yes

With --json, one per session, one for the other files (without a session), and one for the scan:
  {"session":"…","layout":"game","done":true,"files":[{"file":"…","secrets":{"github-token":1},"placeholders":["…"]}],"followed":["…"],"left":0,"kept":"…","seal":null,"failed":[]}
  {"scanned":{"files":14,"bytes":48213},"left":[{"file":"…","in_name":false,"secrets":{"github-token":1}}],"not_scanned":[]}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    session: Option<String>,

    /// Scrub every session of the root, and everything else below it
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

/// What could not be scrubbed. It does not stop the rest.
#[derive(Default)]
struct Failures {
    first: Option<Error>,
    count: usize,
}

impl Failures {
    fn add(&mut self, what: &str, error: Error) {
        Output::status(&format!("{what} cannot be scrubbed: {error}"));
        self.count += 1;
        self.first.get_or_insert(error);
    }
}

/// Returns the root, and the sessions in it with their branches; with `--all` also those in the trash.
fn targets(
    args: &Args,
    context: &Context,
    failures: &mut Failures,
) -> Result<(OpenRoot, Vec<SessionTarget>), Error> {
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
    let store = root.store();
    let mut all = Vec::new();
    for layout in context.layouts() {
        let what = format!("the list of {} sessions", layout.name());
        let mut places = match layout.locate(&store) {
            Ok(listing) => listing.sessions,
            Err(error) => {
                failures.add(&what, error.into());
                continue;
            }
        };
        match scrub::trashed_sessions(&store, layout, &places) {
            Ok(trashed) => places.extend(trashed),
            Err(error) => failures.add(&what, error.into()),
        }
        all.extend(places.into_iter().map(|place| (layout, place)));
    }
    drop(store);
    Ok((root, all))
}

fn count_summary(counts: &FamilyCounts) -> String {
    let parts = counts.iter().map(|(family, count)| format!("{count} {family}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn document(target: Option<&SessionTarget>, scrub: &ScrubReport, done: bool) -> String {
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
    let failed: Vec<_> =
        scrub.failed.iter().map(|(file, why)| json!({"file": file.as_str(), "why": why})).collect();
    json!({
        "session": target.map(|(_, place)| &place.id),
        "layout": target.map(|(layout, _)| layout.name()), "done": done, "files": files,
        "followed": followed, "left": left, "kept": scrub.originals.as_ref().map(FilePath::as_str),
        "seal": seal, "failed": failed,
    })
    .to_string()
}

fn print(
    context: &mut Context,
    target: Option<&SessionTarget>,
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
    for (file, why) in &scrub.failed {
        Output::status(&format!("{file} cannot be scrubbed: {why}"));
    }
    Ok(())
}

fn undo(
    args: &Args,
    context: &mut Context,
    root: OpenRoot,
    targets: &[SessionTarget],
) -> Result<Exit, EarlyExit> {
    let store = root.store();
    let mut taken_back = 0;
    let sessions = targets
        .iter()
        .map(|(layout, place)| scrub::revert(&store, *layout, place, settings::now()));
    let other = args.all.then(|| scrub::revert_other_files(&store, settings::now()));
    for reverted in sessions.chain(other) {
        match reverted {
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

/// Removes the originals of all scrubs of the sessions, and their records. Returns whether it was confirmed.
fn purge(
    args: &Args,
    store: &Arc<dyn Store>,
    targets: &[SessionTarget],
    failures: &mut Failures,
) -> Result<bool, Error> {
    let mut condemned = Vec::new();
    for (layout, place) in targets {
        match scrub::list_originals(store, *layout, place) {
            Ok(originals) => condemned.push(PurgeTarget { layout: *layout, place, originals }),
            Err(error) => failures.add(&place.id, failed(error)),
        }
    }
    let other = match args.all {
        true => scrub::list_other_originals(store).map_err(failed)?,
        false => Vec::new(),
    };
    let all: Vec<&(FilePath, u64)> =
        condemned.iter().flat_map(|target| &target.originals).chain(&other).collect();
    let (count, bytes) = (all.len(), all.iter().map(|(_, bytes)| bytes).sum::<u64>());
    let which = count_noun(count as u64, "original", "originals");
    let question = format!("Remove {which} with {bytes} bytes permanently?");
    if !confirm::confirm(args.yes, &question, "the originals were kept")? {
        return Ok(false);
    }
    let places = other.into_iter().map(|(place, _)| place).collect();
    let removed = scrub::remove_originals(store, places)
        .and_then(|()| scrub::purge_originals(store, &condemned));
    match removed {
        Ok(()) => Output::status(&format!("originals removed permanently: {count}")),
        Err(error) => failures.add("what the originals left", failed(error)),
    }
    Ok(true)
}

/// Plans the scrub of every session, and with `--all` of the other files. Returns the number of secrets, and whether
/// everything could be read.
fn plan(
    args: &Args,
    context: &mut Context,
    store: &Arc<dyn Store>,
    targets: &[SessionTarget],
    failures: &mut Failures,
) -> Result<(u64, bool), EarlyExit> {
    let (rules, progress) = (SecretRules::standard(), Progress::new("scrubbing"));
    let mut plans = Vec::new();
    let mut is_whole = true;
    for target in targets {
        progress.step(&target.1.id);
        match scrub::plan_scrub(store, target.0, &target.1, rules) {
            Ok(plan) => plans.push((Some(target), plan)),
            Err(error) if args.dry_run => failures.add(&target.1.id, failed(error)),
            // The scrub tries again, and reports it.
            Err(_) => is_whole = false,
        }
    }
    if args.all {
        let plan = scrub::plan_other_files(store, targets, rules);
        is_whole &= plan.failed.is_empty();
        if !plan.changed.is_empty() || !plan.left.is_empty() || !plan.failed.is_empty() {
            plans.push((None, plan));
        }
    }
    progress.finish();
    let found = plans.iter().flat_map(|(_, plan)| &plan.changed);
    let secrets: usize = found.flat_map(|file| file.counts.values()).sum();
    let is_shown = args.dry_run || !args.yes;
    if is_shown && (!context.json || args.dry_run) {
        for (target, plan) in &plans {
            if args.dry_run {
                failures.count += plan.failed.len();
            }
            print(context, *target, plan, false)?;
        }
    }
    Ok((secrets as u64, is_whole))
}

/// Scrubs every session, and with `--all` the other files.
fn scrub_all(
    args: &Args,
    context: &mut Context,
    store: &Arc<dyn Store>,
    targets: &[SessionTarget],
    failures: &mut Failures,
) -> Result<(), EarlyExit> {
    let rules = SecretRules::standard();
    // The index is cleared first, so that a crash leaves no removed text in it.
    let index = catalog::forget()?;
    let mut done = Vec::new();
    for target in targets {
        let now = settings::now();
        done.push((Some(target), scrub::scrub_session(store, target.0, &target.1, rules, now)));
    }
    if args.all {
        let other = scrub::scrub_other_files(store, targets, rules, settings::now());
        let is_shown = |it: &ScrubReport| {
            !it.changed.is_empty() || !it.left.is_empty() || !it.failed.is_empty()
        };
        if other.as_ref().map_or(true, is_shown) {
            done.push((None, other));
        }
    }
    for (target, done) in done {
        let what = target.map_or("the other files", |(_, place)| &place.id);
        match done {
            Ok(done) => {
                failures.count += done.failed.len();
                if args.yes || context.json {
                    print(context, target, &done, true)?;
                }
                if let Some(kept) = &done.originals {
                    Output::status(&format!("the originals of {what} are in {kept}"));
                }
            }
            Err(error) => failures.add(what, failed(error)),
        }
    }
    catalog::forgotten(index)?;
    Ok(())
}

/// Scans the raw bytes of what was scrubbed, and names what is left. Returns whether nothing is.
fn prove(
    context: &mut Context,
    store: &Arc<dyn Store>,
    scope: ScrubScope<'_>,
) -> Result<bool, EarlyExit> {
    let rules = SecretRules::standard();
    let proof = scrub::scan_leftovers(store, scope, rules).map_err(Error::from)?;
    let mut records = Vec::new();
    for LeftoverSecrets { file, inside, in_name, counts } in &proof.left {
        // A name may be the secret.
        let mut shown = rules.mask(file.as_str()).0.into_owned();
        if let Some(inside) = inside {
            shown = format!("{shown}({inside})");
        }
        let place = if *in_name { ", in the name" } else { "" };
        Output::status(&format!("{shown}: left{place}: {}", count_summary(counts)));
        records.push(json!({"file": shown, "in_name": in_name, "secrets": counts}));
    }
    let mut unread = Vec::new();
    for (path, why) in &proof.unreadable {
        Output::status(&format!("{path}: not scanned: {why}"));
        unread.push(json!({"file": path, "why": why}));
    }
    let is_clean = proof.left.is_empty() && proof.unreadable.is_empty();
    let (files, bytes) = (proof.stats.files, proof.stats.bytes);
    if context.json {
        let record = json!({
            "scanned": {"files": files, "bytes": bytes}, "left": records, "not_scanned": unread,
        });
        writeln!(context.out, "{record}")?;
        context.out.flush()?;
    } else if is_clean {
        Output::status(&format!("scanned {files} files, {bytes} bytes: no secrets left"));
    }
    Ok(is_clean)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let mut failures = Failures::default();
    let (root, targets) = targets(args, context, &mut failures)?;
    if args.undo {
        return undo(args, context, root, &targets);
    }
    let store = root.store();
    let (secrets, is_whole) = plan(args, context, &store, &targets, &mut failures)?;
    if secrets == 0 {
        Output::status("no secrets found that can be replaced");
    }
    if args.dry_run {
        return Ok(if failures.count == 0 { Exit::Success } else { Exit::Findings });
    }
    let question = format!("Replace {}?", count_noun(secrets, "secret", "secrets"));
    if secrets > 0 && !confirm::confirm(args.yes, &question, "nothing was changed")? {
        return Ok(Exit::Success);
    }
    if secrets > 0 || !is_whole {
        scrub_all(args, context, &store, &targets, &mut failures)?;
    }
    let is_purged = args.purge && purge(args, &store, &targets, &mut failures)?;
    let scope = ScrubScope { sessions: &targets, is_root: args.all, is_purged };
    let is_clean = prove(context, &store, scope)?;
    drop(store);
    root.close()?;
    match failures.first {
        Some(error) if !args.all => Err(error.into()),
        _ if failures.count > 0 || !is_clean => Ok(Exit::Findings),
        _ => Ok(Exit::Success),
    }
}
