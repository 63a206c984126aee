//! `everturn pin`: pins a session, or lists pinned sessions.

use everturn::retention::{list_pins, pin_session};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;
use crate::{server_roots, settings};

/// Pin a session, or list pinned sessions
///
/// `everturn retention` never moves a pinned session to the trash. Pins are stored outside the
/// session, below .everturn/pins, and survive pausing, completing and archiving.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn pin session-abc123
  everturn pin

With --json, one per line:
  {"session":"session-abc123","layout":"game","time":"…"}"#)]
pub(crate) struct Args {
    /// The session; without it, list the pinned sessions
    session: Option<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if let Some(session) = &args.session {
        let found = context.find_to_write(session)?;
        let store = found.root.store();
        let is_new = pin_session(&store, found.layout, &found.place, settings::now());
        let is_new = is_new.map_err(|error| found.failed(error))?;
        drop(store);
        let id = found.place.id.clone();
        found.root.close()?;
        let outcome = if is_new { "is pinned" } else { "was already pinned" };
        Output::status(&format!("{id} {outcome}"));
        return Ok(Exit::Success);
    }
    // A home that does not exist yet has no pins.
    if context.named_root().is_none() && !server_roots::may_exist(&context.root_dir()?) {
        return Ok(Exit::Success);
    }
    let root = context.open_root()?;
    for pin in list_pins(&root.store()).map_err(Error::from)? {
        if context.json {
            let object =
                JsonObject::new().text("session", &pin.session).text("layout", &pin.layout);
            writeln!(context.out, "{}", object.time("time", pin.time).close())?;
        } else {
            writeln!(context.out, "{}", pin.session)?;
        }
    }
    Ok(Exit::Success)
}
