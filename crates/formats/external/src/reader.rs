//! A foreign session that is read, in the common view.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::Format;
use super::fetch::Fetch;
use super::record::{Draft, Node};
use super::survey::{Survey, name_of, title};
use super::weave::{Line, What};
use everturn_json::finding::Finding;
use everturn_session::layout::{LayoutError, NoChanges, Reader, Stream};
use everturn_session::view::{Change, Counts, Entry, State, Strand, Usage};
use everturn_store::Store;
use everturn_value::tree::Tree;

/// A session, along one of its lines.
pub(super) struct SessionReader<F: Format> {
    pub(super) format: &'static F,
    pub(super) store: Arc<dyn Store>,
    pub(super) survey: Arc<Survey>,
    pub(super) line: usize,
}

impl<F: Format> SessionReader<F> {
    fn line(&self) -> Option<&Line> {
        self.survey.woven.lines.get(self.line)
    }

    fn last_turn(&self) -> u64 {
        let line = self.line();
        let own = line.and_then(|line| line.own.last()).map(|(_, turn)| *turn);
        own.or_else(|| line.map(|line| self.survey.woven.turn_before(line))).unwrap_or(0)
    }

    fn fetch(&self) -> Result<Box<dyn Fetch>, LayoutError> {
        self.format.fetch(&self.store, &self.survey.files)
    }

    /// What a strand is called: after its first record, or after what its records have in common.
    fn strand_id(&self, line: &Line, fetch: &mut dyn Fetch) -> Result<Option<String>, LayoutError> {
        if let Some(name) = name_of(line.what) {
            return Ok(Some(name.to_owned()));
        }
        let Some(&(number, _)) = line.own.first() else { return Ok(None) };
        let Some(node) = self.survey.nodes.get(number as usize) else { return Ok(None) };
        let tree = fetch.fetch(node.at)?;
        Ok(Some(record_id(self.format, &tree, number)))
    }

    /// What a strand is about: the first thing that is said in it.
    fn strand_title(&self, line: &Line, fetch: &mut dyn Fetch) -> Result<String, LayoutError> {
        let what = match line.what {
            What::Side => "helper: ",
            What::Apart(name) => {
                let (count, is) =
                    (line.own.len(), if line.own.len() == 1 { "record" } else { "records" });
                return Ok(format!("{count} {is}, {name}"));
            }
            What::Main | What::Branch => "",
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
        Ok(format!("{what}nothing is said"))
    }

    /// The ids of all strands, with the lines that they are.
    fn named(&self, fetch: &mut dyn Fetch) -> Result<Vec<(String, usize)>, LayoutError> {
        let mut named: Vec<(String, usize)> = Vec::new();
        let mut taken = std::collections::HashMap::new();
        for (number, line) in self.survey.woven.lines.iter().enumerate().skip(1) {
            let Some(id) = self.strand_id(line, fetch)? else { continue };
            let times: &mut u32 = taken.entry(id.clone()).or_insert(0);
            *times += 1;
            let id = if *times > 1 { format!("{id}~{times}") } else { id };
            named.push((id, number));
        }
        Ok(named)
    }
}

/// The id of a record: its own, or its number.
pub(super) fn record_id<F: Format>(format: &F, tree: &Tree, number: u32) -> String {
    format.id(tree).unwrap_or_else(|| format!("r{}", u64::from(number) + 1))
}

impl<F: Format> Reader for SessionReader<F> {
    fn turns(&self) -> Result<RangeInclusive<u64>, LayoutError> {
        Ok(0..=self.last_turn())
    }

    fn findings(&self) -> Vec<Finding> {
        self.survey.findings.clone()
    }

    fn remarks(&self) -> Vec<Finding> {
        self.survey.remarks.clone()
    }

    fn counts(&self) -> Option<Counts> {
        Some(self.survey.counts)
    }

    fn usage(&self) -> Option<Usage> {
        self.survey.usage.clone()
    }

