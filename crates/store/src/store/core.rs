//! The one path by which anything is ever written: plan, log, flush, apply.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::changes::Courtesy;
use super::errand::{Errand, Errands};
use super::existing::KnownContents;
use super::lives::Lives;
use super::log::{Log, own};
use super::plan::{Aid, Outlook, Planned, Tidy, plan};
use super::quarantine::ensure_dir;
use super::record::{Op, Record};
use super::recover::Blocked;
use super::staged::KeptFiles;
use super::tracked::Tracked;
use super::{Durability, Options, Receipt, Step, StoreError};
use crate::disk::{Disk, Flush};
use everturn_json::names::{FilePath, PathSet};

/// Up to so many changed files a checkpoint is cheap, and better than a longer log.
const FEW_FILES: usize = 16;

/// How many large batches a log should have room for.
const LARGE_BATCHES: u64 = 4;

/// How many batches may be in the log without being applied.
const MAX_PENDING: usize = 256;

/// How many bytes of records are written in one call.
const MAX_GROUP_BYTES: u64 = 4 << 20;

/// What a record needs in the log besides its operations, with room for records before it.
const RECORD_OVERHEAD: u64 = 256;

/// What somebody wants to commit.
pub(super) type Batch = (Tidy, Durability);

pub(super) type Outcome = Result<Receipt, StoreError>;

/// A batch that is in the log and not yet applied.
pub(super) struct Pending {
    pub(super) planned: Planned,
    /// Its place among the records of this epoch.
    pub(super) index: u64,
    /// Who waits for it; nobody if it was acknowledged as written by an earlier call.
    pub(super) ticket: Option<usize>,
}

/// Everything that one writing process knows about its store.
pub(super) struct Core {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) options: Options,
    pub(super) log: Option<Log>,
    pub(super) files: HashMap<FilePath, Tracked>,
    /// Directories in which names have changed since the last checkpoint.
    pub(super) dirs: BTreeSet<FilePath>,
    /// Directories whose own names are among `dirs`, or were flushed since this process began.
    ///
    /// Whoever made a directory above our scopes may not have flushed its name, and may never do so.
    pub(super) rooted: BTreeSet<FilePath>,
    lives: Lives,
    pub(super) known: KnownContents,
    pub(super) outlook: Outlook,
    pub(super) pending: Vec<Pending>,
    /// What batches touched that were taken back since the last one was planned.
    pub(super) taken_back: PathSet,
    /// Records that must stand before the next batch.
    preface: Vec<Record>,
    /// How many new contents are open before they get their names.
    pub(super) staged: usize,
    pub(super) errands: Arc<Errands>,
    pub(super) courtesy: Courtesy,
    temp_count: u64,
    /// How many contents were staged beside the log.
    pub(super) staged_count: Arc<AtomicU64>,
    /// Those that are still there although they have their places.
    pub(super) kept_files: KeptFiles,
    /// How many writers have scopes of this store.
    pub(super) writers: usize,
    pub(super) poisoned: Option<Arc<StoreError>>,
    /// Names that recovery could not bring to their end, when it was last tried.
    pub(super) blocked: Vec<Blocked>,
    /// Such names that were reported.
    pub(super) reported: BTreeSet<FilePath>,
}

/// What whoever waits for a batch is told.
pub(super) enum Answer {
    Done(Outcome),
    /// The batch is safe in the log, and whoever waits for it carries it out.
    Errand(Box<Errand>),
}

/// Who is told what became of a batch, by its place in the group.
pub(super) type Tell<'a> = &'a mut dyn FnMut(usize, Answer);

/// Batches that come to the log together.
pub(super) struct Round<'a> {
    planned: Vec<(usize, Planned)>,
    bytes: u64,
    /// Whether batches may be given out as errands: nothing that waits for them comes after this.
    pub(super) last: bool,
    tell: Tell<'a>,
}

