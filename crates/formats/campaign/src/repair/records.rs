//! What the two logs of a damaged campaign still have, each record under the number that it should have.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::ROW_PARTS;
use crate::draft::tree_of;
use crate::error::CampaignError;
use crate::log::{Change, ChangeKind, OWN, Place, Record, TurnRow};
use crate::names::{CampaignFile, turn_id};
use crate::session::{Campaign, read_if_there};
use everturn_json::names::FilePath;
use everturn_session::repairs::order::{Said, settle};
use everturn_session::repairs::{Salvaged, line_end, salvage};
use everturn_value::delta::{Delta, Path};
use everturn_value::document::Style;
use everturn_value::tree::{Kind, Tree};

/// The records of a log, before anybody looks at what they say.
pub(super) struct Lines {
    pub(super) file: FilePath,
    /// What the file holds, if it is there.
    pub(super) before: Option<Vec<u8>>,
    texts: Vec<String>,
    /// How its lines end.
    pub(super) end: &'static str,
    /// How many places have something that is no record.
    bad: usize,
}

impl Lines {
    pub(super) fn read(campaign: &Campaign, file: CampaignFile) -> Result<Lines, CampaignError> {
        let file = campaign.file(file);
        let before = read_if_there(&campaign.store, &file)?;
        let bytes = before.as_deref().unwrap_or_default();
        let end = line_end(bytes);
        let Salvaged { texts, bad } = salvage(&file, bytes, is_record)?;
        Ok(Lines { file, before, texts, end, bad })
    }

    /// The records that are what this log should have, and how many others there are.
    fn parsed<R: Record>(&self) -> (Vec<(R, String)>, usize) {
        let mut aside = self.bad;
        let mut records = Vec::new();
        for text in &self.texts {
            let tree = Tree::parse(text.as_str()).map_err(|bad| bad.to_string());
            let place = Place { line: None, offset: 0, length: 0 };
            match tree.and_then(|tree| R::parse(tree, place)) {
                Ok(record) => records.push((record, text.clone())),
                Err(_) => aside += 1,
            }
        }
        (records, aside)
    }
}

/// Whether a value is a row or a change.
fn is_record(tree: &Tree) -> bool {
    let place = || Place { line: None, offset: 0, length: 0 };
    TurnRow::parse(tree.clone(), place()).is_ok() || Change::parse(tree.clone(), place()).is_ok()
}

/// A change that is still there.
pub(super) struct Noted {
    pub(super) change: Change,
    pub(super) text: String,
}

/// The changes in their order, each turn with one at most.
pub(super) struct Changes {
    pub(super) all: Vec<Noted>,
    /// How many places of the log have something else.
    pub(super) aside: usize,
}

pub(super) fn changes(lines: &Lines, rows: &Lines) -> Changes {
    let (mut found, mut aside) = lines.parsed::<Change>();
    let known: BTreeSet<u64> = rows.parsed::<TurnRow>().0.iter().map(|(row, _)| row.turn).collect();
    let own = |change: &Change| Said { number: change.turn, hint: change.named };
    let turns = found.iter().map(|(change, _)| change).filter(|change| change.kind.has_row());
    let said: Vec<Said> = turns.map(own).collect();
    let mut numbers = settle(&said, 0, &|turn| known.contains(&turn)).into_iter().peekable();
    let mut last = 0;
    for (change, _) in &mut found {
        if change.kind.has_row() {
            change.turn = numbers.next().unwrap_or(change.turn);
            last = change.turn;
        } else if let Some(named) = change.named.filter(|named| *named != change.turn) {
            // It is of the turn before it, unless another program has played since.
            let next = numbers.peek().copied().unwrap_or(u64::MAX);
            let fits = |turn: u64| turn >= last && turn < next && known.contains(&turn);
            change.turn = if fits(change.turn) || !fits(named) { change.turn } else { named };
        }
    }
    let first = found.iter().map(|(change, _)| change).find(|change| change.kind.has_row());
    let first = first.map(|change| change.turn);
    if let (Some((base, _)), Some(first)) = (found.first_mut(), first)
        && base.kind == ChangeKind::Base
        && base.turn >= first
    {
        base.turn = first.saturating_sub(1);
    }
    found.sort_by_key(|(change, _)| (change.turn, !change.kind.has_row()));
    let mut all: Vec<Noted> = Vec::new();
    for (change, text) in found {
        let is_again = all.last().is_some_and(|Noted { change: before, .. }| {
            let same_turn = change.kind.has_row() && before.turn == change.turn;
            change.says_the_same(before) || same_turn && before.kind.has_row()
        });
        if is_again {
            aside += 1;
        } else {
            all.push(Noted { change, text });
        }
    }
    Changes { all, aside }
}

