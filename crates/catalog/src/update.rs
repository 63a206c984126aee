//! Bringing the index up to date: what has changed is read again, the small and the new first.
//!
//! Every commit of the index names a ledger that says what is in it, so a process that ends on the way, whatever ends
//! it, loses what it did since the last one and nothing else.

mod entry_pieces;
mod merge_policy;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use everturn::finding::{Finding, FindingCode};
use everturn::format::{SessionError, SessionReader};
use everturn::model::{Entry, SessionBranch};
use everturn::names::FilePath;
use everturn::store::{Store, StoreError, ran_out_of_files};
use tantivy::{IndexWriter, Term};

use self::entry_pieces::{ByteBudget, EntryPiece, split_pieces};
use self::merge_policy::SegmentMergePolicy;
use crate::catalog_dir::{CatalogDir, is_dir};
use crate::codec::sum;
use crate::error::{CatalogError, error_chain};
use crate::index::{INDEX, OpenIndex, note_good, store_ledger};
use crate::ledger::{IndexLedger, LedgerRow, SessionKey};
use crate::search::open_session;
use crate::source::{CatalogSession, SessionSource};
use crate::summaries::{FileStamps, are_stable, read_stamps_of};

/// How many threads split texts into words, and how much memory each may fill before it writes a segment.
const THREADS: usize = 2;
const MEMORY: usize = 52 << 20;

/// Up to so many bytes, one thread does it all.
const LITTLE: u64 = 4 << 20;

/// How much text lies between two commits, in bytes.
const COMMIT: u64 = 384 << 20;

/// The sizes of sessions that are read one after the other: all of one size before the larger ones.
const SIZES: [u64; 3] = [1 << 20, 16 << 20, 128 << 20];

/// How many branches of a session are read; to find each of them costs as much as there are.
pub(crate) const BRANCHES: usize = 256;

/// How many bytes at the end of a file tell whether it has only grown.
const TAIL: u64 = 4096;

/// How far the work is.
#[derive(Debug, Clone, Copy)]
pub struct UpdateProgress<'a> {
    /// The session that is read.
    pub session: &'a str,
    /// How many bytes of files are done, and how many there are.
    pub bytes: (u64, u64),
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// How many sessions were read, wholly or in part.
    pub read: usize,
    /// How many are gone.
    pub removed: usize,
    /// How many bytes of text were read.
    pub bytes: u64,
    /// Sessions that could not be read to their ends.
    pub left_out: Vec<LeftOut>,
    /// Whether another process brings the index up to date, so that nothing was done.
    pub is_busy: bool,
    /// Why the whole index was made anew, if it was.
    pub rebuilt: Option<String>,
}

/// A session of which not everything can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Which of the sessions it is.
    pub session: usize,
    /// Why.
    pub reason: String,
}

/// A session that has to be read.
struct UpdateJob<'a> {
    /// Which of the sessions it is.
    at: usize,
    session: &'a CatalogSession,
    key: SessionKey,
    /// Where the reading goes on, if some of it is there already.
    from: Option<LedgerRow>,
    stamps: FileStamps,
    bytes: u64,
}

impl UpdateJob<'_> {
    /// Which of the sizes it has.
    fn size(&self) -> usize {
        SIZES.iter().position(|size| self.bytes <= *size).unwrap_or(SIZES.len())
    }
}

