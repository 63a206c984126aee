//! Answers to commands that write: what became of the session.

use everturn::view::Written;

use crate::commands::Context;
use crate::error::Stop;
use crate::json::Object;
use crate::output::Output;
use crate::sessions::report;

/// Answers for something that is safe now; `what` is the kind of thing that was made, if it has an id.
pub(crate) fn answer(
    context: &mut Context,
    session: &str,
    written: &Written,
    what: &str,
) -> Result<(), Stop> {
    if context.json {
        let mut object = Object::new().text("session", session).number("turn", written.turn);
        if let Some(id) = &written.id {
            object = object.text(what, id);
        }
        writeln!(context.out, "{}", object.close())?;
    } else {
        let id = written.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
        writeln!(context.out, "{session} turn {}{id}", written.turn)?;
    }
    // The answer is a promise, and a promise that stays in a buffer helps nobody.
    context.out.flush()?;
    report(&written.findings);
    if let Some(overdue) = &written.overdue {
        Output::status(&format!(
            "the turn is safe, but what follows from it is not written yet: {overdue}"
        ));
    }
    Ok(())
}
