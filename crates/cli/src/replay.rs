//! Steps through a session on a terminal.
//!
//! `keys -> ReplayPlayer (pure) -> screen (pure) -> terminal`: the screen after each key is decided without a
//! terminal, and the terminal decides nothing.

mod player;
mod screen;
mod terminal;

use everturn::format::{SessionError, SessionReader};

use crate::changes;
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::escape_controls;
use crate::sessions::FoundSession;

pub(crate) use player::{ReplayPlayer, ReplaySpeed};
pub(crate) use terminal::{Terminal, TerminalInput, restore};

use player::ReplayKey;
use screen::{ReplayPage, screen};

/// Steps through the turns until the user quits.
pub(crate) fn play(
    mut player: ReplayPlayer,
    found: &FoundSession,
    reader: &dyn SessionReader,
    context: &mut Context,
) -> Result<Exit, EarlyExit> {
    let failed = |cause| Error::new(Exit::Request, "the terminal failed").caused_by(cause);
    context.out.flush()?;
    let terminal = Terminal::take().map_err(failed)?;
    let mut page = read_page(reader, player.turn()).map_err(|error| found.failed(error))?;
    loop {
        let size = terminal.size().map_err(failed)?;
        let lines = screen(&mut player, &page, &found.place.id, size);
        context.out.write_own(terminal.picture(&lines).as_bytes())?;
        context.out.flush()?;
        let before = player.turn();
        match terminal.wait(player.patience()).map_err(failed)? {
            TerminalInput::Key(key) => player.press(key),
            TerminalInput::Nothing => player.tick(),
            TerminalInput::Redraw => {}
            TerminalInput::End => player.press(ReplayKey::Quit),
        }
        if player.is_over() {
            drop(terminal);
            return Ok(Exit::Success);
        }
        if player.turn() != before {
            page = read_page(reader, player.turn()).map_err(|error| found.failed(error))?;
        }
    }
}

/// Reads the page of a turn.
fn read_page(reader: &dyn SessionReader, turn: u64) -> Result<ReplayPage, SessionError> {
    let mut page = ReplayPage::default();
    let mut entries = reader.entries(turn..=turn)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if entry.kind.is_bookkeeping() {
            continue;
        }
        let time = entry.time.map_or_else(String::new, |time| format!("  {time}"));
        let heading = escape_controls(&format!("{}{time}", entry.speaker)).replace('\n', " ");
        page.entries.push((heading, escape_controls(entry.readable_text().trim_end())));
    }
    let mut changed = reader.changes(turn..=turn)?;
    while let Some(change) = changed.next() {
        page.changes.push(changes::line(&change?));
    }
    let findings = [entries.take_findings(), changed.take_findings()].concat();
    page.findings = findings.iter().map(ToString::to_string).collect();
    Ok(page)
}