    fn entries(
        &self,
        turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Entry> + '_>, LayoutError> {
        let pieces = self.survey.woven.pieces(self.line).into();
        let fetch = self.fetch()?;
        Ok(Box::new(Entries {
            reader: self,
            fetch,
            pieces,
            at: 0,
            turns,
            seq: 0,
            ready: VecDeque::new(),
        }))
    }

    fn changes(
        &self,
        _turns: RangeInclusive<u64>,
    ) -> Result<Box<dyn Stream<Item = Change> + '_>, LayoutError> {
        Ok(Box::new(NoChanges))
    }

    fn state(&self, _turn: Option<u64>) -> Result<State, LayoutError> {
        let what = "states: such sessions are what was said, and keep nothing besides";
        Err(LayoutError::NotOffered { layout: F::NAME, what })
    }

    fn strands(&self) -> Result<Vec<Strand>, LayoutError> {
        let mut fetch = self.fetch()?;
        let mut strands = Vec::new();
        for (id, number) in self.named(&mut *fetch)? {
            let Some(line) = self.survey.woven.lines.get(number) else { continue };
            let nodes = line.own.iter().filter_map(|(at, _)| self.survey.nodes.get(*at as usize));
            let last = line.own.last().map_or(0, |(_, turn)| *turn);
            strands.push(Strand {
                id,
                from: self.survey.woven.turn_in_main(line),
                turns: last.saturating_sub(self.survey.woven.turn_before(line)),
                updated: nodes.filter_map(|node: &Node| node.time).max(),
                title: self.strand_title(line, &mut *fetch)?,
            });
        }
        Ok(strands)
    }

    fn along(&self, strand: &str) -> Result<Box<dyn Reader>, LayoutError> {
        let mut fetch = self.fetch()?;
        let named = self.named(&mut *fetch)?;
        let whole = named.iter().find(|(id, _)| id == strand);
        let mut begun = named.iter().filter(|(id, _)| !strand.is_empty() && id.starts_with(strand));
        let found = match (whole, begun.next(), begun.next()) {
            (Some((_, line)), ..) | (None, Some((_, line)), None) => *line,
            (None, Some(_), Some(_)) => {
                let what = format!("{strand:?} is the beginning of several branches");
                return Err(LayoutError::request(what));
            }
            (None, None, _) => {
                let what = format!("there is no branch {strand:?} in the session");
                return Err(LayoutError::request(what));
            }
        };
        Ok(Box::new(SessionReader {
            format: self.format,
            store: Arc::clone(&self.store),
            survey: Arc::clone(&self.survey),
            line: found,
        }))
    }
}

struct Entries<'a, F: Format> {
    reader: &'a SessionReader<F>,
    fetch: Box<dyn Fetch>,
    /// What is left to read: lines, and how many of their own records count.
    pieces: VecDeque<(usize, usize)>,
    at: usize,
    turns: RangeInclusive<u64>,
    seq: u64,
    ready: VecDeque<Entry>,
}

impl<F: Format> Entries<'_, F> {
    /// The next record of the line, and its turn.
    fn next_record(&mut self) -> Option<(u32, u64)> {
        loop {
            let &(line, count) = self.pieces.front()?;
            let own = &self.reader.survey.woven.lines.get(line)?.own;
            if self.at < count.min(own.len()) {
                self.at += 1;
                return own.get(self.at - 1).copied();
            }
            self.pieces.pop_front();
            self.at = 0;
        }
    }

    fn tell(&mut self, number: u32, turn: u64, node: &Node) -> Result<(), LayoutError> {
        let tree = self.fetch.fetch(node.at)?;
        let id = record_id(self.reader.format, &tree, number);
        let drafts = self.reader.format.drafts(&tree);
        let tree = self.reader.format.shown(tree);
        for (place, draft) in (1_u64..).zip(drafts) {
            let Draft { kind, speaker, text, part, .. } = draft;
            // The first entry has the whole record, so that nothing of it is missing and nothing is there twice.
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
                raw,
            });
        }
        Ok(())
    }
}

impl<F: Format> Stream for Entries<'_, F> {
    type Item = Entry;

    fn next(&mut self) -> Option<Result<Entry, LayoutError>> {
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
                && let Err(error) = self.tell(number, turn, &node)
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
