//! Brings the index up to date: changed sessions are read again, small and new ones first.
//!
//! Every commit of the index names a ledger that lists its content, so a process that ends early loses only the work
//! since the last commit.

mod entry_pieces;
mod merge_policy;
mod plan;

use std::collections::HashSet;
use std::time::SystemTime;

use everturn::finding::{Finding, FindingCode};
use everturn::format::{ListedSession, SessionError, SessionReader};
use everturn::model::{Entry, SessionBranch};
use everturn::store::{StoreError, failed_opens};
use tantivy::{IndexWriter, Term};

use self::entry_pieces::{ByteBudget, EntryPiece, split_pieces};
use self::merge_policy::SegmentMergePolicy;
pub(crate) use self::plan::indexed_turns;
pub(crate) use self::plan::key_of;
use self::plan::{UpdateJob, missing_sessions, plan_job, tail_checksum};
use crate::catalog_dir::CatalogDir;
use crate::codec::sum;
use crate::error::{CatalogError, error_chain};
use crate::index::{INDEX, OpenIndex, note_good, store_ledger};
use crate::ledger::{IndexLedger, LedgerRow, SessionKey};
use crate::search::open_session;
use crate::source::{CatalogSession, SessionSource};
use crate::summaries::{FileStamps, are_stable};

/// The number of threads that split texts into words, and the memory each may fill before it writes a segment.
const THREADS: usize = 2;
const MEMORY: usize = 52 << 20;

/// Up to this many bytes, a single thread is used.
const LITTLE: u64 = 4 << 20;

/// The amount of text between two commits, in bytes.
const COMMIT: u64 = 384 << 20;

/// The number of branches of a session that are indexed; finding each one takes time in proportion to their number.
pub(crate) const BRANCHES: usize = 256;

/// The progress of an update.
#[derive(Debug, Clone, Copy)]
pub struct UpdateProgress<'a> {
    /// The session that is being read.
    pub session: &'a str,
    /// The number of bytes done, and the total.
    pub bytes: (u64, u64),
}

/// The result of an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateReport {
    /// The number of sessions that were read, wholly or in part.
    pub read: usize,
    /// The number of sessions that were removed.
    pub removed: usize,
    /// The number of bytes of text that were read.
    pub bytes: u64,
    /// Sessions that could not be read to the end.
    pub left_out: Vec<LeftOut>,
    /// Whether another process is updating the index, so that nothing was done.
    pub is_busy: bool,
    /// Why the whole index was rebuilt, if it was.
    pub rebuilt: Option<String>,
}

/// A session that is not fully searchable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The index of the session in the listing.
    pub session: usize,
    /// The reason.
    pub reason: ReadProblem,
}

/// Why a session could not be read to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadProblem {
    /// The reason, for the user.
    pub text: String,
    /// Whether another process was writing the session, so that it may be readable later.
    pub is_busy: bool,
}

impl From<&SessionError> for ReadProblem {
    fn from(error: &SessionError) -> ReadProblem {
        ReadProblem { text: error_chain(error), is_busy: error.is_busy() }
    }
}

impl From<String> for ReadProblem {
    fn from(text: String) -> ReadProblem {
        ReadProblem { text, is_busy: false }
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
    let failed_before = failed_opens();
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
    let reason = || ReadProblem::from("is damaged".to_owned());
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
        failed_before,
        now,
    };
    for key in gone {
        work.remove_session(&key);
    }
    let (mut before, mut size) = (0, 0);
    for job in jobs {
        // Searches that run meanwhile find the small sessions, and do not wait for a huge one.
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

struct IndexUpdate<'a> {
    dir: &'a CatalogDir,
    opened: &'a mut OpenIndex,
    writer: IndexWriter<EntryPiece>,
    ledger: IndexLedger,
    room: ByteBudget,
    /// The amount of text that is not committed yet.
    uncommitted: u64,
    /// The number of failed opens of the process when the update began.
    failed_before: u64,
    now: SystemTime,
}

/// The result of reading a session.
#[derive(Default)]
struct ReadOutcome {
    bytes: u64,
    /// Why it could not be read to the end.
    problem: Option<ReadProblem>,
}

impl IndexUpdate<'_> {
    fn remove_session(&mut self, key: &SessionKey) {
        if let Some(row) = self.ledger.rows.remove(key) {
            self.writer.delete_term(Term::from_field_u64(self.opened.fields.session, row.number));
        }
    }

