//! Reports the result of commands that write to a session.

use everturn::format::{SessionError, error_chain};
use everturn::model::AppendOutcome;

use crate::context::Context;
use crate::error::EarlyExit;
use crate::findings::print_findings;
use crate::json::JsonObject;
use crate::output::Output;

/// Reports an outcome that is durable now; `what` is the kind of item that was created, if it has an ID.
pub(crate) fn report_outcome(
    context: &mut Context,
    session: &str,
    written: &AppendOutcome,
    what: &str,
) -> Result<(), EarlyExit> {
    if context.json {
        let mut object = JsonObject::new().text("session", session).number("turn", written.turn);
        if let Some(id) = &written.id {
            object = object.text(what, id);
        }
        writeln!(context.out, "{}", object.close())?;
    } else {
        let id = written.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
        writeln!(context.out, "{session} turn {}{id}", written.turn)?;
    }
    // The output acknowledges a durable change, so it must not stay in a buffer.
    context.out.flush()?;
    print_findings(&written.findings);
    if let Some(deferred_error) = &written.deferred_error {
        Output::status(&format!(
            "the turn is stored, but derived data is not written yet: {deferred_error}"
        ));
    }
    Ok(())
}

/// Reports that an editor could not be closed after its turns were stored: they are durable, so the command has done
/// what it was asked for.
pub(crate) fn report_close(closed: Result<(), SessionError>) {
    if let Err(error) = closed {
        let reason = error_chain(&error);
        Output::status(&format!(
            "the turn is stored, but derived data is not written yet: {reason}"
        ));
    }
}
