//! `everturn linggen session`: renames and clears sessions.

use everturn::format::{Feature, Operation};
use everturn::linggen::{LinggenWriter, SessionLocation, clear_messages};
use everturn::names::SessionId;
use serde_json::json;

use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::retry_linggen;
use crate::output::{Output, count_noun};
use crate::sessions::FoundSession;
use crate::settings;

/// Rename or clear a session of Linggen
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen session rename sess-1700000000-abc12345 'Fix login bug'
  everturn linggen session clear sess-1700000000-abc12345

Output with --json:
  rename  {"session":"sess-…","title":"Fix login bug"}
  clear   {"session":"sess-…","messages":12,"kept":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: SessionCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SessionCommand {
    /// Set the title of a session
    #[command(after_help = "\
Examples:
  everturn linggen session rename sess-1700000000-abc12345 'Fix login bug'")]
    Rename {
        /// The session: its ID, a path, or `latest`
        session: String,

        /// The title
        title: String,
    },
    /// Move all messages of a session to the trash
    #[command(after_help = "\
Examples:
  everturn linggen session clear sess-1700000000-abc12345")]
    Clear {
        /// The session: its ID, a path, or `latest`
        session: String,
    },
}

fn location(found: &FoundSession) -> Result<SessionLocation, Error> {
    found.layout.require(Feature::ClearMessages)?;
    found.editing(Operation::Write)?;
    Ok(SessionLocation { id: SessionId::parse(&found.place.id)?, dir: found.place.path.clone() })
}

/// Sets the title of a session.
pub(crate) fn rename(context: &mut Context, session: &str, title: &str) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(session)?;
    let (place, store) = (location(&found)?, found.root.store());
    retry_linggen(|| {
        let writer = LinggenWriter::open(&store, &place)?;
        writer.set_title(title)?;
        writer.release()
    })?;
    if context.json {
        let answer = json!({"session": found.place.id, "title": title});
        writeln!(context.out, "{answer}")?;
    }
    found.root.close()?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        SessionCommand::Rename { session, title } => {
            return rename(context, session, title);
        }
        SessionCommand::Clear { session } => {
            let found = context.find_to_write(session)?;
            let (place, store) = (location(&found)?, found.root.store());
            let cleared = retry_linggen(|| clear_messages(&store, &place, settings::now()))?;
            let kept = cleared.kept.as_ref().map(|kept| found.root.shown(kept));
            if context.json {
                let id = &found.place.id;
                let answer = json!({"session": id, "messages": cleared.messages, "kept": kept});
                writeln!(context.out, "{answer}")?;
            } else {
                let count = count_noun(cleared.messages, "message", "messages");
                let kept = kept.map_or_else(String::new, |kept| format!(" to {kept}"));
                Output::status(&format!("moved {count}{kept}"));
            }
            found.root.close()?;
        }
    }
    Ok(Exit::Success)
}
