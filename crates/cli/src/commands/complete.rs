//! `everturn complete`: completes a session.

use everturn::format::{Feature, SessionError, Transition};
use everturn::game::{CompletionPlan, SnapshotEntry, plan_complete};
use everturn::names::SessionId;
use serde_json::{Value, json};

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::lifecycle::transition;
use crate::output::Output;

/// Complete a session
///
/// Takes a final snapshot and moves the snapshots that are no longer needed to snapshots/archived.
/// The last ten, those of scene ends, and one every hundred turns are kept. The session can still
/// be read.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn complete session-abc123
  everturn complete session-abc123 --dry-run

Output with --json:
  {"session":"session-abc123","path":"…"}

With --dry-run and --json, of a game:
  {"session":"session-abc123","dryRun":true,"path":"…","snapshot":"snapshot-0203",
   "keep":[{"snapshot":"…","turn":0,"reason":"initial","why":"…"}],
   "retire":[{"snapshot":"…","turn":12,"reason":"manual"}]}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// Print the plan, including the snapshots to move, and change nothing; games only
    #[arg(long)]
    dry_run: bool,
}

fn entry(entry: &SnapshotEntry) -> Value {
    let reason = entry.reason.as_ref().map(|reason| reason.as_str());
    json!({"snapshot": entry.id(), "turn": entry.turn(), "reason": reason})
}

fn document(session: &str, path: &str, plan: &CompletionPlan) -> Value {
    let keep = plan.snapshots.keep.iter().map(|(kept, why)| {
        let mut value = entry(kept);
        if let Some(object) = value.as_object_mut() {
            object.insert("why".to_owned(), json!(why.why()));
        }
        value
    });
    let (keep, retire): (Vec<Value>, Vec<Value>) =
        (keep.collect(), plan.snapshots.retire.iter().map(entry).collect());
    json!({"session": session, "dryRun": true, "path": path, "snapshot": plan.snapshot,
        "keep": keep, "retire": retire})
}

/// Prints what completing the session would do.
fn preview(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_read(&args.session)?;
    let offered = found.layout.require(Feature::CompletionPreview);
    offered.map_err(|error| found.failed(error))?;
    let id = SessionId::parse(&found.place.id).map_err(SessionError::from);
    let plan = id.and_then(|id| Ok(plan_complete(&found.root.store(), &id)?));
    let plan = plan.map_err(|error| found.failed(error))?;
    let path = found.root.shown(&plan.dir);
    if context.json {
        writeln!(context.out, "{}", document(&found.place.id, &path, &plan))?;
    } else {
        if let Some(snapshot) = &plan.snapshot {
            writeln!(context.out, "{snapshot}: create")?;
        }
        for (kept, why) in &plan.snapshots.keep {
            writeln!(context.out, "{}: keep: {}", kept.id(), why.why())?;
        }
        for retired in &plan.snapshots.retire {
            writeln!(context.out, "{}: move to snapshots/archived", retired.id())?;
        }
        writeln!(context.out, "{path}")?;
    }
    context.out.flush()?;
    Output::status("nothing was changed; re-run without --dry-run to apply");
    found.root.close()?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if args.dry_run {
        return preview(args, context);
    }
    transition(context, &args.session, Transition::Complete)
}
