//! The reader of an external session, in the common model.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::ProgramFormat;
use super::fetch::RecordFetcher;
use super::record::{EntryDraft, RecordNode};
use super::survey::{Survey, line_name, title};
use super::thread_tree::{LineKind, ThreadLine};
use everturn_json::finding::Finding;
use everturn_session::format::{
    BranchedSession, ReaderAbilities, RecordReport, RecordStream, SessionError, SessionReader,
    UsageRecords,
};
use everturn_session::model::{Entry, RecordCounts, SessionBranch, SessionUsage};
use everturn_store::Store;
use everturn_value::tree::JsonTree;

/// Reads a session along one of its lines.
pub(super) struct ExternalReader<F: ProgramFormat> {
    pub(super) format: &'static F,
    pub(super) store: Arc<dyn Store>,
    pub(super) survey: Arc<Survey>,
    pub(super) line: usize,
}

impl<F: ProgramFormat> ExternalReader<F> {
    fn line(&self) -> Option<&ThreadLine> {
        self.survey.thread_tree.lines.get(self.line)
    }

    fn last_turn(&self) -> u64 {
        let line = self.line();
        let own = line.and_then(|line| line.own.last()).map(|(_, turn)| *turn);
        own.or_else(|| line.map(|line| self.survey.thread_tree.turn_before(line))).unwrap_or(0)
    }

    fn fetch(&self) -> Result<Box<dyn RecordFetcher>, SessionError> {
        self.format.fetch(&self.store, &self.survey.files)
    }

    /// The id of a branch: that of its first record, or the shared name of its records.
    fn branch_id(
        &self,
        line: &ThreadLine,
        fetch: &mut dyn RecordFetcher,
    ) -> Result<Option<String>, SessionError> {
        if let Some(name) = line_name(line.kind) {
            return Ok(Some(name.to_owned()));
        }
        let Some(&(number, _)) = line.own.first() else { return Ok(None) };
        let Some(node) = self.survey.nodes.get(number as usize) else { return Ok(None) };
        let tree = fetch.fetch(node.at)?;
        Ok(Some(record_id(self.format, &tree, number)))
    }

    /// The title of a branch: the first text in it.
    fn branch_title(
        &self,
        line: &ThreadLine,
        fetch: &mut dyn RecordFetcher,
    ) -> Result<String, SessionError> {
        let what = match line.kind {
            LineKind::Side => "helper: ",
            LineKind::Apart(name) => {
                let (count, is) =
                    (line.own.len(), if line.own.len() == 1 { "record" } else { "records" });
                return Ok(format!("{count} {is}, {name}"));
            }
            LineKind::Main | LineKind::Branch => "",
        };
        for (number, _) in line.own.iter().take(8) {
            let Some(node) = self.survey.nodes.get(*number as usize) else { continue };
            let tree = fetch.fetch(node.at)?;
            let drafts = self.format.drafts(&tree);
            let said = drafts.iter().filter(|draft| !draft.kind.is_bookkeeping());
            if let Some(title) = said.filter_map(|draft| title(&draft.text)).next() {
                return Ok(format!("{what}{title}"));
            }
        }
        Ok(format!("{what}no messages"))
    }

    /// The ids of all branches, with their lines.
    fn branch_lines(
        &self,
        fetch: &mut dyn RecordFetcher,
    ) -> Result<Vec<(String, usize)>, SessionError> {
        let mut named: Vec<(String, usize)> = Vec::new();
        let mut taken = std::collections::HashMap::new();
        for (number, line) in self.survey.thread_tree.lines.iter().enumerate().skip(1) {
            let Some(id) = self.branch_id(line, fetch)? else { continue };
            let times: &mut u32 = taken.entry(id.clone()).or_insert(0);
            *times += 1;
            let id = if *times > 1 { format!("{id}~{times}") } else { id };
            named.push((id, number));
        }
        Ok(named)
    }
}

/// The id of a record: its own, or its number.
pub(super) fn record_id<F: ProgramFormat>(format: &F, tree: &JsonTree, number: u32) -> String {
    format.id(tree).unwrap_or_else(|| format!("r{}", u64::from(number) + 1))
}

impl<F: ProgramFormat> SessionReader for ExternalReader<F> {
    fn format_name(&self) -> &'static str {
        F::NAME
    }

    fn turns(&self) -> Result<RangeInclusive<u64>, SessionError> {
        Ok(0..=self.last_turn())
    }

    fn findings(&self) -> Vec<Finding> {
        self.survey.findings.clone()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn RecordStream<Item = Entry> + '_>, SessionError> {
        let pieces = self.survey.thread_tree.pieces(self.line).into();
        let fetch = self.fetch()?;
        Ok(Box::new(ExternalEntries {
            reader: self,
            fetch,
            pieces,
            at: 0,
            turns,
            seq: 0,
            ready: VecDeque::new(),
        }))
    }

    fn abilities(&self) -> ReaderAbilities<'_> {
        ReaderAbilities {
            branches: Some(self),
            usage: Some(self),
            records: Some(self),
            ..ReaderAbilities::default()
        }
    }
}

