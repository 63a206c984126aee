//! `everturn append`: appends turns to a session.

use std::time::Duration;

use everturn::format::{SessionEditor, SessionError};
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::report::{report_close, report_outcome};
use crate::{input, settings};

/// Append a turn or a message, read as JSON from stdin
///
/// A turn is stored completely or not at all, and the result is printed once the turn is durable.
/// With --lines, each input line is a turn, and its result is printed as soon as it is durable. The
/// first turn that cannot be stored ends the command; the turns before it are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn append latest < turn.json
  everturn append session-abc123 --lines --json < turns.jsonl
  everturn append tale --type narrator < narration.txt

A turn of a game:
  {"actor":"player",
   "actions":[{"type":"move","zone":"market"}],
   "events":[{"type":"move","description":"You walk to the market."}],
   "deltas":[{"scope":"player",
              "deltas":[{"op":"set","path":"location.zone","value":"market"}]}]}
  Scopes are world, player and scene; operations are set, delete, push, pull
  and increment. "narration" is the text for the reader. With "turnId", the
  append fails unless the turn gets this number. An event of type scene_start or
  scene_end starts or ends a scene. Other fields are kept, also in deltas.

A Codelia message:
  {"role":"user","content":"List the files."}
  or {"messages":[…]} to store several messages in one batch.

A Linggen message:
  {"content":"Fix the menu","from_id":"user","agent_id":"ling"}
  Only content is required; if it is not a string, it is stored as JSON. to_id,
  timestamp and is_observation are optional. Other fields are kept.

A message of a chat log:
  {"type":"npc","name":"Luna","text":"You came back."}
  or all of its fields: id, timestamp, type, sender, content, metadata. Types are
  system, narrator, protagonist, npc and ooc. In the text of a narrator,
  <tool:update id="…" value="…" reason="…"> and <tool:add …> change tools, and
  are removed from the text.

Output with --json:
  {"session":"session-abc123","turn":7}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// Read one turn per line
    #[arg(long)]
    lines: bool,

    /// The time to wait for another process that is writing to the session
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u16,

    /// Read the text of a message of this type, such as narrator
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "lines")]
    kind: Option<String>,

    /// The name of the speaker
    #[arg(long, value_name = "NAME", requires = "kind")]
    name: Option<String>,
}

fn append(
    args: &Args,
    editor: &mut dyn SessionEditor,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    let id = editor.session_ref().id;
    if !args.lines {
        let text = match &args.kind {
            Some(kind) => {
                let text = super::edit::read_text()?;
                json!({"type": kind, "name": args.name, "text": text}).to_string()
            }
            None => input::text()?,
        };
        let written = editor.append(&text, settings::now()).map_err(refused)?;
        return report_outcome(context, &id, &written, "id");
    }
    for line in input::lines() {
        let (number, line) = line?;
        let failed = |cause| refused(cause).at(&format!("line {number} of the input"));
        let written = editor.append(&line, settings::now()).map_err(failed)?;
        report_outcome(context, &id, &written, "id")?;
    }
    Ok(())
}

fn refused(cause: SessionError) -> Error {
    let bad_input = matches!(cause, SessionError::Request { .. });
    let error = Error::from(cause);
    if bad_input {
        error.hint("everturn append --help describes the fields of a turn")
    } else {
        error
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, mut editor) =
        context.edit_within(&args.session, Duration::from_secs(args.wait.into()))?;
    let done = append(args, &mut *editor, context);
    // Turns stored before a bad line are completed as if that line did not exist.
    let closed = editor.close(settings::now());
    done?;
    report_close(closed);
    found.root.close()?;
    Ok(Exit::Success)
}
