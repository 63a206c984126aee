//! `everturn scan`: finds keys, tokens and passwords in stored files.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::finding::Finding;
use everturn::format::error_chain;
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::scan::SecretRules;
use everturn::scan_files::{ScanStats, SecretFinding, SecretSink, scan_files};
use everturn::session_files::walk_files;
use everturn::store::Store;
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::progress::Progress;
use crate::sources::{SourceLocation, open_sources};

/// Find keys, tokens and passwords in sessions
///
/// Searches every file of the given sessions, or of all sources that `ls` lists: logs, snapshots,
/// checkpoints, archives, indexes, databases, the trash, the quarantine and Everturn's own logs, and
/// the names of files. Secrets are never printed, only their placeholders. Files that store keys on
/// purpose are skipped. Every other file that cannot be scanned is named. Exits with status 3 if
/// secrets are found, and 4 if a file was not scanned.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn scan
  everturn scan session-abc123
  everturn scan --json | jq -r .family | sort | uniq -c

With --json, one per line:
  {"session":"…","file":"…","inside":"…","in_name":false,"line":12,"offset":3456,"family":"github-token","certainty":"certain","secret":"[secret:github-token:1a2b3c4d]"}"#)]
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
                "session": session, "file": file, "inside": inside, "in_name": found.in_name,
                "line": found.line, "offset": found.offset, "family": found.family, "certainty": found.certainty.as_str(),
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
        if found.in_name {
            write!(out, " (name)")?;
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
    let ScanStats { files, bytes, secrets, unreadable } = swept;
    let skipped = match unreadable {
        0 => String::new(),
        count => format!(", {count} not scanned"),
    };
    let looked = format!("{files} files, {bytes} bytes{skipped}");
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
    /// The paths that cannot be scanned, with the reason.
    skipped: Vec<(String, String)>,
}

/// Returns the files of a source. Of a source of another program, only the files of its sessions are scanned.
fn source_target(source: &SourceLocation, root: OpenRoot, context: &Context) -> ScanTarget {
    let store: Arc<dyn Store> = root.store();
    let formats: Vec<_> = source.layouts(context).into_iter().flatten().collect();
    let is_external = formats.iter().all(|format| format.is_external());
    let (mut places, mut files, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for format in formats {
        let listing = match format.locate(&store) {
            Ok(listing) => listing,
            Err(error) => {
                skipped.push((root.path.display().to_string(), error_chain(&error)));
                continue;
            }
        };
        if is_external {
            let named = |it: &Finding| (root.shown(&it.file), it.message.clone());
            skipped.extend(listing.findings.iter().map(named));
            for place in &listing.sessions {
                let own = format.session_files(&store, place);
                match own.and_then(|own| Ok(own.all_files(&store)?)) {
                    Ok(own) => files.extend(own),
                    Err(error) => {
                        skipped.push((root.shown(&place.path), error_chain(&error)));
                    }
                }
            }
        }
        places.extend(listing.sessions);
    }
    if !is_external {
        let tree = walk_files(&store, &FilePath::root());
        files = tree.files;
        let below =
            |(path, why): (String, String)| (root.path.join(path).display().to_string(), why);
        skipped.extend(tree.skipped.into_iter().map(below));
    }
    ScanTarget { root, files, owners: FileOwners(places), skipped }
}

/// Returns everything to scan: the given sessions, or all sources.
fn targets(args: &Args, context: &Context) -> Result<Vec<ScanTarget>, Error> {
    let mut targets: Vec<ScanTarget> = Vec::new();
    if args.sessions.is_empty() {
        for (source, root) in open_sources(context, RootAccess::Read)? {
            targets.push(source_target(&source, root, context));
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
                let skipped = Vec::new();
                targets.push(ScanTarget { root: found.root, files, owners, skipped });
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
        for (path, why) in &target.skipped {
            let shown = SecretRules::standard().mask(path).0;
            printer.progress.aside(|| Output::status(&format!("{shown}: not scanned: {why}")));
        }
        swept.unreadable += target.skipped.len() as u64;
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