/// Brings the index up to date with these sessions.
pub(crate) fn update_index(
    dir: &CatalogDir,
    opened: &mut OpenIndex,
    (sources, sessions): (&[SessionSource], &[CatalogSession]),
    now: SystemTime,
    progress: &mut dyn FnMut(UpdateProgress<'_>),
) -> Result<UpdateReport, CatalogError> {
    let mut ledger = std::mem::take(&mut opened.ledger);
    let gone = missing_sessions(&ledger, sources, sessions);
    let numbered = || sessions.iter().enumerate();
    let mut jobs: Vec<UpdateJob<'_>> =
        numbered().filter_map(|session| plan_job(&mut ledger, sources, session, now)).collect();
    let again: HashSet<usize> = jobs.iter().map(|job| job.at).collect();
    let known = numbered().filter(|(at, session)| {
        let key = sources.get(session.source).map(|source| key_of(source, session));
        let row = key.and_then(|key| ledger.rows.get(&key));
        !again.contains(at) && row.is_some_and(|row| row.damaged)
    });
    let reason = || "is damaged".to_owned();
    let left_out = known.map(|(session, _)| LeftOut { session, reason: reason() }).collect();
    let mut done = UpdateReport { removed: gone.len(), left_out, ..UpdateReport::default() };
    if jobs.is_empty() && gone.is_empty() {
        opened.ledger = ledger;
        return Ok(done);
    }
    jobs.sort_by_key(|job| (job.size(), std::cmp::Reverse(job.session.summary.updated)));
    let total = jobs.iter().map(|job| job.bytes).sum();
    let threads = if total <= LITTLE { 1 } else { THREADS };
    let writer: IndexWriter<EntryPiece> =
        opened.index.writer_with_num_threads(threads, threads * MEMORY)?;
    writer.set_merge_policy(Box::new(SegmentMergePolicy::new(dir.path(INDEX))));
    let mut work = IndexUpdate {
        dir,
        opened,
        writer,
        ledger,
        room: ByteBudget::default(),
        uncommitted: 0,
        now,
    };
    for key in gone {
        work.remove_session(&key);
    }
    let (mut before, mut size) = (0, 0);
    for job in jobs {
        // Whoever asks meanwhile finds the small ones, and does not wait for a giant.
        if job.size() > size && work.uncommitted > 0 {
            work.commit()?;
        }
        size = job.size();
        let name = job.session.summary.session.id.as_str();
        progress(UpdateProgress { session: name, bytes: (before, total) });
        let mut tell = |read: u64| {
            progress(UpdateProgress {
                session: name,
                bytes: (before + read.min(job.bytes), total),
            });
        };
        let read = work.index_session(&job, sources, &mut tell)?;
        done.read += 1;
        done.bytes += read.bytes;
        done.left_out.extend(read.problem.map(|reason| LeftOut { session: job.at, reason }));
        before += job.bytes;
    }
    work.finish()?;
    Ok(done)
}

/// Sessions of these sources that are no more, and those of roots that are no more.
fn missing_sessions(
    ledger: &IndexLedger,
    sources: &[SessionSource],
    sessions: &[CatalogSession],
) -> Vec<SessionKey> {
    let known: HashSet<(usize, &str, &FilePath)> = sessions
        .iter()
        .map(|session| (session.source, session.summary.layout, &session.summary.session.path))
        .collect();
    let is_gone = |key: &&SessionKey| {
        let mut of_root =
            sources.iter().enumerate().filter(|(_, source)| source.root == key.root).peekable();
        if of_root.peek().is_none() {
            return !is_dir(&key.root);
        }
        of_root.any(|(number, source)| {
            source.layout(&key.layout).is_some()
                && !known.contains(&(number, key.layout.as_str(), &key.path))
        })
    };
    ledger.rows.keys().filter(is_gone).cloned().collect()
}

/// The key of a session.
pub(crate) fn key_of(source: &SessionSource, session: &CatalogSession) -> SessionKey {
    SessionKey {
        root: source.root.clone(),
        layout: session.summary.layout.to_owned(),
        path: session.summary.session.path.clone(),
    }
}

/// What has to be done about a session, if anything.
fn plan_job<'a>(
    ledger: &mut IndexLedger,
    sources: &[SessionSource],
    (at, session): (usize, &'a CatalogSession),
    now: SystemTime,
) -> Option<UpdateJob<'a>> {
    let source = sources.get(session.source)?;
    let key = key_of(source, session);
    let stamps = read_stamps_of(source, &session.entries);
    let bytes = stamps.iter().filter_map(|(_, stamp)| Some((*stamp)?.len)).sum();
    let Some(row) = ledger.rows.get_mut(&key) else {
        return Some(UpdateJob { at, session, key, from: None, stamps, bytes });
    };
    if row.stamps == stamps && row.stable && row.whole && !stamps.is_empty() {
        return None;
    }
    let log = session.log.as_ref();
    let from =
        log.is_some_and(|log| has_only_grown(row, &stamps, log, source)).then(|| row.clone());
    let before: u64 = row.stamps.iter().filter_map(|(_, stamp)| Some((*stamp)?.len)).sum();
    if from.is_some() && row.whole && before == bytes {
        // Nothing was added since, and by now a change would show.
        row.stable = are_stable(&stamps, now);
        row.stamps = stamps;
        return None;
    }
    let bytes = if from.is_some() && row.whole { bytes - before } else { bytes };
    Some(UpdateJob { at, session, key, from, stamps, bytes })
}

/// Whether files are what they were, except that the log has become longer.
fn has_only_grown(
    row: &LedgerRow,
    stamps: &FileStamps,
    log: &FilePath,
    source: &SessionSource,
) -> bool {
    if row.stamps.len() != stamps.len() {
        return false;
    }
    let changed = row.stamps.iter().zip(stamps).filter(|(old, new)| old != new);
    let grown: Vec<_> = changed.collect();
    let same = match grown.as_slice() {
        [] => true,
        [((old, Some(before)), (new, Some(after)))] => {
            old == log && new == log && before.has_grown_to(after)
        }
        _ => false,
    };
    same && row.tail.is_some() && tail_checksum(&source.store, log, &row.stamps) == row.tail
}

