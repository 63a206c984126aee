//! Cached session summaries, so that a list of sessions opens no session files.
//!
//! There is one file for each format in a root. A cached summary is used if all files that it comes from still have
//! the stamps of that time. The cache file is rewritten when its content has changed; if that fails, only time is
//! lost.

use std::collections::HashMap;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use std::time::SystemTime;

use everturn::finding::Finding;
use everturn::format::{ListedSummary, MAX_LIST_TRIES, SessionError, SessionFormat};
use everturn::model::{Dependencies, SessionListing, SessionRef, SessionStatus, SessionSummary};
use everturn::names::{FilePath, Name};
use jiff::Timestamp;

use crate::catalog_dir::{CatalogDir, FileStamp, StampDir};
use crate::codec::{CatalogDecoder, CatalogEncoder, sum};
use crate::source::{CatalogListing, CatalogSession, SessionSource};

/// The name of the format; another version has another name.
const NAME: &str = "everturn sessions 2";

/// From this many sessions on, several threads read the stamps.
const MANY: usize = 512;
const THREADS: usize = 2;

/// If more than this many sessions of a format have changed, all of them are listed at once.
const BULK: usize = 64;

/// Files and the stamps that were taken of them.
pub(crate) type FileStamps = Vec<(FilePath, Option<FileStamp>)>;

/// Returns the current stamps of files. There are none while the store shows commits that the files lack.
pub(crate) fn read_stamps_of(source: &SessionSource, files: &[FilePath]) -> FileStamps {
    let is_plain = source.store.is_plain();
    let root = StampDir::open(&source.root, &source.store);
    let stamp = |file: &FilePath| root.stamp(file).filter(|_| is_plain);
    files.iter().map(|file| (file.clone(), stamp(file))).collect()
}

impl CatalogSession {
    /// The size in bytes of the files that its entries come from, as they are now; `None` if there are none.
    #[must_use]
    pub fn stored_bytes(&self, sources: &[SessionSource]) -> Option<u64> {
        let stamps = read_stamps_of(sources.get(self.source)?, &self.entries);
        let sizes: Vec<u64> = stamps.iter().filter_map(|(_, stamp)| Some((*stamp)?.len)).collect();
        (!sizes.is_empty()).then(|| sizes.iter().sum())
    }
}

/// Returns whether a later change of any of the files would change its stamp; `false` if no file exists.
pub(crate) fn are_stable(stamps: &FileStamps, looked: SystemTime) -> bool {
    let is_there = stamps.iter().any(|(_, stamp)| stamp.is_some());
    is_there && stamps.iter().all(|(_, stamp)| stamp.is_none_or(|stamp| stamp.is_stable(looked)))
}

/// A summary, with the stamps of the files that it was read from.
struct SummaryRow {
    summary: SessionSummary,
    project: Option<String>,
    entries: Vec<FilePath>,
    log: Option<FilePath>,
    stamps: FileStamps,
}

type SummaryRows = HashMap<FilePath, SummaryRow>;

/// Whether summaries are complete, or derived from file names where a format allows that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryDetail {
    /// Only what file names contain, where a format allows that.
    Names,
    /// Complete summaries.
    All,
}

