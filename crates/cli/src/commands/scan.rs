//! `everturn scan`: finds keys, tokens and passwords in stored files.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::finding::Finding;
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::scan::SecretRules;
use everturn::scan_files::{ScanStats, SecretFinding, SecretSink, scan_files};
use everturn::session_files::files_below;
use everturn::store::Store;
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::progress::Progress;
use crate::sessions::OpenRoot;

/// Find keys, tokens and passwords in sessions
///
/// Searches every file of the given sessions, or of the whole root: logs, snapshots, checkpoints,
/// archives, indexes, databases, the trash, the quarantine and Everturn's own logs. Secrets are
/// never printed, only their placeholders. Files that store keys on purpose are skipped. Exits with
/// status 3 if secrets are found.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn scan
  everturn scan session-abc123
  everturn scan --json | jq -r .family | sort | uniq -c

With --json, one per line:
  {"session":"…","file":"…","inside":"…","line":12,"offset":3456,"family":"github-token","certainty":"certain","secret":"[secret:github-token:1a2b3c4d]"}"#)]
pub(crate) struct Args {
    /// The sessions: IDs or unique prefixes, paths, or `latest`; default: the whole root
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
}

/// Maps files to sessions, by path.
struct FileOwners(Vec<SessionRef>);

impl FileOwners {
    /// Returns the session of a file: the file is below its path, or named after it.
    fn of(&self, file: &FilePath) -> Option<&str> {
        let stem = |name: &str| name.split_once('.').map_or(name, |(stem, _)| stem).to_owned();
        let names: Vec<String> = file.as_str().split('/').map(stem).collect();
        let lies_in = |place: &&SessionRef| file.is_within(&place.path);
        let is_named = |place: &&SessionRef| {
            let copy = format!("-{}", place.id);
            names.iter().any(|name| *name == place.id || name.ends_with(&copy))
        };
        let found = self.0.iter().find(lies_in).or_else(|| self.0.iter().find(is_named));
        found.map(|place| place.id.as_str())
    }
}

struct SecretPrinter<'a> {
    context: &'a mut Context,
    root: &'a OpenRoot,
    owners: &'a FileOwners,
    progress: Progress,
    counts: BTreeMap<&'static str, u64>,
    stopped: Option<EarlyExit>,
}

impl SecretPrinter<'_> {
    fn print(&mut self, found: &SecretFinding) -> Result<(), EarlyExit> {
        let session = self.owners.of(&found.file);
        let file = self.root.shown(&found.file);
        let inside = found.inside.as_ref().map(FilePath::as_str);
        let out = &mut self.context.out;
        if self.context.json {
            let record = json!({
                "session": session, "file": file, "inside": inside, "line": found.line,
                "offset": found.offset, "family": found.family, "certainty": found.certainty.as_str(),
                "secret": found.placeholder,
            });
            return writeln!(out, "{record}");
        }
        write!(out, "{file}")?;
        if let Some(inside) = inside {
            write!(out, "({inside})")?;
        }
        if let Some(line) = found.line {
            write!(out, ":{line}")?;
        }
        let (offset, certainty) = (found.offset, found.certainty.as_str());
        writeln!(out, ": {certainty} {} (byte {offset})", found.placeholder)
    }
}

impl SecretSink for SecretPrinter<'_> {
    fn secret(&mut self, found: SecretFinding) {
        *self.counts.entry(found.family).or_default() += 1;
        if self.stopped.is_some() {
            return;
        }
        let progress = self.progress.clone();
        let printed = match progress.is_shown() {
            true => progress.aside(|| self.print(&found).and_then(|()| self.context.out.flush())),
            false => self.print(&found),
        };
        self.stopped = printed.err();
    }

    fn unreadable(&mut self, finding: Finding) {
        self.progress.aside(|| Output::status(&finding.to_string()));
    }

    fn file(&mut self, file: &FilePath) {
        self.progress.step(file.as_str());
    }
}

/// Formats the number of secrets by family.
pub(super) fn count_by_family(counts: &BTreeMap<&'static str, u64>) -> String {
    let parts = counts.iter().map(|(family, count)| format!("{count} {family}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn summary(swept: ScanStats, counts: &BTreeMap<&'static str, u64>) -> String {
    let ScanStats { files, bytes, secrets, .. } = swept;
    let looked = format!("{files} files, {bytes} bytes");
    match secrets {
        0 => format!("{looked}: no secrets found"),
        _ => format!("{looked}: {}", count_by_family(counts)),
    }
}

/// Returns the files to scan, and the sessions that they may belong to.
fn files(args: &Args, context: &Context) -> Result<(OpenRoot, Vec<FilePath>, FileOwners), Error> {
    let Some((first, others)) = args.sessions.split_first() else {
        let root = context.open_root()?;
        let store: Arc<dyn Store> = root.store();
        let mut places = Vec::new();
        for layout in context.layouts() {
            places.extend(layout.locate(&store)?.sessions);
        }
        let files = files_below(&store, &FilePath::root())?;
        return Ok((root, files, FileOwners(places)));
    };
    let found = context.find_to_read(first)?;
    let mut all = vec![(found.layout, found.place)];
    for name in others {
        let other = context.find_to_read(name)?;
        if other.root.path != found.root.path {
            return Err(Error::new(Exit::Request, "the sessions are in different roots"));
        }
        all.push((other.layout, other.place));
    }
    let store = found.root.store();
    let mut files = Vec::new();
    for (layout, place) in &all {
        files.extend(layout.session_files(&store, place)?.all_files(&store)?);
    }
    files.sort();
    files.dedup();
    let places = all.into_iter().map(|(_, place)| place).collect();
    Ok((found.root, files, FileOwners(places)))
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (root, files, owners) = files(args, context)?;
    let progress = Progress::new("scanning");
    let store = root.store();
    let mut printer = SecretPrinter {
        context,
        root: &root,
        owners: &owners,
        progress: progress.clone(),
        counts: BTreeMap::new(),
        stopped: None,
    };
    let swept = scan_files(&store, &files, SecretRules::standard(), &mut printer);
    progress.finish();
    let counts = std::mem::take(&mut printer.counts);
    if let Some(stop) = printer.stopped {
        return Err(stop);
    }
    context.out.flush()?;
    if !context.json {
        Output::status(&summary(swept, &counts));
    }
    Ok(match (swept.secrets, swept.unreadable) {
        (0, 0) => Exit::Success,
        (0, _) => Exit::Damaged,
        _ => Exit::Findings,
    })
}
