//! `everturn copy`: copies all sessions of a root to another root.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::copy::{CopyPlan, CopyVerdict};
use everturn::names::FilePath;
use everturn::store::{MemoryStore, Store};
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::{Output, count_noun};
use crate::progress::Progress;
use crate::server_roots;

/// Copy all sessions of a root to another root
///
/// A root is a directory, or a schema of a PostgreSQL database, written as
/// postgres://USER@HOST/DATABASE?root=NAME. Every file is copied byte for byte, with the trash, the
/// quarantine, seals and pins. The files of a session are copied in one commit. Then both roots are
/// read again and compared.
///
/// Nothing is replaced: if the target has a file with other content, nothing is copied. A copy that
/// was interrupted is continued by the same command. SQLite databases are indexes and are not copied;
/// they are rebuilt.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn copy ~/sessions 'postgres://ann@localhost/games?root=team'
  everturn copy 'postgres://ann@localhost/games?root=team' ./sessions

Output with --json:
  {"sessions":2,"copied":9,"same":0,"verified":9,"different":[],"databases":[]}"#)]
pub(crate) struct Args {
    /// The root to copy
    from: PathBuf,
    /// The root to copy to; it is created if necessary
    to: PathBuf,
    /// Only compare the roots, and report what would be copied
    #[arg(long)]
    dry_run: bool,
}

/// The most paths in a message.
const SHOWN: usize = 8;

fn listed<'f>(files: impl ExactSizeIterator<Item = &'f FilePath>) -> String {
    let more = files.len().saturating_sub(SHOWN);
    let names: Vec<&str> = files.take(SHOWN).map(FilePath::as_str).collect();
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// Reports what would be copied to a root; creates nothing.
fn dry_run(
    args: &Args,
    context: &mut Context,
    from: &OpenRoot,
    to: &Path,
) -> Result<Exit, EarlyExit> {
    let target: Arc<dyn Store> = match OpenRoot::open(to, RootAccess::Read) {
        Ok(root) => root.store(),
        // A directory that is there must be readable.
        Err(error) if to.exists() => return Err(error.into()),
        Err(_) => Arc::new(MemoryStore::default()),
    };
    let plan = plan(from, &target, to)?;
    print(args, context, &plan, &CopyVerdict::default())?;
    Ok(Exit::Success)
}

/// Compares the roots. A file with other content in the target is an error.
fn plan(from: &OpenRoot, target: &Arc<dyn Store>, to: &Path) -> Result<CopyPlan, Error> {
    let plan = CopyPlan::new(&from.store(), target).map_err(Error::from)?;
    if plan.different.is_empty() {
        return Ok(plan);
    }
    let count = count_noun(plan.different.len() as u64, "file", "files");
    let what = format!("{} has {count} with other content; nothing was copied", to.display());
    Err(Error::new(Exit::Request, what)
        .hint(format!("copy to another root; different: {}", listed(plan.different.iter()))))
}

fn print(
    args: &Args,
    context: &mut Context,
    plan: &CopyPlan,
    verdict: &CopyVerdict,
) -> Result<(), EarlyExit> {
    if context.json {
        let names = |files: &mut dyn Iterator<Item = &FilePath>| -> Vec<String> {
            files.map(ToString::to_string).collect()
        };
        let document = json!({
            "sessions": plan.sessions,
            "copied": if args.dry_run { 0 } else { plan.missing.len() },
            "same": plan.same.len(),
            "verified": verdict.same,
            "different": names(&mut verdict.different.iter()),
            "databases": names(&mut plan.databases.iter()),
        });
        writeln!(context.out, "{document}")?;
        return context.out.flush();
    }
    if !plan.databases.is_empty() {
        let names = listed(plan.databases.iter());
        Output::status(&format!("not copied (indexes are rebuilt): {names}"));
    }
    let missing = count_noun(plan.missing.len() as u64, "file", "files");
    let done = match args.dry_run {
        true => format!("{missing} would be copied"),
        false => format!("{missing} copied, {} verified", verdict.same),
    };
    let sessions = count_noun(plan.sessions as u64, "session", "sessions");
    Output::status(&format!("{sessions}: {done}, {} already there", plan.same.len()));
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let from = server_roots::shown(args.from.clone())?;
    let from = OpenRoot::open(&from, RootAccess::Read)?;
    let place = server_roots::shown(args.to.clone())?;
    if args.dry_run {
        return dry_run(args, context, &from, &place);
    }
    let to = OpenRoot::create(&place)?;
    let (source, target) = (from.store(), to.store());
    let plan = plan(&from, &target, &place)?;
    let progress = Progress::new("copying");
    let mut done = 0;
    let copied = plan.write(&source, &target, &mut |files| {
        done += files;
        progress.files(done, plan.missing.len());
    });
    progress.finish();
    copied.map_err(|error| {
        Error::from(error).hint("run the same command again; it continues where this one stopped")
    })?;
    let verdict = plan.verify(&source, &target).map_err(Error::from)?;
    drop(target);
    to.close()?;
    print(args, context, &plan, &verdict)?;
    if !verdict.different.is_empty() {
        let count = count_noun(verdict.different.len() as u64, "file", "files");
        let what = format!("{count} have changed since they were copied");
        return Err(Error::new(Exit::Request, what)
            .hint(format!("different: {}", listed(verdict.different.iter())))
            .into());
    }
    Ok(Exit::Success)
}
