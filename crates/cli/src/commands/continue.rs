//! `everturn continue`: makes a session ready to be continued in another program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use everturn::convert::{Conversion, ConversionPlan, Disposition, NativeOptions};
use everturn::model::SessionRef;
use everturn::scan::SecretRules;

use super::Context;
use super::convert::{codex_provider, failed, write_file};
use super::scan::count_by_family;
use crate::confirm::confirm;
use crate::context::shell_word;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, count_noun};
use crate::{linggen, settings, sources};

/// Continue a session in another program
///
/// Converts the session, writes the file where the program looks for it, after asking once, and
/// prints the command that continues it. Says which secrets are in the file, which are not masked,
/// and what the program cannot express. The original is not changed. `everturn convert` has more
/// options and writes to any place.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn continue 4fec7ea0 --in codex
  everturn continue latest --in claude-code --project ~/src/site --yes
  sh -c "$(everturn continue latest --in codex --yes)"

Output with --json:
  {"session":"…","program":"codex","path":"…","written":true,"project":"/srv/app",
   "command":"cd /srv/app && codex resume …","kept":7,"changed":1,"dropped":0,"secrets":{}}"#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The program
    #[arg(long = "in", value_name = "PROGRAM")]
    program: ContinuationProgram,

    /// The directory to continue in; default: that of the session, else the current directory
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// The branch to continue; default: the main line
    #[arg(long, value_name = "ID")]
    branch: Option<String>,

    /// Write the file without asking
    #[arg(long)]
    yes: bool,
}

/// A program that continues a session from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ContinuationProgram {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
}

impl ContinuationProgram {
    /// The format of its sessions.
    fn layout(self) -> &'static str {
        match self {
            ContinuationProgram::ClaudeCode => "claude-code",
            ContinuationProgram::Codex => "codex",
        }
    }

    /// Returns the directory below its home in which it looks for the file of a session.
    fn directory(self, project: &str, place: &SessionRef) -> PathBuf {
        match self {
            ContinuationProgram::ClaudeCode => {
                let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
                Path::new("projects").join(project.chars().map(plain).collect::<String>())
            }
            ContinuationProgram::Codex => {
                // `rollout-2026-01-31T…` belongs to 2026/01/31.
                let day =
                    place.path.as_str().strip_prefix("rollout-").and_then(|name| name.get(..10));
                let parts = day.into_iter().flat_map(|day| day.split('-'));
                std::iter::once("sessions").chain(parts).collect()
            }
        }
    }

    /// Returns the command that continues the session.
    fn command(self, project: &str, id: &str) -> String {
        let resume = match self {
            ContinuationProgram::ClaudeCode => "claude --resume",
            ContinuationProgram::Codex => "codex resume",
        };
        format!("cd {} && {resume} {}", shell_word(project), shell_word(id))
    }
}

/// Returns the number of secrets in a file by family.
fn secrets(bytes: &[u8]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for found in SecretRules::standard().find_bytes(bytes) {
        *counts.entry(found.family).or_default() += 1;
    }
    counts
}

/// Says on stderr what will be written, and what is in it.
fn describe(plan: &ConversionPlan, path: &Path, secrets: &BTreeMap<&'static str, u64>) {
    let report = plan.report();
    let [kept, changed, dropped] = [Disposition::Kept, Disposition::Changed, Disposition::Dropped]
        .map(|fate| report.count(fate));
    let entries = count_noun(report.entries.len() as u64, "entry", "entries");
    Output::status(&format!("{}", path.display()));
    Output::status(&format!("  {entries}: {kept} kept, {changed} changed, {dropped} left out"));
    for (fate, why, count) in report.reasons() {
        if fate == Disposition::Dropped {
            Output::status(&format!("  {count} left out: {why}"));
        }
    }
    if !secrets.is_empty() {
        let found = count_by_family(secrets);
        Output::status(&format!("  warning: there are secrets in it, not masked: {found}"));
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let program = args.program;
    let home = sources::program_home(program.layout())
        .ok_or_else(|| Error::new(Exit::Request, "there is no home directory").hint("set HOME"))?;
    let here = linggen::project_path(args.project.as_deref())?;
    let own = context.find_to_read(&args.session)?;
    let recorded = own.layout.project(&own.root.store(), &own.place).unwrap_or_default();
    let recorded = recorded.filter(|path| Path::new(path).is_absolute());
    let project = match &args.project {
        Some(_) => here.as_str().to_owned(),
        None => recorded.unwrap_or_else(|| here.as_str().to_owned()),
    };
    let conversion = Conversion {
        to: program.layout(),
        id: None,
        project: Some(project.as_str()),
        dir: Some(here.as_str()),
        branch: args.branch.as_deref(),
    };
    let provider = codex_provider();
    let options = NativeOptions { provider: provider.as_deref() };
    let (found, plan) = context.read_found(&args.session, |found| {
        let (store, now) = (found.root.store(), settings::now());
        let plan = conversion.plan_with(&store, found.layout, &found.place, now, &options);
        plan.map_err(|error| failed(found, error))
    })?;
    let Some(bytes) = plan.file() else {
        return Err(Error::new(Exit::Internal, "the conversion has no file").into());
    };
    let dir = home.join(program.directory(&project, plan.place()));
    let path = dir.join(plan.place().path.as_str());
    let secrets = secrets(bytes);
    describe(&plan, &path, &secrets);
    if !Path::new(&project).is_dir() {
        Output::status(&format!("  warning: the directory {project} does not exist here"));
    }
    let is_agreed = confirm(args.yes, "Write this file?", "nothing was written")?;
    if is_agreed {
        write_file(&plan, bytes, &dir, &found)?;
    }
    let command = program.command(&project, &plan.place().id);
    if context.json {
        let count = |fate| plan.report().count(fate) as u64;
        let object = JsonObject::new()
            .text("session", &plan.place().id)
            .text("program", program.layout())
            .text("path", &path.to_string_lossy())
            .raw("written", if is_agreed { "true" } else { "false" })
            .text("project", &project)
            .text("command", &command)
            .number("kept", count(Disposition::Kept))
            .number("changed", count(Disposition::Changed))
            .number("dropped", count(Disposition::Dropped))
            .raw("secrets", &serde_json::json!(secrets).to_string());
        writeln!(context.out, "{}", object.close())?;
    } else if is_agreed {
        Output::status("continue it with:");
        writeln!(context.out, "{command}")?;
    }
    context.out.flush()?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use everturn::names::FilePath;

    use super::*;

    #[test]
    fn a_file_is_put_where_its_program_looks_for_it() {
        let place =
            |path: &str| SessionRef { id: "x".into(), path: FilePath::parse(path).unwrap() };
        let claude = ContinuationProgram::ClaudeCode;
        assert_eq!(
            claude.directory("/srv/my.app_1", &place("x.jsonl")),
            Path::new("projects/-srv-my-app-1")
        );
        let rollout = place("rollout-2026-01-31T10-00-00-x.jsonl");
        let codex = ContinuationProgram::Codex;
        assert_eq!(codex.directory("/srv", &rollout), Path::new("sessions/2026/01/31"));
        assert_eq!(codex.command("/srv/a b", "id"), "cd '/srv/a b' && codex resume id");
    }
}