impl<'a> Round<'a> {
    fn new(tell: Tell<'a>) -> Round<'a> {
        Round { planned: Vec::new(), bytes: 0, last: false, tell }
    }

    pub(super) fn settle(&mut self, ticket: Option<usize>, outcome: Outcome) {
        if let Some(ticket) = ticket {
            (self.tell)(ticket, Answer::Done(outcome));
        }
    }

    pub(super) fn give_out(&mut self, ticket: Option<usize>, errand: Errand) {
        if let Some(ticket) = ticket {
            (self.tell)(ticket, Answer::Errand(Box::new(errand)));
        }
    }
}

fn record_size(planned: &Planned) -> u64 {
    RECORD_OVERHEAD + planned.ops.iter().map(Op::size_at_most).sum::<u64>()
}

impl Core {
    pub(super) fn new(disk: Arc<dyn Disk>, mut options: Options) -> Core {
        // Twice as many are open in a large batch, and the process needs some for itself.
        options.open_files = options.open_files.min(disk.max_open_files() / 4).max(1);
        Core {
            disk,
            options,
            log: None,
            files: HashMap::new(),
            dirs: BTreeSet::new(),
            rooted: BTreeSet::new(),
            lives: Lives::default(),
            known: KnownContents::default(),
            outlook: Outlook::default(),
            pending: Vec::new(),
            taken_back: PathSet::default(),
            preface: Vec::new(),
            staged: 0,
            errands: Arc::default(),
            courtesy: Courtesy::default(),
            temp_count: 0,
            staged_count: Arc::default(),
            kept_files: KeptFiles::default(),
            writers: 0,
            poisoned: None,
            blocked: Vec::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Commits several independent batches with one flush; each gets its own answer, once.
    ///
    /// If the group is `shared` by several threads, the answer may be an errand, which must be handed on.
    pub(super) fn commit_group(&mut self, batches: Vec<Batch>, shared: bool, tell: Tell<'_>) {
        let mut round = Round::new(tell);
        for (ticket, batch) in batches.into_iter().enumerate() {
            if let Err(error) = self.admit(ticket, batch, &mut round) {
                round.settle(Some(ticket), Err(error));
            }
        }
        round.last = shared && self.files.len() <= self.options.open_files;
        if let Err(error) = self.write_round(&mut round) {
            self.fail_round(&mut round, &error);
        }
        self.staged = 0;
        if self.files.len() > self.options.open_files && !round.last {
            // The commits are safe whatever becomes of this; if it fails, the next one is told.
            drop(self.checkpoint());
        }
    }

    fn admit(
        &mut self,
        ticket: usize,
        (tidy, durability): Batch,
        round: &mut Round<'_>,
    ) -> Result<(), StoreError> {
        self.usable()?;
        self.ensure_log()?;
        if tidy.steps.iter().any(|step| !matches!(step, Step::Append { .. })) {
            self.await_errands()?;
        }
        if self.outlook.blocks(&tidy.steps) || !self.lives.clashes(&tidy.steps).is_empty() {
            self.complete_round(round)?;
            let clashes = self.lives.clashes(&tidy.steps);
            if !clashes.is_empty() {
                self.settle(clashes)?;
            }
        }
        self.taken_back.clear();
        let planned = plan(self, tidy, durability)?;
        let size = record_size(&planned);
        let room = self.make_room(size, round).and_then(|()| {
            // To make room, batches were applied on which this one may have been planned.
            let overtaken = planned.meets(&self.taken_back);
            if overtaken { Err(StoreError::Overtaken) } else { Ok(()) }
        });
        if let Err(error) = room {
            self.discard(planned.aids);
            return Err(error);
        }
        self.outlook.add(&planned);
        self.lives.note(&planned.ops);
        self.known.note(&planned.ops);
        round.bytes += size;
        round.planned.push((ticket, planned));
        Ok(())
    }

    pub(super) fn usable(&self) -> Result<(), StoreError> {
        match &self.poisoned {
            Some(cause) => Err(StoreError::Poisoned { cause: Arc::clone(cause) }),
            None => Ok(()),
        }
    }

    pub(super) fn poison(&mut self, cause: StoreError) -> StoreError {
        let cause = match cause {
            StoreError::Poisoned { cause } => cause,
            other => Arc::new(other),
        };
        let cause = self.poisoned.get_or_insert(cause);
        StoreError::Poisoned { cause: Arc::clone(cause) }
    }

    /// Makes sure that a record of `size` bytes fits into the log.
    fn make_room(&mut self, size: u64, round: &mut Round<'_>) -> Result<(), StoreError> {
        if round.bytes > 0 && round.bytes + size > MAX_GROUP_BYTES {
            self.complete_round(round)?;
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        let preface: u64 = self.preface.iter().map(Record::size_at_most).sum();
        let needed = round.bytes + preface + size;
        // Few files are flushed quickly, unless one batch after the other would fill the log.
        let large = needed > log.capacity() / 4;
        if log.room() < needed && (large || self.files.len() > FEW_FILES) {
            let wanted = (log.capacity() * 2).max(needed * LARGE_BATCHES);
            // If the disk has no room for that, the log is recycled as it is.
            drop(log.extend(wanted.min(self.options.log_most)));
        }
        if log.room() >= needed {
            return Ok(());
        }
        self.complete_round(round)?;
        self.checkpoint()?;
        let Some(log) = &mut self.log else { return Ok(()) };
        let path = log.number.file();
        log.extend(super::log::RECORDS + size).map_err(StoreError::io("extend", &path))
    }

    /// Writes what the round has planned, and flushes and applies it if anybody asked for that.
    fn write_round(&mut self, round: &mut Round<'_>) -> Result<(), StoreError> {
        if round.planned.is_empty() {
            return Ok(());
        }
        let flush = round.planned.iter().any(|(_, planned)| planned.is_urgent());
        self.log_round(round)?;
        if flush || self.pending.len() > MAX_PENDING {
            return self.complete_pending(round);
        }
        if let Some(log) = &mut self.log {
            log.promise();
        }
        for pending in &mut self.pending {
            let receipt = std::mem::take(&mut pending.planned.receipt);
            round.settle(pending.ticket.take(), Ok(receipt));
        }
        Ok(())
    }

    /// Writes, flushes and applies everything that came before.
    fn complete_round(&mut self, round: &mut Round<'_>) -> Result<(), StoreError> {
        let done = self.log_round(round).and_then(|()| self.complete_pending(round));
        done.inspect_err(|error| self.fail_round(round, error))
    }

    fn fail_round(&mut self, round: &mut Round<'_>, error: &StoreError) {
        for (ticket, planned) in std::mem::take(&mut round.planned) {
            self.discard(planned.aids);
            round.settle(Some(ticket), Err(error.clone()));
        }
        for pending in std::mem::take(&mut self.pending) {
            round.settle(pending.ticket, Err(error.clone()));
        }
        self.outlook.clear();
        self.known.clear();
        round.bytes = 0;
    }

    /// Writes the records of the round into the log.
    fn log_round(&mut self, round: &mut Round<'_>) -> Result<(), StoreError> {
        if round.planned.is_empty() {
            return Ok(());
        }
        let mut records = std::mem::take(&mut self.preface);
        let first = records.len() as u64 + self.log.as_ref().map_or(0, |log| log.count);
        for (_, planned) in &mut round.planned {
            planned.keep_staged();
            records.push(Record::Batch(std::mem::take(&mut planned.ops)));
        }
        self.write_log(&records)?;
        let batches = records.into_iter().filter_map(|record| match record {
            Record::Batch(ops) => Some(ops),
            Record::Abort(_) | Record::Settled(_) => None,
        });
        let planned = std::mem::take(&mut round.planned);
        for (index, ((ticket, mut planned), ops)) in (first..).zip(planned.into_iter().zip(batches))
        {
            planned.ops = ops;
            self.pending.push(Pending { planned, index, ticket: Some(ticket) });
        }
        round.bytes = 0;
        Ok(())
    }

    pub(super) fn write_log(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Err(StoreError::ReadOnly) };
        let path = log.number.file();
        log.write(records).map_err(|error| self.poison(StoreError::io("write", &path)(error)))
    }

    pub(super) fn sync_log(&mut self, why: Flush) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let path = log.number.file();
        log.sync(why).map_err(|error| self.poison(StoreError::io("flush", &path)(error)))?;
        if self.preface.is_empty() {
            self.remove_settled();
        }
        Ok(())
    }

    /// Flushes the log and applies all that is pending.
    fn complete_pending(&mut self, round: &mut Round<'_>) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.sync_log(Flush::Commit)?;
        self.apply_pending(round)
    }

    /// Applies commits that were acknowledged as written, so that they can be read.
    pub(super) fn complete(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        self.complete_pending(&mut Round::new(&mut |_, _| {}))
    }

    /// Flushes what the log says about these names, so that they can begin another life.
    fn settle(&mut self, names: Vec<FilePath>) -> Result<(), StoreError> {
        let within = |path: &FilePath| names.iter().any(|name| path.is_within(name));
        self.flush_files(within, Flush::SettleFile, Flush::SettleDir)?;
        self.lives.settle(&names);
        self.kept_files.settle(&names);
        self.preface.push(Record::Settled(names));
        Ok(())
    }

    /// Carries everything that was committed into the plain files for good, and recycles the log.
    pub(super) fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.complete()?;
        let Some(log) = &self.log else { return Ok(()) };
        if log.count == 0 {
            return Ok(());
        }
        self.flush_files(|_| true, Flush::CheckpointFile, Flush::CheckpointDir)?;
        let Some(log) = &mut self.log else { return Ok(()) };
        let path = log.number.file();
        if let Err(error) = log.recycle() {
            return Err(self.poison(StoreError::io("recycle", &path)(error)));
        }
        log.shrink(self.options.log_most);
        self.lives = Lives::default();
        self.known.forget_dirs();
        self.preface.clear();
        self.files.clear();
        self.remove_kept();
        Ok(())
    }