    /// Reads a session, and commits in between if it is long.
    fn index_session(
        &mut self,
        job: &UpdateJob<'_>,
        sources: &[SessionSource],
        tell: &mut dyn FnMut(u64),
    ) -> Result<ReadOutcome, CatalogError> {
        let Some(source) = sources.get(job.session.source) else {
            let problem = Some("its source no longer exists".to_owned().into());
            return Ok(ReadOutcome { problem, ..ReadOutcome::default() });
        };
        let (place, reader) = match open_session(sources, job.session) {
            Ok(ListedSession::Open(place, reader)) => (place, reader),
            Ok(ListedSession::Gone) => {
                self.remove_session(&job.key);
                return Ok(ReadOutcome::default());
            }
            Err(error) => {
                // After a transient error its entries stay in the index, and the next search tries again.
                if !self.is_passing(&error) {
                    self.note_damaged(job);
                }
                let problem = Some(ReadProblem::from(&error));
                return Ok(ReadOutcome { problem, ..ReadOutcome::default() });
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
        // After a transient error, reading continues here the next time.
        let is_passing = error.as_ref().is_some_and(|error| self.is_passing(error));
        let seems_lost = lost.is_some() && self.has_run_out_of_files();
        let problem = error.as_ref().map(ReadProblem::from).or(lost.map(ReadProblem::from));
        if seems_lost || place != job.session.summary.session {
            // The next update reads it again from the start: files were skipped, or it is listed elsewhere.
            row.tail = None;
        } else if !is_passing {
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

    /// Records that a session cannot be read as it is.
    fn note_damaged(&mut self, job: &UpdateJob<'_>) {
        self.remove_session(&job.key);
        let row = LedgerRow {
            stable: are_stable(&job.stamps, self.now),
            whole: true,
            damaged: true,
            ..self.new_row(job.stamps.clone(), None)
        };
        self.ledger.rows.insert(job.key.clone(), row);
    }

    /// Returns whether an error may be transient and does not concern the stored data.
    fn is_passing(&self, error: &SessionError) -> bool {
        let is_missing = |error: &StoreError| matches!(error, StoreError::Missing { .. });
        self.has_run_out_of_files()
            || matches!(error, SessionError::Store(error) if !is_missing(error))
    }

    /// Returns whether too many files were open during this update, so that intact files may seem damaged or missing.
    fn has_run_out_of_files(&self) -> bool {
        failed_opens() > self.failed_before
    }

    /// Returns the row of a session that is not in the index yet.
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

    /// Adds the entries of a session that are not indexed yet; returns the number of bytes of text.
    fn index_entries(
        &mut self,
        job: &UpdateJob<'_>,
        reader: &dyn SessionReader,
        row: &mut LedgerRow,
        lost: &mut Option<String>,
        tell: &mut dyn FnMut(u64),
    ) -> Result<u64, ReadFailure> {
        let summary = &job.session.summary;
        // Reading the last turn first would read some logs twice.
        let entries = reader.entries(row.turn..=u64::MAX);
        let mut entries = entries.map_err(|error| ReadFailure::Session(0, error))?;
        let begun = summary.created.or(summary.updated);
        let (mut time, mut bytes, mut reported) = (begun, 0, 0);
        let branches = reader.branches().map_err(|error| ReadFailure::Session(0, error))?;
        let mut seen = HashSet::new();
        while let Some(entry) = entries.next() {
            // Findings are reported by `check` and `show`; they must not accumulate here.
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
            if bytes - reported > 1 << 20 {
                reported = bytes;
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

    /// Adds the entries that are only in branches of a session; returns the number of bytes of text.
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
                // Entries that a branch shares with the main line or repeats add nothing.
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
        let readable = entry.readable_text();
        for text in split_pieces(&readable) {
            let what = (number, branch, entry, time);
            let piece = EntryPiece::new(&self.opened.fields, what, text, &self.room);
            self.writer.add_document(piece).map_err(index)?;
        }
        self.uncommitted += readable.len() as u64;
        Ok(())
    }

    /// Commits the added entries, together with the ledger that lists them.
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

/// Returns the first finding that makes a whole file of a session unreadable, if there is one.
#[must_use]
pub fn lost_file(findings: &[Finding]) -> Option<String> {
    let is_loss =
        |one: &&Finding| matches!(one.code, FindingCode::MissingFile | FindingCode::Unreadable);
    findings.iter().find(is_loss).map(ToString::to_string)
}

fn keep_first(first: &mut Option<String>, next: Option<String>) {
    if first.is_none() {
        *first = next;
    }
}

/// Why reading a session ended early.
enum ReadFailure {
    /// It cannot be read further; the number of bytes read before.
    Session(u64, SessionError),
    /// The index cannot be written.
    Catalog(CatalogError),
}
