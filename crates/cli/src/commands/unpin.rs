//! `everturn unpin`: unpins a session.

use everturn::retention::unpin_session;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;

/// Unpin a session
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn unpin session-abc123")]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION")]
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let store = found.root.store();
    let was = unpin_session(&store, found.layout, &found.place);
    let was = was.map_err(|error| found.failed(error))?;
    drop(store);
    let id = found.place.id.clone();
    found.root.close()?;
    if !was {
        return Err(Error::new(Exit::Request, format!("{id} is not pinned")).into());
    }
    Output::status(&format!("{id} is no longer pinned"));
    Ok(Exit::Success)
}