impl<F: ProgramFormat> BranchedSession for ExternalReader<F> {
    fn branches(&self) -> Result<Vec<SessionBranch>, SessionError> {
        let mut fetch = self.fetch()?;
        let mut branches = Vec::new();
        for (id, number) in self.branch_lines(&mut *fetch)? {
            let Some(line) = self.survey.thread_tree.lines.get(number) else { continue };
            let nodes = line.own.iter().filter_map(|(at, _)| self.survey.nodes.get(*at as usize));
            let last = line.own.last().map_or(0, |(_, turn)| *turn);
            branches.push(SessionBranch {
                id,
                from: self.survey.thread_tree.turn_in_main(line),
                turns: last.saturating_sub(self.survey.thread_tree.turn_before(line)),
                updated: nodes.filter_map(|node: &RecordNode| node.time).max(),
                title: self.branch_title(line, &mut *fetch)?,
            });
        }
        Ok(branches)
    }

    fn open_branch(&self, branch: &str) -> Result<Box<dyn SessionReader>, SessionError> {
        let mut fetch = self.fetch()?;
        let named = self.branch_lines(&mut *fetch)?;
        let whole = named.iter().find(|(id, _)| id == branch);
        let mut begun = named.iter().filter(|(id, _)| !branch.is_empty() && id.starts_with(branch));
        let found = match (whole, begun.next(), begun.next()) {
            (Some((_, line)), ..) | (None, Some((_, line)), None) => *line,
            (None, Some(_), Some(_)) => {
                let what = format!("{branch:?} is a prefix of several branches");
                return Err(SessionError::request(what));
            }
            (None, None, _) => return Err(SessionError::no_branch(branch)),
        };
        Ok(Box::new(ExternalReader {
            format: self.format,
            store: Arc::clone(&self.store),
            survey: Arc::clone(&self.survey),
            line: found,
        }))
    }
}

impl<F: ProgramFormat> UsageRecords for ExternalReader<F> {
    fn usage(&self) -> Option<SessionUsage> {
        self.survey.usage.clone()
    }
}

impl<F: ProgramFormat> RecordReport for ExternalReader<F> {
    fn warnings(&self) -> Vec<Finding> {
        self.survey.warnings.clone()
    }

    fn record_counts(&self) -> RecordCounts {
        self.survey.counts
    }
}

struct ExternalEntries<'a, F: ProgramFormat> {
    reader: &'a ExternalReader<F>,
    fetch: Box<dyn RecordFetcher>,
    /// The pieces left to read: lines, and how many of their own records count.
    pieces: VecDeque<(usize, usize)>,
    at: usize,
    turns: RangeInclusive<u64>,
    seq: u64,
    ready: VecDeque<Entry>,
}

impl<F: ProgramFormat> ExternalEntries<'_, F> {
    /// The next record of the line, and its turn.
    fn next_record(&mut self) -> Option<(u32, u64)> {
        loop {
            let &(line, count) = self.pieces.front()?;
            let own = &self.reader.survey.thread_tree.lines.get(line)?.own;
            if self.at < count.min(own.len()) {
                self.at += 1;
                return own.get(self.at - 1).copied();
            }
            self.pieces.pop_front();
            self.at = 0;
        }
    }

    fn push_entries(
        &mut self,
        number: u32,
        turn: u64,
        node: &RecordNode,
    ) -> Result<(), SessionError> {
        let tree = self.fetch.fetch(node.at)?;
        let id = record_id(self.reader.format, &tree, number);
        let drafts = self.reader.format.drafts(&tree);
        let tree = self.reader.format.shown(tree);
        for (place, draft) in (1_u64..).zip(drafts) {
            let EntryDraft { kind, speaker, text, extras, part, .. } = draft;
            // The first entry has the whole record, so that nothing is missing and nothing appears twice.
            let raw = part.filter(|_| place > 1).unwrap_or_else(|| tree.clone());
            let id = if place == 1 { id.clone() } else { format!("{id}#{place}") };
            let seq = self.seq + place;
            self.ready.push_back(Entry {
                seq,
                turn,
                id,
                time: node.time,
                speaker,
                kind,
                text,
                extras,
                raw,
            });
        }
        Ok(())
    }
}

impl<F: ProgramFormat> RecordStream for ExternalEntries<'_, F> {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, SessionError>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            let (number, turn) = self.next_record()?;
            if turn > *self.turns.end() {
                return None;
            }
            let node = *self.reader.survey.nodes.get(number as usize)?;
            if turn >= *self.turns.start()
                && let Err(error) = self.push_entries(number, turn, &node)
            {
                return Some(Err(error));
            }
            self.seq += u64::from(node.entries);
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}
