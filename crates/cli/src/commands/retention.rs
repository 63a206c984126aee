//! `everturn retention`: moves expired sessions to the trash.

use std::collections::BTreeSet;

use everturn::format;
use everturn::retention::{
    self, RetentionCandidate, RetentionChoice, RetentionOutcome, RetentionPlan, RetentionPolicy,
};
use everturn_catalog::{CatalogSession, SummaryDetail};
use serde_json::json;

use super::Context;
use crate::catalog::collection;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::RootAccess;
use crate::output::{Output, count_noun};
use crate::selection::{ChangedArgs, Coverage, SelectionArgs, SessionSelection};
use crate::trash_list::{WritableSource, writable_sources};
use crate::{confirm, settings};

/// Move expired sessions to the trash
///
/// Sessions expire by time since their last activity, by number, or by total size. The last
/// activity is taken from the records of a session, never from file times. `plan` prints why each
/// session would expire and changes nothing; `apply` moves the expired sessions to the trash, from
/// which `everturn restore` restores them. Nothing is deleted, except by `everturn purge`. Pinned
/// sessions and sessions without a known time of activity are kept. The rules apply to the sessions
/// of all sources together. Sessions of other programs are never moved, and the last line says how
/// many there are.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn retention plan --days 90
  everturn retention apply --days 365 --count 500 --yes
  everturn retention plan --bytes 5000000000 --json

With --json, one session per line; `apply` adds "trashed" and "note":
  {"session":"…","layout":"game","path":"…","active":"…","bytes":1234,"pinned":false,"goes":true,"why":["…"]}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: RetentionCommand,
}

#[derive(Debug, clap::Subcommand)]
enum RetentionCommand {
    /// Print which sessions would expire, and why
    #[command(after_help = "\
Examples:
  everturn retention plan --days 90
  everturn retention plan --bytes 5000000000 --json")]
    Plan(RetentionRules),
    /// Move expired sessions to the trash
    #[command(after_help = "\
Examples:
  everturn retention apply --days 365 --count 500
  everturn retention apply --days 365 --count 500 --yes")]
    Apply(RetentionRules),
}

#[derive(Debug, clap::Args)]
struct RetentionRules {
    /// Expire sessions inactive for more than N days
    #[arg(long, value_name = "N")]
    days: Option<u32>,

    /// Keep only the N most recently active sessions
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// Keep only N bytes of sessions
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,

    #[command(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    changed: ChangedArgs,

    /// Apply without asking for confirmation
    #[arg(long)]
    yes: bool,
}

fn policy(rules: &RetentionRules) -> Result<RetentionPolicy, Error> {
    let policy = RetentionPolicy { days: rules.days, count: rules.count, bytes: rules.bytes };
    if policy.is_empty() {
        let error = Error::new(Exit::Request, "no retention rule given");
        return Err(error.hint("give --days N, --count N or --bytes N"));
    }
    Ok(policy)
}

fn document(choice: &RetentionChoice, applied: Option<&RetentionOutcome>) -> String {
    let it = &choice.candidate;
    let mut value = json!({
        "session": it.place.id, "layout": it.layout, "path": it.place.path.as_str(),
        "active": it.active.map(|time| time.to_string()), "bytes": it.bytes, "pinned": it.pinned,
        "goes": choice.goes, "why": choice.why,
    });
    if let (Some(applied), Some(object)) = (applied, value.as_object_mut()) {
        object.insert("trashed".to_owned(), json!(applied.trashed));
        object.insert("note".to_owned(), json!(applied.note));
    }
    value.to_string()
}

fn print(context: &mut Context, plan: &RetentionPlan) -> Result<(), EarlyExit> {
    for choice in &plan.choices {
        if context.json {
            writeln!(context.out, "{}", document(choice, None))?;
        } else if choice.goes || choice.candidate.pinned {
            let word = if choice.goes { "expired" } else { "kept" };
            let why = choice.why.join("; ");
            writeln!(context.out, "{}: {word}: {why}", choice.candidate.place.id)?;
        }
    }
    context.out.flush()?;
    let (count, bytes) = plan
        .chosen()
        .fold((0_u64, 0_u64), |(count, bytes), choice| (count + 1, bytes + choice.candidate.bytes));
    let all = plan.choices.len();
    Output::status(&format!("{count} of {all} sessions, {bytes} bytes"));
    Ok(())
}

