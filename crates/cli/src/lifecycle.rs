//! Lifecycle transitions of sessions.

use std::time::Duration;

use everturn::archive::PackProgress as Bytes;
use everturn::format::{Operation, SessionError, Transition};

use crate::context::{Context, next_command};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;
use crate::progress::Progress;
use crate::retry::retry_while_busy;
use crate::settings;

/// Runs long work with a progress line in bytes.
pub(crate) fn with_byte_progress<T>(
    doing: &'static str,
    work: impl FnOnce(&mut dyn FnMut(Bytes)) -> T,
) -> T {
    let line = Progress::new(doing);
    let done = work(&mut |bytes| line.bytes(bytes.done, bytes.total));
    line.finish();
    done
}

/// Applies a transition to the session `name`, and reports its new path.
pub(crate) fn transition(
    context: &mut Context,
    name: &str,
    stage: Transition,
) -> Result<Exit, EarlyExit> {
    transition_within(Duration::ZERO, context, name, stage)
}

/// As [`transition`]; waits for other processes that are writing to the session.
pub(crate) fn transition_within(
    wait: Duration,
    context: &mut Context,
    name: &str,
    stage: Transition,
) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(name)?;
    let store = found.root.store();
    let staged = with_byte_progress(stage.verb(), |progress| {
        let lifecycle = found.layout.lifecycle(Operation::Transition(stage))?;
        retry_while_busy(wait, || {
            lifecycle.transition(&store, &found.place, stage, settings::now(), &mut *progress)
        })
    });
    let staged = staged.map_err(|error| match error {
        SessionError::Taken { .. } if found.layout.archived(&found.place).is_none() => {
            let (id, path) = (&found.place.id, &found.place.path);
            Error::new(Exit::Request, format!("session {id} is not archived; it is in {path}"))
        }
        error => found.failed(error),
    })?;
    let path = found.root.shown(&staged.session.path);
    if context.json {
        let mut answer = JsonObject::new().text("session", &staged.session.id).text("path", &path);
        if let Some(name) = &staged.trashed {
            answer = answer.text("trashed", name);
        }
        writeln!(context.out, "{}", answer.close())?;
    } else {
        let gone = staged.trashed.as_ref().filter(|_| stage == Transition::Trash);
        writeln!(context.out, "{}", gone.unwrap_or(&path))?;
    }
    context.out.flush()?;
    if let Some(name) = &staged.trashed {
        let restore = next_command(&format!("restore {name}"));
        Output::status(&format!("moved to trash; undo with: {restore}"));
    }
    if let Some(deferred_error) = &staged.deferred_error {
        Output::status(&format!("done, but a later step failed: {deferred_error}"));
    }
    found.root.close()?;
    Ok(Exit::Success)
}