/// A row that is still there, or was made.
pub(super) struct Row {
    pub(super) tree: Tree,
    /// The bytes that it has now, if they stay.
    text: Option<String>,
}

impl Row {
    pub(super) fn new(tree: Tree) -> Row {
        Row { tree, text: None }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.tree.at(&[OWN, "lost"]).is_some()
    }

    /// Gives a part another value.
    pub(super) fn set(&mut self, path: &[&str], value: Tree) {
        let mut tree = self.tree.clone();
        let done = Delta::set(Path::array(path.iter().copied()), value).apply_in_place(&mut tree);
        if done.is_ok() {
            (self.tree, self.text) = (tree, None);
        }
    }

    /// Notes that a part of it was damaged.
    pub(super) fn mark(&mut self) {
        self.set(&[OWN, "mended"], tree_of(&true));
    }

    pub(super) fn line(&self) -> String {
        self.text.clone().unwrap_or_else(|| self.tree.to_text(&Style::SPACED_ASCII))
    }
}

/// The rows by their turns.
pub(super) struct Rows {
    pub(super) by_turn: BTreeMap<u64, Row>,
    /// How many places of the log have something that is no row, or a row that is there already.
    pub(super) aside: usize,
    /// How many rows got a part that they lacked, or another row.
    pub(super) mended: usize,
}

pub(super) fn rows(lines: &Lines, changes: &Changes) -> Rows {
    let (mut found, mut aside) = lines.parsed::<TurnRow>();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let all = found.len();
    found.retain(|(_, text)| seen.insert(text.clone()));
    aside += all - found.len();
    let turns = changes.all.iter().filter(|noted| noted.change.kind.has_row());
    let known: BTreeSet<u64> = turns.map(|noted| noted.change.turn).collect();
    let said: Vec<Said> =
        found.iter().map(|(row, _)| Said { number: row.turn, hint: None }).collect();
    let numbers = settle(&said, 0, &|turn| known.contains(&turn));
    let mut rows = Rows { by_turn: BTreeMap::new(), aside, mended: 0 };
    for ((found, text), number) in found.iter().zip(numbers) {
        let mut row = Row { tree: found.row.clone(), text: Some(text.clone()) };
        if number != found.turn {
            row.set(&["turn_id"], tree_of(&turn_id(number)));
            row.mark();
        }
        complete(&mut row);
        rows.mended += usize::from(row.text.is_none());
        match rows.by_turn.get_mut(&number) {
            Some(first) => {
                let also = first.tree.len_at(&[OWN, "also"]);
                if also.is_none() {
                    first.set(&[OWN, "also"], tree_of(&[(); 0]));
                }
                first.set(&[OWN, "also", &also.unwrap_or(0).to_string()], row.tree);
                rows.mended += 1;
            }
            None => drop(rows.by_turn.insert(number, row)),
        }
    }
    rows
}

/// Gives a row what it lacks.
fn complete(row: &mut Row) {
    for (part, wanted) in ROW_PARTS {
        if row.tree.at(&[part]).is_some_and(|found| found.kind() == *wanted) {
            continue;
        }
        let nothing = match wanted {
            Kind::String => tree_of(""),
            Kind::Array => tree_of(&[(); 0]),
            _ => Tree::object(),
        };
        row.set(&[part], nothing);
        row.mark();
    }
}