/// The checksum of the bytes at the end that a file had then.
fn tail_checksum(store: &Arc<dyn Store>, file: &FilePath, stamps: &FileStamps) -> Option<u64> {
    let end = stamps.iter().find(|(known, _)| known == file)?.1?.len;
    let bytes = store.read(file, end.saturating_sub(TAIL)..end).ok()?;
    (bytes.len() as u64 == end.min(TAIL)).then(|| sum(&bytes))
}

struct IndexUpdate<'a> {
    dir: &'a CatalogDir,
    opened: &'a mut OpenIndex,
    writer: IndexWriter<EntryPiece>,
    ledger: IndexLedger,
    room: ByteBudget,
    /// How much text no commit has yet.
    uncommitted: u64,
    now: SystemTime,
}

/// What came of reading a session.
struct ReadOutcome {
    bytes: u64,
    /// Why it could not be read to its end.
    problem: Option<String>,
}

impl IndexUpdate<'_> {
    fn remove_session(&mut self, key: &SessionKey) {
        if let Some(row) = self.ledger.rows.remove(key) {
            self.writer.delete_term(Term::from_field_u64(self.opened.fields.session, row.number));
        }
    }

    /// Reads a session, and commits on the way if it is long.
    fn index_session(
        &mut self,
        job: &UpdateJob<'_>,
        sources: &[SessionSource],
        tell: &mut dyn FnMut(u64),
    ) -> Result<ReadOutcome, CatalogError> {
        let opened = open_session(sources, job.session);
        let (source, reader) = match (sources.get(job.session.source), opened) {
            (Some(source), Ok(Some(reader))) => (source, reader),
            (_, Err(error)) if !is_passing(&error) => {
                self.remove_session(&job.key);
                let (stamps, settled) = (job.stamps.clone(), are_stable(&job.stamps, self.now));
                let row = LedgerRow {
                    stable: settled,
                    whole: true,
                    damaged: true,
                    ..self.new_row(stamps, None)
                };
                self.ledger.rows.insert(job.key.clone(), row);
                return Ok(ReadOutcome { bytes: 0, problem: Some(error_chain(&error)) });
            }
            // What the index has of it stays, and the next search tries again.
            (_, Err(error)) => {
                return Ok(ReadOutcome { bytes: 0, problem: Some(error_chain(&error)) });
            }
            _ => {
                return Ok(ReadOutcome {
                    bytes: 0,
                    problem: Some("its source is gone".to_owned()),
                });
            }
        };
        let log = job.session.log.as_ref();
        let tail = log.and_then(|log| tail_checksum(&source.store, log, &job.stamps));
        let mut row = match &job.from {
            Some(row) => LedgerRow { whole: false, ..row.clone() },
            None => {
                self.remove_session(&job.key);
                self.new_row(job.stamps.clone(), tail)
            }
        };
        let mut lost = lost_file(&reader.findings());
        let (bytes, error) = match self.index_entries(job, &*reader, &mut row, &mut lost, tell) {
            Ok(bytes) => (bytes, None),
            Err(ReadFailure::Session(bytes, error)) => (bytes, Some(error)),
            Err(ReadFailure::Catalog(error)) => return Err(error),
        };
        // After an error that may pass, the reading goes on here the next time.
        let is_passing = error.as_ref().is_some_and(is_passing);
        let problem = error.map(|error| error_chain(&error)).or(lost);
        if !is_passing {
            row.stamps.clone_from(&job.stamps);
            (row.stable, row.whole, row.tail) = (are_stable(&job.stamps, self.now), true, tail);
            row.damaged = problem.is_some();
        }
        self.ledger.rows.insert(job.key.clone(), row);
        if self.uncommitted >= COMMIT {
            self.commit()?;
        }
        Ok(ReadOutcome { bytes, problem })
    }

    /// The row of a session of which nothing is in the index yet.
    fn new_row(&mut self, stamps: FileStamps, tail: Option<u64>) -> LedgerRow {
        let number = self.ledger.next;
        self.ledger.next += 1;
        LedgerRow {
            number,
            stamps,
            stable: false,
            whole: false,
            damaged: false,
            turn: 0,
            seq: 0,
            tail,
        }
    }

    /// Adds the entries of a session that are not there yet; returns how many bytes of text they have.
    fn index_entries(
        &mut self,
        job: &UpdateJob<'_>,
        reader: &dyn SessionReader,
        row: &mut LedgerRow,
        lost: &mut Option<String>,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, ReadFailure> {
        let summary = &job.session.summary;
        // Asking for the last turn first would read some logs twice.
        let entries = reader.entries(row.turn..=u64::MAX);
        let mut entries = entries.map_err(|error| ReadFailure::Session(0, error))?;
        let begun = summary.created.or(summary.updated);
        let (mut time, mut bytes, mut told) = (begun, 0, 0);
        let branches = reader.branches().map_err(|error| ReadFailure::Session(0, error))?;
        let mut seen = HashSet::new();
        while let Some(entry) = entries.next() {
            // Findings are what `check` and `show` tell; they must not pile up here.
            keep_first(lost, lost_file(&entries.take_findings()));
            let entry = entry.map_err(|error| ReadFailure::Session(bytes, error))?;
            if entry.seq <= row.seq {
                continue;
            }
            time = entry.time.or(time);
            self.index_entry(&entry, (row.number, 0), time)?;
            (row.turn, row.seq) = (entry.turn, entry.seq);
            if !branches.is_empty() {
                seen.insert(sum(entry.id.as_bytes()));
            }
            bytes += entry.text.len() as u64;
            if bytes - told > 1 << 20 {
                told = bytes;
                tell(bytes);
            }
            if self.uncommitted >= COMMIT {
                self.ledger.rows.insert(job.key.clone(), row.clone());
                self.commit().map_err(ReadFailure::Catalog)?;
            }
        }
        keep_first(lost, lost_file(&entries.take_findings()));
        drop(entries);
        Ok(bytes + self.index_branches((reader, &branches), row.number, begun, &mut seen)?)
    }

    /// Adds what is said in the branches of a session and not in its main line; returns how many bytes of text that is.
    fn index_branches(
        &mut self,
        (reader, branches): (&dyn SessionReader, &[SessionBranch]),
        number: u64,
        begun: Option<jiff::Timestamp>,
        seen: &mut HashSet<u64>,
    ) -> Result<u64, ReadFailure> {
        let mut bytes = 0;
        for (branch_number, branch) in (1..).zip(branches).take(BRANCHES) {
            let failed = |error| ReadFailure::Session(bytes, error);
            let along = reader.open_branch(&branch.id).map_err(failed)?;
            let mut entries = along.entries(branch.from.unwrap_or(0)..=u64::MAX).map_err(failed)?;
            let mut time = begun;
            while let Some(entry) = entries.next() {
                drop(entries.take_findings());
                let entry = entry.map_err(|error| ReadFailure::Session(bytes, error))?;
                time = entry.time.or(time);
                // Where a branch leaves the main line, and where it says again what was said, it adds nothing.
                if seen.insert(sum(entry.id.as_bytes())) {
                    self.index_entry(&entry, (number, branch_number), time)?;
                    bytes += entry.text.len() as u64;
                }
            }
        }
        Ok(bytes)
    }

    fn index_entry(
        &mut self,
        entry: &Entry,
        (number, branch): (u64, u64),
        time: Option<jiff::Timestamp>,
    ) -> Result<(), ReadFailure> {
        let index = |error: tantivy::TantivyError| ReadFailure::Catalog(error.into());
        for text in split_pieces(&entry.text) {
            let what = (number, branch, entry, time);
            let piece = EntryPiece::new(&self.opened.fields, what, text, &self.room);
            self.writer.add_document(piece).map_err(index)?;
        }
        self.uncommitted += entry.text.len() as u64;
        Ok(())
    }

    /// Makes what was added part of the index, together with the ledger that says so.
    fn commit(&mut self) -> Result<(), CatalogError> {
        let mut prepared = self.writer.prepare_commit()?;
        let payload = store_ledger(self.dir, &self.ledger, prepared.opstamp())?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.uncommitted = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<(), CatalogError> {
        self.commit()?;
        self.writer.wait_merging_threads()?;
        note_good(self.dir, &self.opened.index)?;
        self.opened.ledger = self.ledger;
        self.opened.remove_unreferenced(self.dir)
    }
}

/// What a finding says that makes a whole file of a session unknown, if there is one.
pub(crate) fn lost_file(findings: &[Finding]) -> Option<String> {
    let is_loss =
        |one: &&Finding| matches!(one.code, FindingCode::MissingFile | FindingCode::Unreadable);
    findings.iter().find(is_loss).map(ToString::to_string)
}

fn keep_first(first: &mut Option<String>, next: Option<String>) {
    if first.is_none() {
        *first = next;
    }
}

/// Whether an error says nothing about what is stored, and may be gone the next time.
fn is_passing(error: &SessionError) -> bool {
    ran_out_of_files()
        || matches!(error, SessionError::Store(error) if !matches!(error, StoreError::Missing { .. }))
}

/// Why the reading of a session ends early.
enum ReadFailure {
    /// It cannot be read further; so many bytes of it were.
    Session(u64, SessionError),
    /// The index cannot be written.
    Catalog(CatalogError),
}
