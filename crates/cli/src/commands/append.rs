//! `everturn append`: appends turns to a session.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use everturn::format::{SessionEditor, SessionError};
use everturn::model::AppendOutcome;
use everturn::store::StoreError;
use everturn::tokens::Vocabulary;
use serde_json::{Map, Value, json};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::report::{report_close, report_outcome};
use crate::sessions::FoundSession;
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
  everturn append tale --type npc --name Luna --action emote:bows < words.txt
  everturn append tale --type protagonist --attach map.png < words.txt

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

    /// An action of the speaker, such as `emote:bows`, `action:draws a sword` or `thought:Why?`; can be repeated
    #[arg(long, value_name = "KIND:TEXT", requires = "kind", value_parser = parse_action)]
    action: Vec<(String, String)>,

    /// A file or URL that belongs to the message; can be repeated
    #[arg(long, value_name = "FILE", requires = "kind")]
    attach: Vec<String>,

    /// Count the tokens of the text, and note them in the message
    #[arg(long, requires = "kind")]
    count_tokens: bool,
}

pub(super) fn parse_action(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((kind @ ("emote" | "action" | "thought"), words)) if !words.trim().is_empty() => {
            Ok((kind.to_owned(), words.trim().to_owned()))
        }
        _ => Err("an action is emote:TEXT, action:TEXT or thought:TEXT".to_owned()),
    }
}

/// Returns an attachment of a message; a file must exist.
pub(super) fn attachment(place: &str) -> Result<Value, Error> {
    let is_url = ["http:", "https:", "data:"].iter().any(|scheme| place.starts_with(scheme));
    let path = Path::new(place);
    if !is_url {
        let cannot = |cause: std::io::Error| {
            Error::new(Exit::Request, format!("cannot attach {place}")).caused_by(cause)
        };
        path.canonicalize().map_err(cannot)?;
    }
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
    let kind = match end.as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "bmp" | "svg" => "image",
        "mp3" | "ogg" | "opus" | "wav" | "flac" | "m4a" => "audio",
        _ if place.starts_with("data:image/") => "image",
        _ if place.starts_with("data:audio/") => "audio",
        _ => "file",
    };
    let name = path.file_stem().filter(|_| !place.starts_with("data:"));
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(json!({"type": kind, "url": place, "description": name}))
}

impl Args {
    /// Returns the message of a chat log that the options describe.
    fn message(&self, kind: &str) -> Result<String, Error> {
        if self.action.is_empty() && self.attach.is_empty() {
            let text = super::edit::read_text()?;
            let message = json!({"type": kind, "name": self.name, "text": text});
            return Ok(self.with_tokens(message, &text).to_string());
        }
        let text = input::optional_text()?;
        let text = text.trim_end_matches(['\n', '\r']);
        let actions = self.action.iter().map(|(kind, text)| json!({"type": kind, "text": text}));
        let mut content = Map::from_iter([("text".to_owned(), json!(text))]);
        let attachments = self.attach.iter().map(|place| attachment(place));
        let attachments = attachments.collect::<Result<Vec<Value>, Error>>()?;
        if !attachments.is_empty() {
            content.insert("attachments".to_owned(), json!(attachments));
        }
        let actions: Vec<Value> = actions.collect();
        if !actions.is_empty() {
            content.insert("actions".to_owned(), json!(actions));
        }
        let message = json!({"type": kind, "name": self.name, "content": content});
        Ok(self.with_tokens(message, text).to_string())
    }

    /// Returns the message with the number of its tokens, if they are to be counted. The vocabulary takes longer to load
    /// than a message to save.
    fn with_tokens(&self, mut message: Value, text: &str) -> Value {
        if let (Value::Object(members), true) = (&mut message, self.count_tokens) {
            let tokens = Vocabulary::default().count(text);
            members.insert("metadata".to_owned(), json!({"tokens": tokens}));
        }
        message
    }
}

/// A session that is open for appending. It is opened again if another program has replaced its files.
struct OpenSession<'a> {
    args: &'a Args,
    opened: Option<(FoundSession, Box<dyn SessionEditor>)>,
}

impl OpenSession<'_> {
    fn wait(&self) -> Duration {
        Duration::from_secs(self.args.wait.into())
    }

    fn editor(&mut self, context: &Context) -> Result<&mut dyn SessionEditor, Error> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => context.edit_within(&self.args.session, self.wait())?,
        };
        Ok(&mut *self.opened.insert(opened).1)
    }

    /// Appends one turn. A program that saves by replacing the file may do so at any moment, so this is tried again for
    /// as long as the command waits for other writers; a failed attempt has changed nothing.
    fn append(&mut self, context: &Context, text: &str) -> Result<(String, AppendOutcome), Error> {
        let start = Instant::now();
        loop {
            let (wait, lines) = (self.wait(), self.args.lines);
            let editor = self.editor(context)?;
            let id = editor.session_ref().id;
            let now = settings::now();
            let stored = match lines {
                true => editor.append(text, now),
                false => editor.append_last(text, now),
            };
            match stored {
                Ok(written) => return Ok((id, written)),
                Err(SessionError::Store(error))
                    if is_overtaken(&error) && start.elapsed() < wait =>
                {
                    self.opened = None;
                    thread::sleep(RETRY_PAUSE);
                }
                Err(error) => return Err(refused(error)),
            }
        }
    }
}

/// The delay before an append that another program has disturbed is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

fn is_overtaken(error: &StoreError) -> bool {
    matches!(error, StoreError::Changed { .. } | StoreError::Moved { .. } | StoreError::Overtaken)
}

fn append(
    args: &Args,
    session: &mut OpenSession<'_>,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    if !args.lines {
        let text = match &args.kind {
            Some(kind) => args.message(kind)?,
            None => input::text("a JSON object")?,
        };
        let (id, written) = session.append(context, &text)?;
        return report_outcome(context, &id, &written, "id");
    }
    for line in input::lines() {
        let (number, line) = line?;
        let failed = |error: Error| error.at(&format!("line {number} of the input"));
        let (id, written) = session.append(context, &line).map_err(failed)?;
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
    let mut session = OpenSession { args, opened: None };
    session.editor(context)?;
    let done = append(args, &mut session, context);
    let Some((found, editor)) = session.opened else { return done.map(|()| Exit::Success) };
    // Turns stored before a bad line are completed as if that line did not exist.
    let closed = editor.close(settings::now());
    done?;
    report_close(closed);
    found.root.close()?;
    Ok(Exit::Success)
}
