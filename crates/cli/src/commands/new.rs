//! `everturn new`: creates a session.

use std::path::PathBuf;

use everturn::Root;
use everturn::campaign;
use everturn::chatlog;
use everturn::delta::{Delta, DeltaPath};
use everturn::format::{self, SessionError, SessionFormat};
use everturn::model::NewSession;
use everturn::tree::JsonTree;
use serde_json::Value;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::format_names::layouts;
use crate::json::JsonObject;
use crate::open_root::OpenRoot;
use crate::{input, linggen, settings};

/// Create a session
///
/// Prints the ID of the session. Initial values are given by options or as one JSON object on
/// stdin; options take precedence. Fields that the format does not define are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn new game --name Vex --config '{"theme":"cyberpunk"}'
  everturn new game - < start.json
  everturn new campaign --party pc_001,pc_002 --actor pc_002
  everturn new chatlog --id tale --name Subaru --title 'A new world'

The fields of a game:
  {"sessionId":"…","config":{…},"player":{"name":"…","characterId":"…"},
   "world":{…},"playerState":{…}}
  all of them optional.

The fields of a campaign:
  {"party":["pc_001","pc_002"],"actor":"pc_001","world":"world_001","map":"map_001"}
  all of them optional, shown with their defaults; the ID is the next camp_NNNN.

The fields of a Linggen session:
  {"project":"/srv/app","title":"…"}
  the default project is the current directory.

The fields of a Codelia session:
  {"meta":{"codelia_workspace_root":"/srv/app"}}
  the default workspace is the current directory.

The fields of a chat log:
  any part of the document, such as {"session":{"support_tools":[…]}}, and
  "title" and "series"; --name is the protagonist, --config the settings.

Output with --json:
  {"session":"session-mjv9xds0","turn":0,"layout":"game","path":"…"}"#)]
pub(crate) struct Args {
    /// The format of the session
    #[arg(value_name = "LAYOUT", value_parser = layouts())]
    kind: String,

    /// `-` to read a JSON object from stdin
    #[arg(value_name = "-", value_parser = ["-"])]
    dash: Option<String>,

    /// Read a JSON object from stdin, like `-`
    #[arg(long)]
    stdin: bool,

    /// The ID of the session; default: made from the time, or the next number
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// The name of the player
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The settings, as a JSON object
    #[arg(long, value_name = "JSON")]
    config: Option<String>,

    /// The party of a campaign
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    party: Option<Vec<String>>,

    /// The first active actor of a campaign
    #[arg(long, value_name = "ID")]
    actor: Option<String>,

    /// The title of a chat log or a Linggen session
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// The series that a chat log belongs to
    #[arg(long, value_name = "TEXT")]
    series: Option<String>,

    /// The world of a campaign
    #[arg(long, value_name = "ID")]
    world: Option<String>,

    /// The map of a campaign
    #[arg(long, value_name = "ID")]
    map: Option<String>,

    /// The project directory of a Linggen session
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

impl Args {
    /// Returns the fields given as options, each with the format that has it.
    fn options(&self) -> Vec<(&'static dyn SessionFormat, &'static str, Value)> {
        let text =
            |layout, key, value: &Option<String>| Some((layout, key, Value::from(value.clone()?)));
        let party = self.party.clone().map(|party| (campaign::FORMAT, "party", Value::from(party)));
        let texts = [
            text(campaign::FORMAT, "actor", &self.actor),
            text(campaign::FORMAT, "world", &self.world),
            text(campaign::FORMAT, "map", &self.map),
            text(chatlog::FORMAT, "series", &self.series),
        ];
        party.into_iter().chain(texts.into_iter().flatten()).collect()
    }

