//! Plays a campaign.
//!
//! `console -> line -> PlaySession -> PlayPage -> console`: the game logic needs no terminal, and the terminal
//! contains no game logic.

mod completion;
mod console;
mod game;
mod guide;
mod live_narrator;
mod log_view;
mod map;
mod page;
mod player_input;
mod recall;
mod wizard;

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use everturn::campaign::{CampaignWriter, EmbeddedNarrator};
use everturn::store::Store;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::console::{Console, ConsoleInput};
use self::game::{NextStep, PlaySession};
use self::guide::Guide;
use self::live_narrator::LiveNarrator;
use self::page::{BlockStyle, PlayPage};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::settings;

pub(crate) use self::live_narrator::RemoteNarrator;
pub(crate) use self::recall::Recall;
pub(crate) use self::wizard::{StoryPreset, ask_for_campaign};

/// The narrator of the game.
pub(crate) enum PlayNarrator<'n> {
    Embedded(&'n mut EmbeddedNarrator),
    Distant(&'n mut RemoteNarrator),
}

/// A campaign and its narrator.
pub(crate) struct PlaySetup<'n> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) campaign: CampaignWriter,
    pub(crate) narrator: PlayNarrator<'n>,
    pub(crate) recall: Recall,
    /// The command that continues the campaign.
    pub(crate) again: String,
}

/// Returns a flag that Ctrl-C sets instead of ending the program, so that it cannot interrupt a turn at a terminal. In
/// a pipe it ends the program as usual; a turn is stored completely or not at all. Other signals end the program after
/// the terminal has got its settings back.
pub(crate) fn watch_signals() -> Result<Arc<AtomicBool>, Error> {
    let pressed = Arc::new(AtomicBool::new(false));
    if console::at_terminal() {
        signal_hook::flag::register(SIGINT, Arc::clone(&pressed)).map_err(failed)?;
        restore_terminal_on(&[SIGTERM, SIGHUP]).map_err(failed)?;
    }
    Ok(pressed)
}

/// Restores the current settings of the terminal when one of these signals comes, and then ends the program by it.
fn restore_terminal_on(signals: &[i32]) -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    for signal in signals {
        let (mut receiver, sender) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(*signal, sender)?;
        let (before, signal) = (before.clone(), *signal);
        std::thread::spawn(move || {
            let mut byte = [0];
            if receiver.read_exact(&mut byte).is_ok() {
                // The program ends in any case.
                tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
                signal_hook::low_level::emulate_default_handler(signal).ok();
            }
        });
    }
    Ok(())
}

fn failed(cause: io::Error) -> Error {
    Error::new(Exit::Request, "the terminal failed").caused_by(cause)
}

/// Plays until the user quits.
pub(crate) fn play(table: PlaySetup<'_>, context: &mut Context) -> Result<Exit, EarlyExit> {
    let PlaySetup { store, campaign, narrator: teller, recall, again } = table;
    let mut console = Console::open().map_err(failed)?;
    let (narrator, embedded): (&mut dyn LiveNarrator, Option<EmbeddedNarrator>) = match teller {
        PlayNarrator::Embedded(embedded) => {
            let own = *embedded;
            (embedded, Some(own))
        }
        PlayNarrator::Distant(distant) => {
            let live = console.is_terminal() && !context.json;
            distant.show_on(live.then(|| console.screen()));
            (distant, None)
        }
    };
    let guide = Guide::new(embedded);
    let (clock, unanswered) = (settings::now as fn() -> jiff::Timestamp, None);
    let mut game = PlaySession {
        store,
        campaign,
        narrator,
        guide,
        recall,
        clock,
        unanswered,
        failures: 0,
        rolls: 0,
    };
    if console.is_terminal() {
        game.history()?.iter().for_each(|line| console.remember(line));
    }
    game.begin()?;
    let outcome = converse(&mut game, &mut console, context);
    let (turn, failures) = (game.campaign.turn(), game.failures);
    let released = game.campaign.release().map_err(Error::from);
    outcome?;
    released?;
    if !context.json {
        let mut page = PlayPage::default();
        page.say(BlockStyle::Plain, "");
        page.say(BlockStyle::Faint, format!("Saved up to turn {turn}. Continue with: {again}"));
        show(&page, &console, context)?;
    }
    let spoiled = failures > 0 && !console.is_terminal();
    Ok(if spoiled { Exit::Request } else { Exit::Success })
}

fn show(page: &PlayPage, console: &Console, context: &mut Context) -> Result<(), EarlyExit> {
    context.out.write_own(page.render(console.screen()).as_bytes())?;
    // The player sees the result before anything else happens.
    context.out.flush()
}

/// Prints the status line, and in a pipe also the line that was read, so that the output reads like a game.
fn echo(
    game: &PlaySession<'_>,
    line: Option<&str>,
    console: &Console,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    let mut page = PlayPage::default();
    if let Some(line) = line {
        page.say(BlockStyle::Strong, format!("> {}", log_view::shortened(line.trim())));
    } else {
        page.say(BlockStyle::Plain, "");
        page.say(BlockStyle::Faint, game.status()?);
    }
    show(&page, console, context)
}

fn converse(
    game: &mut PlaySession<'_>,
    console: &mut Console,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    if !context.json {
        let mut page = PlayPage::default();
        game.opening(&mut page)?;
        show(&page, console, context)?;
    }
    let mut leaving = false;
    loop {
        if !context.json {
            echo(game, None, console, context)?;
        }
        if console.is_terminal() {
            console.complete_names(game.known_names()?);
        }
        let mut page = PlayPage::default();
        let (mut next, failures) = (NextStep::Ask, game.failures);
        match console.ask().map_err(failed)? {
            ConsoleInput::End => next = NextStep::Leave,
            ConsoleInput::Interrupted if std::mem::replace(&mut leaving, true) => {
                next = NextStep::Leave;
            }
            ConsoleInput::Interrupted => {
                page.say(BlockStyle::Faint, "Press Ctrl-C again or enter /quit to leave.");
            }
            ConsoleInput::Unfit(why) => {
                game.failures += 1;
                page.say(BlockStyle::Alarm, why);
            }
            ConsoleInput::Line(line) => {
                leaving = false;
                console.remember(&line);
                if console.is_terminal() {
                    context.out.write_own(b"\n")?;
                    context.out.flush()?;
                } else if !context.json {
                    echo(game, Some(&line), console, context)?;
                }
                next = game.line(&line, &mut page)?;
            }
        }
        if next == NextStep::Leave {
            return Ok(());
        }
        if context.json {
            let screen = page::ScreenOptions { width: usize::MAX, colour: false };
            let ok = if game.failures == failures { "true" } else { "false" };
            let answer = JsonObject::new().raw("ok", ok).number("turn", game.campaign.turn());
            let answer = answer.text("text", page.render(screen).trim_end());
            writeln!(context.out, "{}", answer.close())?;
            context.out.flush()?;
        } else {
            show(&page, console, context)?;
        }
    }
}