    /// Makes everything in `scopes` safe without the log, so that another process may change it.
    pub(super) fn release(&mut self, scopes: &[FilePath]) -> Result<(), StoreError> {
        self.writers -= 1;
        if self.writers == 0 {
            return self.checkpoint();
        }
        self.complete()?;
        // Names that were settled before a batch which then failed: the log does not say so yet.
        if self.lives.any_within(scopes) || !self.preface.is_empty() {
            self.settle(scopes.to_vec())?;
            let size: u64 = self.preface.iter().map(Record::size_at_most).sum();
            if self.log.as_ref().is_some_and(|log| log.room() < size) {
                return self.checkpoint();
            }
            let records = std::mem::take(&mut self.preface);
            self.write_log(&records)?;
            self.sync_log(Flush::Release)?;
        }
        Ok(())
    }

    /// A name for a temporary file that nothing has.
    pub(super) fn temp_name(&mut self) -> Result<FilePath, StoreError> {
        let dir = own(&["tmp"]);
        ensure_dir(&*self.disk, &dir, &mut Vec::new())?;
        let prefix = self.log.as_ref().map_or_else(String::new, |log| log.number.temp_prefix());
        loop {
            self.temp_count += 1;
            let path = own(&["tmp", &format!("{prefix}{}", self.temp_count)]);
            if self.disk.stat(&path).map_err(StoreError::io("look at", &path))?.is_none() {
                return Ok(path);
            }
        }
    }

    /// Clears away what was prepared for a batch that will not be.
    pub(super) fn discard(&self, aids: Vec<Aid>) {
        for aid in aids {
            if let Aid::Staged(staged) = aid
                && staged.beside.is_none()
            {
                // It is swept away when the log changes hands; here it is only a courtesy.
                drop(self.disk.remove(&staged.temp));
            }
        }
    }
}
