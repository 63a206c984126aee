//! Shell completion: commands, options, and session IDs.
//!
//! The shell script contains no completions itself: it runs `everturn` with a variable set, and the candidates come
//! from the definition of the command line and from the sessions that exist at that moment.

mod safe_words;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, EnvCompleter, Shells};
use everturn::codelia::{self, CodeliaHome, RunLogs};
use everturn::format::{self, Feature, SessionFormat};
use everturn::linggen::{self, SpecKind, projects, run_ids};
use everturn::model::SessionStatus;
use everturn_catalog::{CatalogSession, SummaryDetail};

use crate::agent_homes::{self, AgentKind, home_of};
use crate::catalog::{SessionNames, collection};
use crate::codelia::cached_outputs;
use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::linggen::specs::find_all;
use crate::linggen::{mission_id, project_path};
use crate::output::{self, Output, escape_controls};
use crate::sources::{SourceLocation, SourceOrigin, all_sources};
use crate::{settings, unparsed_words};

use safe_words::SafeWords;

/// The variable by which the shell script requests completions.
const ASKED: &str = "EVERTURN_COMPLETE";

/// Returns the completion script for a shell.
pub(crate) fn script(shell: &str) -> Result<Vec<u8>, Error> {
    let shells = Shells::builtins();
    let missing = || Error::new(Exit::Request, format!("there is no script for {shell}"));
    let completer = shells.completer(shell).ok_or_else(missing)?;
    let mut script = Vec::new();
    completer
        .write_registration(ASKED, "everturn", "everturn", "everturn", &mut script)
        .map_err(|cause| missing().caused_by(cause))?;
    Ok(script)
}

/// Prints completions of a command line if a shell requested them; returns whether one did.
pub(crate) fn complete_line(
    words: &[OsString],
    command_line: fn() -> Command,
) -> Result<bool, Error> {
    if settings::variable(ASKED).is_none() {
        return Ok(false);
    }
    // Any other output would appear in the middle of the user's command line.
    output::be_silent();
    let safe: Vec<SafeWords<'_>> = Shells::builtins().0.iter().copied().map(SafeWords).collect();
    let shells: Vec<&dyn EnvCompleter> = safe.iter().map(|shell| shell as _).collect();
    let completing = CompleteEnv::with_factory(|| with_candidates(command_line(), words))
        .var(ASKED)
        .shells(Shells(&shells));
    completing.try_complete(words, Some(&settings::current_dir())).map_err(|cause| {
        let cause = cause.to_string();
        let reason = cause.trim_start_matches("error: ").trim_end();
        Error::new(Exit::Request, format!("cannot complete the line: {reason}"))
    })
}

/// Returns the command line with session candidates. The words determine the root and the format.
fn with_candidates(command: Command, words: &[OsString]) -> Command {
    let value = |option: &str| {
        unparsed_words::values(words.iter().filter_map(|word| word.to_str()), option)
            .last()
            .map(str::to_owned)
    };
    let root = value("--root").map(PathBuf::from);
    // The groups of commands for one agent imply its format.
    let is_group =
        |word: &&str| [codelia::FORMAT, linggen::FORMAT].iter().any(|of| of.name() == *word);
    let group = words.iter().filter_map(|word| word.to_str()).find(is_group).map(str::to_owned);
    add_candidates(command, &CompletionScope { root, layout: value("--layout").or(group) })
}

/// Where to look for candidates.
#[derive(Clone)]
struct CompletionScope {
    root: Option<PathBuf>,
    layout: Option<String>,
}

impl CompletionScope {
    fn context(&self) -> Context {
        let (root, layout) = (self.root.clone(), self.layout.clone());
        Context { root, is_root_named: true, layout, json: false, out: Output::stdout() }
    }
}

/// Lists the candidates for an argument.
type CompletionSource = fn(&Context, &str) -> Vec<CompletionCandidate>;

/// The value names of arguments whose values can be listed.
const OFFERS: [(&str, CompletionSource); 12] = [
    ("SESSION", |context, word| sessions(context, word, |_| true)),
    ("CAMPAIGN", |context, word| {
        sessions(context, word, |one| {
            let format = format::find(one.summary.layout);
            format.is_some_and(|format| format.has(Feature::CampaignRules))
        })
    }),
    ("ARCHIVE", |context, word| {
        sessions(context, word, |one| one.summary.status == SessionStatus::Archived)
    }),
    ("TRASHED", |context, _| trashed(context)),
    ("SOURCE", |_, _| sources()),
    ("RUN", |context, _| names(runs(context))),
    ("PLAN", |context, _| names(plans(context))),
    ("SETTING", |context, _| names(setting_names(context))),
    ("MISSION", |context, _| names(missions(context))),
    ("AGENT", |context, _| names(spec_names(SpecKind::Agent, context))),
    ("SKILL", |context, _| names(spec_names(SpecKind::Skill, context))),
    ("REFERENCE", |context, _| names(output_references(context))),
];

/// Adds candidates to the arguments of a command and its subcommands.
fn add_candidates(command: Command, asked: &CompletionScope) -> Command {
    let offer = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        OFFERS.iter().find(|(name, _)| names.iter().any(|other| other.as_str() == *name))
    };
    let with = |arg: Arg| {
        let Some((_, offer)) = offer(&arg).copied() else { return arg };
        let asked = asked.clone();
        arg.add(ArgValueCompleter::new(move |word: &OsStr| {
            let word = word.to_string_lossy();
            let mut all = offer(&asked.context(), &word);
            all.retain(|one| {
                let value = one.get_value().to_string_lossy();
                // A name that looks like an option would become one.
                value.starts_with(&*word) && !value.starts_with('-')
            });
            all
        }))
    };
    command.mut_args(with).mut_subcommands(|command| add_candidates(command, asked))
}

