//! `everturn replay`: replays a session turn by turn.

use std::io::{self, IsTerminal};

use everturn::finding::Finding;
use everturn::format::SessionReader;
use everturn::model::{Entry, StateChange};

use super::{Context, show};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::output::Output;
use crate::sessions::FoundSession;
use crate::turns::TurnRange;
use crate::{changes, replay};

/// Step through a session turn by turn
///
/// On a terminal, keys step forward and back, start automatic playback, and change its speed; they
/// are shown at the bottom. Otherwise the turns are printed one after another.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn replay latest
  everturn replay session-abc123 --from 100 --speed 0.5
  everturn replay latest | less

A turn with --json:
  {"turn":7,"entries":[{…}],"changes":[{…}]}
  on one line, with entries as show and changes as diff print them."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The turn to start with; default: the first turn
    #[arg(long, value_name = "N")]
    from: Option<u64>,

    /// Play automatically at this number of turns per second
    #[arg(long, value_name = "X", value_parser = replay::ReplaySpeed::parse)]
    speed: Option<replay::ReplaySpeed>,

    /// Follow a branch, by its ID or a prefix of it; `everturn branches` lists them
    #[arg(long, value_name = "ID")]
    branch: Option<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, reader) = context.read_branch(&args.session, args.branch.as_deref())?;
    let all = reader.turns().map_err(|error| found.failed(error))?;
    let turns = show::within(&TurnRange { first: args.from, last: None }, &all)?;
    if turns.is_empty() {
        Output::status(&format!("session {} has no turns yet", found.place.id));
        return Ok(Exit::Success);
    }
    let interactive = !context.json && io::stdout().is_terminal() && io::stdin().is_terminal();
    if interactive {
        let first = all.start() + 1;
        let player = replay::ReplayPlayer::new(first, *all.end(), *turns.start(), args.speed);
        return replay::play(player, &found, &*reader, context);
    }
    let mut frames = TurnFrames::open(&found, &*reader, *turns.start(), *turns.end())?;
    let mut exit = Exit::Success;
    let mut gap = "";
    while let Some((turn, entries, changes)) = frames.next()? {
        if context.json {
            writeln!(context.out, "{}", json(turn, &entries, &changes))?;
        } else {
            for entry in entries.iter().filter(|entry| !entry.kind.is_bookkeeping()) {
                write!(context.out, "{gap}{}", show::text(entry))?;
                gap = "\n";
            }
            if entries.is_empty() {
                writeln!(context.out, "{gap}[{turn}] changes only:")?;
                gap = "\n";
            }
            for change in &changes {
                writeln!(context.out, "  {}", changes::line(change))?;
            }
        }
        let findings = frames.take_findings();
        if !findings.is_empty() {
            context.out.flush()?;
            print_findings(&findings);
            exit = if exit == Exit::Success { exit_after(&findings) } else { exit };
        }
    }
    Ok(exit)
}

fn json(turn: u64, entries: &[Entry], changes: &[StateChange]) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    JsonObject::new()
        .number("turn", turn)
        .raw("entries", &list(entries.iter().map(|entry| show::json(entry, false)).collect()))
        .raw("changes", &list(changes.iter().map(changes::json).collect()))
        .close()
}

/// Combines turns with their entries and changes, reading both logs once.
struct TurnFrames<'r> {
    found: &'r FoundSession,
    entries: Box<dyn everturn::format::RecordStream<Item = Entry> + 'r>,
    changes: Box<dyn everturn::format::RecordStream<Item = StateChange> + 'r>,
    next_entry: Option<Entry>,
    next_change: Option<StateChange>,
    /// The last turn returned.
    last: u64,
}

type TurnFrame = (u64, Vec<Entry>, Vec<StateChange>);

impl<'r> TurnFrames<'r> {
    fn open(
        found: &'r FoundSession,
        reader: &'r dyn SessionReader,
        first: u64,
        last: u64,
    ) -> Result<TurnFrames<'r>, Error> {
        let entries = reader.entries(first..=last).map_err(|error| found.failed(error))?;
        let changes = reader.changes(first..=last).map_err(|error| found.failed(error))?;
        let mut frames =
            TurnFrames { found, entries, changes, next_entry: None, next_change: None, last: 0 };
        frames.next_entry = frames.entry()?;
        frames.next_change = frames.change()?;
        Ok(frames)
    }

    fn entry(&mut self) -> Result<Option<Entry>, Error> {
        self.entries.next().transpose().map_err(|error| self.found.failed(error))
    }

    fn change(&mut self) -> Result<Option<StateChange>, Error> {
        self.changes.next().transpose().map_err(|error| self.found.failed(error))
    }

    /// Returns the next turn with its entries and changes. A turn without entries has changes only.
    fn next(&mut self) -> Result<Option<TurnFrame>, Error> {
        let is_next = |entry: &mut Entry| {
            let change = self.next_change.as_ref();
            change.is_none_or(|change| entry.comes_before(change, self.last))
        };
        let first = self.next_entry.take_if(is_next);
        let change = self.next_change.as_ref().map(|change| change.turn);
        let Some(turn) = first.as_ref().map(|entry| entry.turn).or(change) else {
            return Ok(None);
        };
        let (mut entries, mut changes) = (Vec::new(), Vec::new());
        if let Some(first) = first {
            entries.push(first);
            self.next_entry = self.entry()?;
            while let Some(entry) = self.next_entry.take_if(|entry| entry.turn == turn) {
                entries.push(entry);
                self.next_entry = self.entry()?;
            }
        }
        while let Some(change) = self.next_change.take_if(|change| change.turn == turn) {
            changes.push(change);
            self.next_change = self.change()?;
        }
        self.last = turn;
        Ok(Some((turn, entries, changes)))
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        [self.entries.take_findings(), self.changes.take_findings()].concat()
    }
}