/// Lists the sessions of one format in a source, and caches what had to be read. Returns the reason if that could not
/// be cached.
pub(crate) fn list_sessions(
    dir: Option<&CatalogDir>,
    (number, source, layout): (usize, &SessionSource, &'static dyn SessionFormat),
    detail: SummaryDetail,
    now: SystemTime,
    found: &mut CatalogListing,
) -> Result<Option<io::Error>, SessionError> {
    // The cache is not valid while the store shows commits that the files lack.
    let dir = dir.filter(|_| source.store.is_plain());
    let mut tries = 0;
    loop {
        tries += 1;
        let (rows, findings, saved) = list_once(dir, (source, layout), detail, now)?;
        let mut places = rows.iter().map(|row| &row.summary.session);
        // A session that was paused or resumed meanwhile has moved.
        if tries < MAX_LIST_TRIES && layout.any_moved(&source.store, &mut places)? {
            continue;
        }
        found.findings.extend(findings);
        found.sessions.extend(rows.into_iter().map(|row| row.into_session(number)));
        return Ok(saved);
    }
}

/// The rows of a list, the findings, and the error if the rows could not be cached.
type ListedRows = (Vec<SummaryRow>, Vec<Finding>, Option<io::Error>);

fn list_once(
    dir: Option<&CatalogDir>,
    (source, layout): (&SessionSource, &'static dyn SessionFormat),
    detail: SummaryDetail,
    now: SystemTime,
) -> Result<ListedRows, SessionError> {
    // The cache is read while the disk is listed.
    let (listed, mut known) = thread::scope(|scope| {
        let listed = scope.spawn(|| layout.locate(&source.store));
        let known = dir.map(|dir| load(dir, source, layout)).unwrap_or_default();
        (listed.join().unwrap_or_else(|panic| resume_unwind(panic)), known)
    });
    let SessionListing { sessions: mut places, findings } = listed?;
    places.retain(|place| source.covers(place));
    let slots = places.into_iter().map(|place| (known.remove(&place.path), place));
    let slots = drop_stale_rows(source, slots.map(|(row, place)| (place, row)).collect());
    let missing = slots.iter().filter(|(_, row)| row.is_none()).count();
    let names_only = layout.lists_briefly();
    let bulk = missing > BULK && (detail == SummaryDetail::Names || !names_only);
    let mut listed = if bulk { list_in_bulk(layout, source)? } else { HashMap::new() };
    // Sessions that no longer exist are a change, too.
    let mut changed = !known.is_empty();
    let mut rows = Vec::with_capacity(slots.len());
    for (place, row) in slots {
        let is_new = row.is_none();
        let row =
            row.unwrap_or_else(|| read_row(layout, source, &place, listed.remove(&place.path)));
        let is_brief = is_new && bulk && names_only;
        let keep = !is_brief && row.summary.findings.is_empty() && are_stable(&row.stamps, now);
        changed |= is_new && keep;
        rows.push((row, keep));
    }
    let saved = dir.filter(|_| changed).map(|dir| {
        let kept: Vec<&SummaryRow> =
            rows.iter().filter_map(|(row, keep)| keep.then_some(row)).collect();
        save(dir, source, layout, &kept)
    });
    let rows = rows.into_iter().map(|(row, _)| row).collect();
    Ok((rows, findings, saved.and_then(Result::err)))
}

/// Completes summaries that were derived from file names alone.
pub(crate) fn complete_summaries(sources: &[SessionSource], sessions: &mut [CatalogSession]) {
    for session in sessions {
        let Some(source) = sources.get(session.source) else { continue };
        let layout = source.layout(session.summary.layout);
        if let Some(layout) =
            layout.filter(|layout| layout.lists_briefly() && session.entries.is_empty())
        {
            let row = read_row(layout, source, &session.summary.session, None);
            *session = row.into_session(session.source);
        }
    }
}

/// Drops the rows that are out of date.
fn drop_stale_rows(
    source: &SessionSource,
    mut slots: Vec<(SessionRef, Option<SummaryRow>)>,
) -> Vec<(SessionRef, Option<SummaryRow>)> {
    let root = StampDir::open(&source.root, &source.store);
    let check = |slots: &mut [(SessionRef, Option<SummaryRow>)]| {
        // Many sessions may share a file, such as a database.
        let mut shared: HashMap<FilePath, Option<FileStamp>> = HashMap::new();
        let mut now = |place: &SessionRef, file: &FilePath| {
            let look = || root.stamp(file);
            if file.is_within(&place.path) {
                return look();
            }
            *shared.entry(file.clone()).or_insert_with(look)
        };
        for (place, slot) in slots {
            let holds = |row: &SummaryRow| {
                row.stamps.iter().all(|(file, stamp)| now(place, file) == *stamp)
            };
            if !slot.as_ref().is_some_and(holds) {
                *slot = None;
            }
        }
    };
    if slots.len() < MANY {
        check(&mut slots);
        return slots;
    }
    let size = slots.len().div_ceil(THREADS);
    thread::scope(|scope| {
        for part in slots.chunks_mut(size) {
            scope.spawn(|| check(part));
        }
    });
    slots
}

/// Lists all sessions of a format with the format's own bulk listing.
fn list_in_bulk(
    layout: &dyn SessionFormat,
    source: &SessionSource,
) -> Result<HashMap<FilePath, ListedSummary>, SessionError> {
    let Some(listing) = layout.capabilities().listing else { return Ok(HashMap::new()) };
    let (listed, _) = listing.list(&source.store)?;
    Ok(listed.into_iter().map(|one| (one.0.session.path.clone(), one)).collect())
}

/// Reads a session. The stamps are taken before the content, so that a concurrent change is noticed later.
fn read_row(
    layout: &dyn SessionFormat,
    source: &SessionSource,
    place: &SessionRef,
    listed: Option<ListedSummary>,
) -> SummaryRow {
    let names_only = listed.is_some() && layout.lists_briefly();
    let dependencies = match names_only {
        true => Ok(Dependencies::default()),
        false => layout.dependencies(&source.store, place),
    };
    let (dependencies, problem) = match dependencies {
        Ok(dependencies) => (dependencies, None),
        Err(error) => (Dependencies::default(), Some(error)),
    };
    let stamps = read_stamps_of(source, &dependencies.summary);
    let read = || {
        layout
            .summary(&source.store, place)
            .unwrap_or_else(|error| layout.unreadable_summary(place, &error))
    };
    let is_listed = listed.is_some();
    let (mut summary, listed_project) = listed.unwrap_or_else(|| (read(), None));
    if let Some(error) = problem {
        summary.findings.extend(layout.unreadable_summary(place, &error).findings);
    }
    let project = match is_listed {
        true => Ok(listed_project),
        false => layout.project(&source.store, place),
    };
    // A session whose project cannot be determined is not found by project.
    let (project, Dependencies { entries, log, .. }) = (project.unwrap_or_default(), dependencies);
    SummaryRow { summary, project, entries, log, stamps }
}

/// Returns the name of the cache file for a format in a root.
fn file_name(source: &SessionSource, layout: &dyn SessionFormat) -> String {
    let root = source.root.as_os_str().as_encoded_bytes();
    format!("sessions-{}-{:016x}", layout.name(), sum(root))
}

/// Loads the cache of a format in a root; it is empty if the file is unreadable or damaged.
fn load(dir: &CatalogDir, source: &SessionSource, layout: &dyn SessionFormat) -> SummaryRows {
    let Ok(bytes) = dir.read(&file_name(source, layout)) else { return SummaryRows::new() };
    let decode = || {
        let mut decoder = CatalogDecoder::open(&bytes, NAME)?;
        let root = decoder.text()?;
        let rows = decoder.list(|decoder| SummaryRow::read(decoder, layout))?;
        (Path::new(root) == source.root).then_some(rows)
    };
    let rows = decode().unwrap_or_default().into_iter();
    rows.map(|row| (row.summary.session.path.clone(), row)).collect()
}

fn save(
    dir: &CatalogDir,
    source: &SessionSource,
    layout: &dyn SessionFormat,
    rows: &[&SummaryRow],
) -> io::Result<()> {
    let mut encoder = CatalogEncoder::new(NAME);
    encoder.text(&source.root.to_string_lossy());
    encoder.number(rows.len() as u64);
    rows.iter().for_each(|row| row.write(&mut encoder));
    dir.replace(&file_name(source, layout), &encoder.finish())
}

/// Writes a path, relative to the session's path if it is below it.
fn write_path(encoder: &mut CatalogEncoder, place: &FilePath, file: &FilePath) {
    let rest = file.as_str().strip_prefix(place.as_str());
    encoder.number(u64::from(rest.is_some()));
    encoder.text(rest.unwrap_or(file.as_str()));
}

/// Reads a path; most paths repeat one that was `read` before.
fn read_path(
    decoder: &mut CatalogDecoder<'_>,
    place: &FilePath,
    read: &mut Vec<FilePath>,
) -> Option<FilePath> {
    let (below, text) = (decoder.number()? > 0, decoder.text()?);
    let start = if below { place.as_str() } else { "" };
    let is_it = |path: &&FilePath| path.as_str().strip_prefix(start) == Some(text);
    if let Some(path) = read.iter().find(is_it) {
        return Some(path.clone());
    }
    let path = match text.strip_prefix('/').filter(|name| below && !name.contains('/')) {
        // Most are files directly below, so only the name has to be parsed.
        Some(name) => place.join(&Name::parse(name).ok()?),
        None => FilePath::parse(&[start, text].concat()).ok()?,
    };
    read.push(path.clone());
    Some(path)
}

pub(crate) fn write_stamps(encoder: &mut CatalogEncoder, place: &FilePath, stamps: &FileStamps) {
    encoder.number(stamps.len() as u64);
    for (file, stamp) in stamps {
        write_path(encoder, place, file);
        encoder.option(*stamp, |encoder, stamp| stamp.write(encoder));
    }
}

pub(crate) fn read_stamps(
    decoder: &mut CatalogDecoder<'_>,
    place: &FilePath,
    read: &mut Vec<FilePath>,
) -> Option<FileStamps> {
    decoder
        .list(|decoder| Some((read_path(decoder, place, read)?, decoder.option(FileStamp::read)?)))
}

impl SummaryRow {
    fn into_session(self, source: usize) -> CatalogSession {
        let SummaryRow { summary, project, entries, log, .. } = self;
        CatalogSession { source, summary, project, entries, log }
    }

    fn write(&self, encoder: &mut CatalogEncoder) {
        let SessionSummary {
            session: place, title, created, updated, status, turns, parent, ..
        } = &self.summary;
        for text in [place.path.as_str(), &place.id, title, status.as_str()] {
            encoder.text(text);
        }
        for time in [created, updated] {
            encoder.option(*time, |encoder, time| {
                encoder.signed(time.as_second());
                encoder.signed(i64::from(time.subsec_nanosecond()));
            });
        }
        encoder.option(*turns, CatalogEncoder::number);
        encoder.option(parent.as_deref(), CatalogEncoder::text);
        encoder.option(self.project.as_deref(), CatalogEncoder::text);
        encoder.number(self.entries.len() as u64);
        self.entries.iter().for_each(|file| write_path(encoder, &place.path, file));
        encoder.option(self.log.as_ref(), |encoder, file| write_path(encoder, &place.path, file));
        write_stamps(encoder, &place.path, &self.stamps);
    }

    fn read(decoder: &mut CatalogDecoder<'_>, layout: &dyn SessionFormat) -> Option<SummaryRow> {
        let path = FilePath::parse(decoder.text()?).ok()?;
        let id = decoder.text()?.to_owned();
        let title = decoder.text()?.to_owned();
        let status = SessionStatus::parse(decoder.text()?);
        let mut time = || {
            decoder.option(|decoder| {
                let (second, nano) = (decoder.signed()?, decoder.signed()?);
                Timestamp::new(second, i32::try_from(nano).ok()?).ok()
            })
        };
        let (created, updated) = (time()?, time()?);
        let turns = decoder.option(CatalogDecoder::number)?;
        let mut text = || decoder.option(|decoder| Some(decoder.text()?.to_owned()));
        let (parent, project) = (text()?, text()?);
        let mut read = vec![path.clone()];
        let entries = decoder.list(|decoder| read_path(decoder, &path, &mut read))?;
        let log = decoder.option(|decoder| read_path(decoder, &path, &mut read))?;
        let stamps = read_stamps(decoder, &path, &mut read)?;
        let summary = SessionSummary {
            session: SessionRef { id, path },
            layout: layout.name(),
            title,
            created,
            updated,
            status,
            turns,
            parent,
            findings: Vec::new(),
        };
        Some(SummaryRow { summary, project, entries, log, stamps })
    }
}