/// Returns the selected sessions with their titles, named as commands accept them: by ID, and prefixed with the format
/// if that is needed or was typed. Unreadable sessions are skipped.
fn sessions(
    context: &Context,
    word: &str,
    is_wanted: impl Fn(&CatalogSession) -> bool,
) -> Vec<CompletionCandidate> {
    let listed = || collection(context)?.sessions(SummaryDetail::Names);
    let Ok(found) = listed() else { return Vec::new() };
    let names = SessionNames::new(&found);
    let candidate = |session: CatalogSession| {
        let summary = session.summary;
        let is_layout = word.split_once(':').is_some_and(|(before, _)| before == summary.layout);
        let id = match is_layout || names.is_shared(&summary.session.id) {
            true => format!("{}:{}", summary.layout, summary.session.id),
            false => summary.session.id,
        };
        let title = escape_controls(&summary.title).replace(['\n', '\t'], " ");
        CompletionCandidate::new(id).help(Some(title.into()))
    };
    found.sessions.into_iter().filter(is_wanted).map(candidate).collect()
}

/// Returns the names in the trash, as `everturn trash` prints them.
fn trashed(context: &Context) -> Vec<CompletionCandidate> {
    let Ok(root) = context.open_root() else { return Vec::new() };
    let layouts = context.layouts().into_iter();
    let lifecycles = layouts.filter_map(|layout| layout.capabilities().lifecycle);
    let all =
        lifecycles.flat_map(|lifecycle| lifecycle.list_trash(&root.store()).unwrap_or_default());
    all.map(|one| CompletionCandidate::new(one.name).help(Some(one.id.into()))).collect()
}

/// Returns the sources that the user added.
fn sources() -> Vec<CompletionCandidate> {
    let added = |source: &SourceLocation| source.origin == SourceOrigin::Added;
    let all = all_sources().unwrap_or_default();
    all.into_iter().filter(added).map(|source| CompletionCandidate::new(source.name)).collect()
}

/// Returns candidates without a description; there are none if they cannot be read.
fn names(found: Result<Vec<String>, Error>) -> Vec<CompletionCandidate> {
    found.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// The maximum number of runs that are offered.
const MAX_RUNS: usize = 50;

/// Returns the newest runs of the home whose format was named.
fn runs(context: &Context) -> Result<Vec<String>, Error> {
    let home = home_of(context)?;
    let Some(store) = home.state_store_if_present()? else { return Ok(Vec::new()) };
    match home.agent {
        AgentKind::Everturn => Ok(Vec::new()),
        AgentKind::Codelia => {
            let found = RunLogs::new(&CodeliaHome::new(store)).list(None, MAX_RUNS)?;
            Ok(found.into_iter().map(|run| run.id).collect())
        }
        AgentKind::Linggen => {
            let mut ids = Vec::new();
            for project in projects(&store)?.projects {
                ids.extend(run_ids(&store, &project.dir)?.into_iter().map(|(id, _)| id));
            }
            ids.truncate(MAX_RUNS);
            Ok(ids)
        }
    }
}

/// Returns the names of the plans in Linggen's home.
fn plans(context: &Context) -> Result<Vec<String>, Error> {
    let root = agent_homes::root(context.named_root(), Some(linggen::FORMAT.name()))?;
    let Some(store) = agent_homes::open_if_present(&root)? else { return Ok(Vec::new()) };
    Ok(linggen::plans(&store)?)
}

/// Returns the context of commands for one format.
fn context_of(context: &Context, format: &dyn SessionFormat) -> Context {
    let (root, layout) = (context.root.clone(), Some(format.name().to_owned()));
    Context { root, layout, out: Output::stdout(), ..*context }
}

/// Returns the missions of the current project, and the scheduled ones.
fn missions(context: &Context) -> Result<Vec<String>, Error> {
    let root = agent_homes::root(context.named_root(), Some(linggen::FORMAT.name()))?;
    let Some(store) = agent_homes::open_if_present(&root)? else { return Ok(Vec::new()) };
    let mut ids = Vec::new();
    let project = project_path(None)?;
    if let Some(project) = linggen::find_project(&store, &project)? {
        let found = linggen::missions(&store, &project.dir)?.missions;
        ids.extend(found.iter().map(mission_id));
    }
    ids.extend(linggen::scheduled_missions(&store)?.0.into_iter().map(|mission| mission.id));
    Ok(ids)
}

/// Returns the names of agents or skills.
fn spec_names(kind: SpecKind, context: &Context) -> Result<Vec<String>, Error> {
    let found = find_all(kind, &context_of(context, linggen::FORMAT), None)?;
    Ok(found.into_iter().filter(|one| one.counts).map(|one| one.spec.id).collect())
}

/// Returns the references of tool outputs in Codelia's home.
fn output_references(context: &Context) -> Result<Vec<String>, Error> {
    let home = home_of(&context_of(context, codelia::FORMAT))?;
    let Some(outputs) = cached_outputs(&home)? else { return Ok(Vec::new()) };
    Ok(outputs.list()?.into_iter().map(|(reference, _)| reference).collect())
}

/// Returns the names of all settings.
fn setting_names(context: &Context) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    let mut groups = vec![(String::new(), home_of(context)?.config(&[])?.merged())];
    while let Some((name, value)) = groups.pop() {
        let Some(fields) = value.as_object() else {
            names.push(name);
            continue;
        };
        for (key, value) in fields {
            let below = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            groups.push((below, value.clone()));
        }
    }
    names.sort();
    Ok(names)
}
