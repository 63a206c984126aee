//! Playing a campaign.
//!
//! `console -> line -> Game -> Page -> console`: what a line leads to is decided without a terminal, and the
//! terminal decides nothing.

mod console;
mod game;
mod guide;
mod map;
mod page;
mod told;
mod voice;
mod words;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use everturn::campaign::{CampaignWriter, Embedded};
use everturn::store::Store;
use signal_hook::consts::SIGINT;

use self::console::{Console, Heard};
use self::game::{Game, Next};
use self::guide::Guide;
use self::page::{Look, Page};
use self::voice::Voice;
use crate::commands::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::json::Object;
use crate::settings;

pub(crate) use self::voice::Distant;

/// Who tells the story.
pub(crate) enum Teller<'n> {
    Embedded(&'n mut Embedded),
    Distant(&'n mut Distant),
}

/// What is played, and by whom.
pub(crate) struct Table<'n> {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) campaign: CampaignWriter,
    pub(crate) teller: Teller<'n>,
    /// The command that goes on with the campaign.
    pub(crate) again: String,
}

/// A flag that Ctrl-C raises from now on, instead of ending the program: while a turn is under way on a terminal, it must
/// not. In a pipe it ends the program as ever; a turn is stored whole or not at all.
pub(crate) fn watch_ctrl_c() -> Result<Arc<AtomicBool>, Error> {
    let pressed = Arc::new(AtomicBool::new(false));
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        signal_hook::flag::register(SIGINT, Arc::clone(&pressed)).map_err(failed)?;
    }
    Ok(pressed)
}

fn failed(cause: std::io::Error) -> Error {
    Error::new(Exit::Request, "the terminal failed").caused_by(cause)
}

/// Lets somebody play until it is enough.
pub(crate) fn play(table: Table<'_>, context: &mut Context) -> Result<Exit, Stop> {
    let Table { store, campaign, teller, again } = table;
    let mut console = Console::open().map_err(failed)?;
    let (narrator, embedded): (&mut dyn Voice, Option<Embedded>) = match teller {
        Teller::Embedded(embedded) => {
            let own = *embedded;
            (embedded, Some(own))
        }
        Teller::Distant(distant) => {
            let live = console.is_terminal() && !context.json;
            distant.show_on(live.then(|| console.screen()));
            (distant, None)
        }
    };
    let guide = Guide::new(embedded);
    let (clock, unanswered) = (settings::now as fn() -> jiff::Timestamp, None);
    let mut game = Game { store, campaign, narrator, guide, clock, unanswered, failures: 0 };
    if console.is_terminal() {
        game.history()?.iter().for_each(|line| console.remember(line));
    }
    let outcome = converse(&mut game, &mut console, context);
    let (turn, failures) = (game.campaign.turn(), game.failures);
    let released = game.campaign.release().map_err(Error::from);
    outcome?;
    released?;
    if !context.json {
        let mut page = Page::default();
        page.say(Look::Plain, "");
        page.say(Look::Faint, format!("Saved up to turn {turn}. {again} goes on."));
        show(&page, &console, context)?;
    }
    let spoiled = failures > 0 && !console.is_terminal();
    Ok(if spoiled { Exit::Request } else { Exit::Fine })
}

fn show(page: &Page, console: &Console, context: &mut Context) -> Result<(), Stop> {
    context.out.write_all(page.render(console.screen()).as_bytes())?;
    // A player sees what has happened before anything else does.
    context.out.flush()
}

/// The line above the prompt, and in a pipe also the line that was read, so that it reads like a game.
fn echo(
    game: &Game<'_>,
    line: Option<&str>,
    console: &Console,
    context: &mut Context,
) -> Result<(), Stop> {
    let mut page = Page::default();
    if let Some(line) = line {
        page.say(Look::Strong, format!("> {}", told::shortened(line.trim())));
    } else {
        page.say(Look::Plain, "");
        page.say(Look::Faint, game.status()?);
    }
    show(&page, console, context)
}

fn converse(game: &mut Game<'_>, console: &mut Console, context: &mut Context) -> Result<(), Stop> {
    if !context.json {
        let mut page = Page::default();
        game.opening(&mut page)?;
        show(&page, console, context)?;
    }
    let mut leaving = false;
    loop {
        if !context.json {
            echo(game, None, console, context)?;
        }
        let mut page = Page::default();
        let (mut next, failures) = (Next::Ask, game.failures);
        match console.ask().map_err(failed)? {
            Heard::End => next = Next::Leave,
            Heard::Interrupted if std::mem::replace(&mut leaving, true) => next = Next::Leave,
            Heard::Interrupted => {
                page.say(Look::Faint, "Ctrl-C once more leaves, and so does /quit.");
            }
            Heard::Unfit(why) => {
                game.failures += 1;
                page.say(Look::Alarm, why);
            }
            Heard::Line(line) => {
                leaving = false;
                console.remember(&line);
                if console.is_terminal() {
                    context.out.write_all(b"\n")?;
                    context.out.flush()?;
                } else if !context.json {
                    echo(game, Some(&line), console, context)?;
                }
                next = game.line(&line, &mut page)?;
            }
        }
        if next == Next::Leave {
            return Ok(());
        }
        if context.json {
            let screen = page::Screen { width: usize::MAX, colour: false };
            let ok = if game.failures == failures { "true" } else { "false" };
            let answer = Object::new().raw("ok", ok).number("turn", game.campaign.turn());
            let answer = answer.text("text", page.render(screen).trim_end());
            writeln!(context.out, "{}", answer.close())?;
            context.out.flush()?;
        } else {
            show(&page, console, context)?;
        }
    }
}
