//! `everturn edit`: edits, deletes or restores a message.

use everturn::chatlog::{self, ChatError, ChatWriter, ContentEdit};
use everturn::format::{Operation, SessionError};
use everturn::model::{AppendOutcome, Revision};
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::append::{attachment, parse_action};
use super::{Context, linggen};
use crate::context::next_command;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::report::report_outcome;
use crate::sessions::resolve_turn;
use crate::{input, settings};

/// Edit, delete or restore a message, or set the title of a session
///
/// The new text is read from stdin, and the old content is kept in the message's history. With
/// --action or --attach, the text is kept unless stdin contains a new one. A deleted message is moved
/// to the trash with its marks; --restore restores it. Titles can be set for Linggen sessions only.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn edit tale 12 < corrected.txt
  everturn edit tale 12 --attach map.png --action 'thought:Where am I?'
  everturn edit tale msg-012 --delete
  everturn edit tale --restore 20260101T100000Z-12
  everturn edit sess-1700000000-abc12345 --title 'Fix login bug'

Output with --json:
  {"session":"tale","turn":40,"id":"msg-012"}
  where turn is the last turn; after --delete, id is the name in the trash
  with --title: {"session":"sess-…","title":"Fix login bug"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// The message: its number, its ID, or a mark
    #[arg(required_unless_present_any = ["restore", "title"])]
    message: Option<String>,

    /// Move the message to the trash
    #[arg(long, conflicts_with = "restore")]
    delete: bool,

    /// Restore a deleted message, by its name in the trash
    #[arg(long, value_name = "NAME", conflicts_with = "message")]
    restore: Option<String>,

    /// An action to add, such as `emote:bows`; can be repeated
    #[arg(long, value_name = "KIND:TEXT", value_parser = parse_action,
        conflicts_with_all = ["delete", "restore", "title"])]
    action: Vec<(String, String)>,

    /// A file or URL to attach; can be repeated
    #[arg(long, value_name = "FILE", conflicts_with_all = ["delete", "restore", "title"])]
    attach: Vec<String>,

    /// Set the title of the session
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["message", "delete", "restore"])]
    title: Option<String>,
}

/// Reads text from stdin, without the final newline.
pub(super) fn read_text() -> Result<String, Error> {
    Ok(input::text("the text of the message")?.trim_end_matches(['\n', '\r']).to_owned())
}

/// Applies a revision to a message of a session.
pub(super) fn revise(
    context: &mut Context,
    session: &str,
    message: Option<&str>,
    how: impl FnOnce(u64) -> Result<Revision, Error>,
) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(session)?;
    let store = found.root.store();
    let editor = found.editing(Operation::Write)?.edit(&store, &found.place);
    let mut editor = editor.map_err(|error| found.failed(error))?;
    let turn = match message {
        Some(message) => {
            let reader = found.layout.open(&store, &found.place);
            resolve_turn(&found, &*reader.map_err(|error| found.failed(error))?, message)?
        }
        None => 0,
    };
    let how = how(turn)?;
    let written = editor.revise(&how, settings::now()).map_err(|error| found.failed(error))?;
    report_outcome(context, &found.place.id, &written, "id")?;
    if let (Revision::Delete { .. }, Some(name)) = (&how, &written.id) {
        let back = format!("edit {} --restore {name}", found.place.id);
        Output::status(&format!("moved to trash; undo with: {}", next_command(&back)));
    }
    editor.release().map_err(Error::from)?;
    found.root.close()?;
    Ok(Exit::Success)
}

/// Adds actions and attachments to a message of a chat log, and replaces its text if stdin has one.
fn add_content(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    if found.layout != chatlog::FORMAT {
        return Err(Error::from(found.layout.unsupported("actions and attachments")).into());
    }
    let failed = |error: ChatError| found.failed(SessionError::from(error));
    let tree = |value: &Value| {
        JsonTree::from_value(value)
            .map_err(|error| Error::new(Exit::Request, "invalid text").caused_by(error))
    };
    let action = |(kind, text): &(String, String)| tree(&json!({"type": kind, "text": text}));
    let text = input::optional_text()?;
    let text = text.trim_end_matches(['\n', '\r']);
    let new = ContentEdit {
        text: Some(text.to_owned()).filter(|text| !text.is_empty()),
        attachments: args
            .attach
            .iter()
            .map(|place| tree(&attachment(place)?))
            .collect::<Result<Vec<JsonTree>, Error>>()?,
        actions: args.action.iter().map(action).collect::<Result<Vec<JsonTree>, Error>>()?,
    };
    let store = found.root.store();
    let reader = found.layout.open(&store, &found.place).map_err(|error| found.failed(error))?;
    let turn = resolve_turn(&found, &*reader, args.message.as_deref().unwrap_or_default())?;
    let mut writer = ChatWriter::open(&store, &found.place.path).map_err(failed)?;
    let done = writer.edit_content(turn, &new, settings::now()).map_err(failed)?;
    let written = AppendOutcome {
        turn: writer.log().len(),
        id: Some(done.id).filter(|id| !id.is_empty()),
        findings: done.findings,
        deferred_error: done.deferred_error,
        ..AppendOutcome::default()
    };
    report_outcome(context, &found.place.id, &written, "id")?;
    writer.finish().map_err(failed)?;
    drop(reader);
    drop(store);
    found.root.close()?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if let Some(title) = &args.title {
        return linggen::session::rename(context, &args.session, title);
    }
    if !args.action.is_empty() || !args.attach.is_empty() {
        return add_content(args, context);
    }
    let restore = args.restore.clone();
    let delete = args.delete;
    revise(context, &args.session, args.message.as_deref(), |turn| match restore {
        Some(name) => Ok(Revision::Restore { name }),
        None if delete => Ok(Revision::Delete { turn }),
        None => Ok(Revision::Edit { turn, text: read_text()? }),
    })
}
