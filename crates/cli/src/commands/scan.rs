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
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::progress::Progress;
use crate::sources::open_sources;

/// Find keys, tokens and passwords in sessions
///
/// Searches every file of the given sessions, or of all sources: logs, snapshots, checkpoints,
/// archives, indexes, databases, the trash, the quarantine and Everturn's own logs. Secrets are
/// never printed, only their placeholders. Credential files are skipped. Exits with status 3 if
/// secrets are found.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn scan
  everturn scan session-abc123
  everturn scan --json | jq -r .family | sort | uniq -c

With --json, one per line:
  {"session":"…","file":"…","inside":"…","line":12,"offset":3456,"family":"github-token","certainty":"certain","secret":"[secret:github-token:1a2b3c4d]"}"#)]
pub(crate) struct Args {
    /// The sessions: IDs or unique prefixes, paths, or `latest`; default: all sources
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
        // The name of a file may be a secret.
        let file = self.root.shown(&found.file);
        let file = SecretRules::standard().mask(&file).0;
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

/// The files of one root to scan, and the sessions that they may belong to.
struct ScanTarget {
    root: OpenRoot,
    files: Vec<FilePath>,
    owners: FileOwners,
}

/// Returns everything to scan: the given sessions, or all sources. Of a source of another program, only the files of
/// its sessions are scanned.
fn targets(args: &Args, context: &Context) -> Result<Vec<ScanTarget>, Error> {
    let mut targets: Vec<ScanTarget> = Vec::new();
    if args.sessions.is_empty() {
        for (source, root) in open_sources(context, RootAccess::Read)? {
            let store: Arc<dyn Store> = root.store();
            let formats: Vec<_> = source.layouts(context).into_iter().flatten().collect();
            let is_external = formats.iter().all(|format| format.is_external());
            let (mut places, mut files) = (Vec::new(), Vec::new());
            for format in formats {
                for place in format.locate(&store)?.sessions {
                    if is_external {
                        files.extend(format.session_files(&store, &place)?.all_files(&store)?);
                    }
                    places.push(place);
                }
            }
            if !is_external {
                files = files_below(&store, &FilePath::root())?;
            }
            targets.push(ScanTarget { root, files, owners: FileOwners(places) });
        }
    }
    for name in &args.sessions {
        let found = context.find_to_read(name)?;
        let store = found.root.store();
        let files = found.layout.session_files(&store, &found.place)?.all_files(&store)?;
        match targets.iter_mut().find(|target| target.root.path == found.root.path) {
            Some(target) => {
                target.files.extend(files);
                target.owners.0.push(found.place);
            }
            None => {
                let owners = FileOwners(vec![found.place]);
                targets.push(ScanTarget { root: found.root, files, owners });
            }
        }
    }
    for target in &mut targets {
        target.files.sort();
        target.files.dedup();
    }
    Ok(targets)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let progress = Progress::new("scanning");
    let mut counts = BTreeMap::new();
    let mut swept = ScanStats::default();
    for target in targets(args, context)? {
        let store = target.root.store();
        let mut printer = SecretPrinter {
            context,
            root: &target.root,
            owners: &target.owners,
            progress: progress.clone(),
            counts: std::mem::take(&mut counts),
            stopped: None,
        };
        swept.add(scan_files(&store, &target.files, SecretRules::standard(), &mut printer));
        counts = std::mem::take(&mut printer.counts);
        if let Some(stop) = printer.stopped {
            progress.finish();
            return Err(stop);
        }
    }
    progress.finish();
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
