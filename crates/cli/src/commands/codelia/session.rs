//! `everturn codelia session`: a session in the old form.

use everturn::codelia::{CodeliaHome, FORMAT, write_legacy_document};
use everturn::format::Operation;
use everturn::names::SessionId;
use serde_json::json;

use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// Write a session in the old form
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn codelia session downgrade 3f2a0c1e

Output with --json:
  {"session":"3f2a0c1e","path":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: DowngradeCommand,
}

#[derive(Debug, clap::Subcommand)]
enum DowngradeCommand {
    /// Write a session as one document, which old versions of Codelia can read
    ///
    /// The document is in sessions/state/. The log is kept and remains authoritative.
    #[command(after_help = "\
Examples:
  everturn codelia session downgrade 3f2a0c1e")]
    Downgrade {
        /// The session: its ID, a path, or `latest`
        session: String,
    },
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let DowngradeCommand::Downgrade { session } = &args.what;
    let found = context.find_to_write(session)?;
    if found.layout != FORMAT {
        return Err(Error::from(found.layout.unsupported("the old form")).into());
    }
    found.editing(Operation::Write)?;
    let id = SessionId::parse(&found.place.id).map_err(Error::from)?;
    let home = CodeliaHome::new(found.root.store());
    let file = write_legacy_document(&home, &id).map_err(Error::from)?;
    let path = found.root.shown(&file);
    match context.json {
        true => writeln!(context.out, "{}", json!({"session": id.as_str(), "path": path}))?,
        false => writeln!(context.out, "{path}")?,
    }
    drop(home);
    found.root.close()?;
    Ok(Exit::Success)
}