/// Makes one plan for the selected sessions of all sources, and says what it covers.
fn plan(
    rules: &RetentionRules,
    context: &Context,
    sources: &[WritableSource],
) -> Result<(RetentionPlan, Coverage), Error> {
    let policy = policy(rules)?;
    let selection = SessionSelection::new(&rules.selection, &rules.changed)?;
    let mut all = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let found = retention::find_candidates(&source.root.store(), &source.formats)?;
        all.extend(found.into_iter().map(|one| RetentionCandidate { source: number, ..one }));
    }
    let mut collection = collection(context)?;
    let (mut listing, _) = collection.select(&SessionSelection::default(), SummaryDetail::All)?;
    selection.check_status(&listing.sessions)?;
    let is_external = |session: &CatalogSession| {
        format::find(session.summary.layout).is_some_and(|format| format.is_external())
    };
    let count = listing.sessions.len();
    let external: Vec<CatalogSession> =
        listing.sessions.extract_if(.., |session| is_external(&*session)).collect();
    listing.sessions.retain(|session| selection.selects(session));
    let filtered = count - external.len() - listing.sessions.len();
    let mut coverage = collection.coverage(listing.sessions.iter(), &listing.findings, filtered);
    let names: BTreeSet<&str> = external.iter().map(|session| session.summary.layout).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let reason = format!("they belong to other programs ({names}), which retention does not move");
    coverage.leave_out(external.len() as u64, reason);
    if !selection.is_everything() {
        let selected: BTreeSet<String> =
            listing.sessions.iter().map(|session| collection.shown(session)).collect();
        let shown = |one: &RetentionCandidate| {
            sources.get(one.source).map(|source| source.root.shown(&one.place.path))
        };
        all.retain(|one| shown(one).is_some_and(|path| selected.contains(&path)));
    }
    Ok((retention::plan_retention(&policy, all, settings::now()), coverage))
}

fn apply(context: &mut Context, rules: &RetentionRules) -> Result<Exit, EarlyExit> {
    policy(rules)?;
    let sources = writable_sources(context, RootAccess::Write)?;
    let (plan, coverage) = plan(rules, context, &sources)?;
    if !context.json {
        print(context, &plan)?;
        coverage.report("considered");
    }
    let count = plan.chosen().count();
    if count == 0 {
        return Ok(Exit::Success);
    }
    let sessions = count_noun(count as u64, "session", "sessions");
    let question = format!("Move {sessions} to the trash?");
    if !confirm::confirm(rules.yes, &question, "nothing was moved")? {
        return Ok(Exit::Success);
    }
    let mut applied = Vec::new();
    let done = sources.iter().enumerate().try_for_each(|(number, source)| {
        let store = source.root.store();
        let plan = plan.of_source(number);
        retention::apply_plan(&store, &plan, settings::now(), |it| applied.push(it))
    });
    let mut stayed = 0;
    for it in &applied {
        stayed += usize::from(it.trashed.is_none());
        let choice = plan.chosen().find(|choice| choice.candidate == it.candidate);
        if let (true, Some(choice)) = (context.json, choice) {
            writeln!(context.out, "{}", document(choice, Some(it)))?;
        }
        if let Some(note) = &it.note {
            Output::status(&format!("{}: {note}", it.candidate.place.id));
        }
    }
    context.out.flush()?;
    done.map_err(Error::from)?;
    for source in sources {
        source.root.close()?;
    }
    let moved = applied.len() - stayed;
    let moved = count_noun(moved as u64, "session", "sessions");
    Output::status(&format!("{moved} moved to the trash, {stayed} kept"));
    Ok(if stayed > 0 { Exit::Request } else { Exit::Success })
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        RetentionCommand::Apply(rules) => apply(context, rules),
        RetentionCommand::Plan(rules) => {
            policy(rules)?;
            let sources = writable_sources(context, RootAccess::Read)?;
            let (plan, coverage) = plan(rules, context, &sources)?;
            print(context, &plan)?;
            coverage.report("considered");
            Ok(Exit::Success)
        }
    }
}
