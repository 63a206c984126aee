//! `everturn scene`: starts, ends and lists scenes.

use everturn::delta::{Delta, DeltaPath};
use everturn::format::SessionError;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::report::{report_close, report_outcome};
use crate::{input, settings};

/// Start or end a scene
///
/// The start and the end of a scene are separate turns. Starting a scene ends the current one.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn scene start latest --type social --location 'Temple District'
  everturn scene start latest - < scene.json
  everturn scene end latest --outcome 'The monks let you in.'

The fields of a scene:
  {"sceneId":"…","type":"exploration","description":"…",
   "location":{"id":"…","name":"…","description":"…"},"time":{"started":{…}},
   "aspects":[…],"npcsPresent":[…],"zones":[…],"conflict":{…},
   "summary":{"majorEvents":[…]}}
  all of them optional. Other fields are kept.

The fields of its end:
  {"outcome":"…","events":["…"],"description":"…","ended":{…}}
  all of them optional; options take precedence.

Output with --json:
  {"session":"session-abc123","turn":7,"scene":"scene-001"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: SceneCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SceneCommand {
    /// Start a scene
    #[command(after_help = "\
Examples:
  everturn scene start latest --type social --location 'Temple District'
  everturn scene start latest - < scene.json")]
    Start {
        #[command(flatten)]
        common: SceneArgs,

        /// The ID of the scene; default: the next number
        #[arg(long, value_name = "ID")]
        id: Option<String>,

        /// The type of the scene: exploration, social, conflict, travel
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,

        /// The name of the location
        #[arg(long, value_name = "NAME")]
        location: Option<String>,
    },
    /// End the current scene
    #[command(after_help = "\
Examples:
  everturn scene end latest --outcome 'The monks let you in.'
  everturn scene end latest --event 'the gate was opened' --event 'Vex was seen'")]
    End {
        #[command(flatten)]
        common: SceneArgs,

        /// The outcome, in one sentence
        #[arg(long, value_name = "TEXT")]
        outcome: Option<String>,

        /// A major event; can be repeated
        #[arg(long = "event", value_name = "TEXT")]
        events: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
struct SceneArgs {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// `-` to read a JSON object from stdin
    #[arg(value_name = "-", value_parser = ["-"])]
    dash: Option<String>,

    /// Read a JSON object from stdin, like `-`
    #[arg(long)]
    stdin: bool,

    /// The text for the reader
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl SceneArgs {
    /// Returns the fields from stdin, overridden by the options.
    fn fields(&self, options: Vec<(&str, Option<Value>)>) -> Result<JsonTree, Error> {
        let from_stdin = self.stdin || self.dash.is_some();
        let mut fields = if from_stdin { input::object()? } else { JsonTree::object() };
        let description = ("description", self.description.clone().map(Value::from));
        for (key, value) in options.into_iter().chain([description]) {
            let Some(value) = value else { continue };
            let failed = |cause: Box<dyn std::error::Error + Send + Sync>| {
                Error::new(Exit::Internal, format!("cannot set {key}")).caused_by(cause)
            };
            let value = JsonTree::from_value(&value).map_err(|cause| failed(cause.into()))?;
            let mut set = Delta::set(DeltaPath::array([key]), value);
            set.apply_in_place(&mut fields).map_err(|cause| failed(cause.into()))?;
        }
        Ok(fields)
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (common, fields) = match &args.step {
        SceneCommand::Start { common, id, kind, location } => {
            let place = |name: &String| json!({"id": null, "name": name, "description": null});
            let options = vec![
                ("sceneId", id.clone().map(Value::from)),
                ("type", kind.clone().map(Value::from)),
                ("location", location.as_ref().map(place)),
            ];
            (common, common.fields(options)?)
        }
        SceneCommand::End { common, outcome, events } => {
            let events = (!events.is_empty()).then(|| json!(events));
            let options = vec![("outcome", outcome.clone().map(Value::from)), ("events", events)];
            (common, common.fields(options)?)
        }
    };
    let (found, mut editor) = context.edit(&common.session)?;
    let (text, now) = (fields.to_line(), settings::now());
    let written = match &args.step {
        SceneCommand::Start { .. } => editor.start_scene(&text, now),
        SceneCommand::End { .. } => editor.end_scene(&text, now),
    };
    let written = written.map_err(|error| match error {
        SessionError::Request { what } => {
            Error::new(Exit::Request, what).hint("everturn scene --help")
        }
        error => found.failed(error),
    })?;
    report_outcome(context, &found.place.id, &written, "scene")?;
    report_close(editor.close(now));
    found.root.close()?;
    Ok(Exit::Success)
}