    /// Returns the fields from stdin, overridden by the options.
    fn fields(&self, layout: &dyn SessionFormat) -> Result<JsonTree, Error> {
        let from_stdin = self.stdin || self.dash.is_some();
        let mut fields = if from_stdin { input::object()? } else { JsonTree::object() };
        let mut options = self.options();
        let is_linggen = layout == everturn::linggen::FORMAT;
        if self.project.is_some() || (is_linggen && fields.value_at(&["project"]).is_none()) {
            let project = linggen::project_path(self.project.as_deref())?;
            options.push((everturn::linggen::FORMAT, "project", project.as_str().into()));
        }
        if let Some(title) = &self.title {
            let of = if is_linggen { everturn::linggen::FORMAT } else { chatlog::FORMAT };
            options.push((of, "title", title.as_str().into()));
        }
        if layout == everturn::codelia::FORMAT {
            // Codelia lists only the sessions of the current workspace.
            let workspace = ["meta", WORKSPACE];
            if fields.value_at(&workspace).is_none() {
                let here = Value::from(settings::project()?);
                let here = JsonTree::from_value(&here).unwrap_or_else(|_| JsonTree::null());
                let set = Delta::set(DeltaPath::array(workspace), here);
                set.apply(&mut fields).map_err(|cause| {
                    Error::new(Exit::Request, "meta is not an object").caused_by(cause)
                })?;
            }
        }
        for (of, key, value) in options {
            if layout != of {
                let (of, given) = (of.name(), layout.name());
                let what = format!("--{key} is for {of}, not for a {given}");
                return Err(Error::new(Exit::Request, what).hint("everturn new --help"));
            }
            let value = JsonTree::from_value(&value).unwrap_or_else(|_| JsonTree::null());
            let set = Delta::set(DeltaPath::array([key]), value);
            set.apply(&mut fields).map_err(|cause| {
                Error::new(Exit::Internal, "the options do not form an object").caused_by(cause)
            })?;
        }
        Ok(fields)
    }
}

/// The member of a Codelia session's metadata with its workspace.
const WORKSPACE: &str = "codelia_workspace_root";

/// Rejects an ID that could never be used to refer to its session.
pub(super) fn check_session_id(id: &str) -> Result<(), Error> {
    if id == "latest" {
        let what = "`latest` is reserved for the most recently changed session";
        return Err(Error::new(Exit::Request, what).hint("choose another ID"));
    }
    Ok(())
}

fn creation_failed(error: everturn::Error) -> Error {
    match error {
        everturn::Error::Session(SessionError::Request { what }) => {
            Error::new(Exit::Request, what).hint("everturn new --help")
        }
        everturn::Error::Session(error) => error.into(),
        error => Error::new(Exit::Request, error.to_string()),
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let unknown = || Error::new(Exit::Internal, format!("unknown format {}", args.kind));
    let layout = format::find(&args.kind).ok_or_else(unknown)?;
    linggen::require_format(context, layout)?;
    let config = args.config.as_ref().map(|text| input::tree(text, "--config")).transpose()?;
    let fields = args.fields(layout)?;
    let id = args.id.clone().or_else(|| fields.string_at(&["sessionId"]));
    if let Some(id) = &id {
        check_session_id(id)?;
    }
    let new = NewSession { id: id.unwrap_or_default(), name: args.name.clone(), config, fields };
    let root = OpenRoot::create(&context.root_dir()?)?;
    let store = Root::builder().clock(settings::now).with_store(&root.path, root.files());
    let mut session = store.create(layout, &new).map_err(creation_failed)?;
    let turn = session.lock().map_err(creation_failed)?;
    let place = session.session_ref().clone();
    if context.json {
        let answer = JsonObject::new()
            .text("session", &place.id)
            .number("turn", turn)
            .text("layout", layout.name())
            .text("path", &root.shown(&place.path));
        writeln!(context.out, "{}", answer.close())?;
    } else {
        writeln!(context.out, "{}", place.id)?;
    }
    context.out.flush()?;
    session.close().map_err(creation_failed)?;
    drop(store);
    root.close()?;
    Ok(Exit::Success)
}
