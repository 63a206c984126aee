//! `everturn new`: creates a session.

pub(super) mod story_files;

use std::path::PathBuf;

use everturn::delta::{Delta, DeltaPath};
use everturn::format::{self, Feature, SessionError, SessionFormat};
use everturn::model::NewSession;
use everturn::tree::JsonTree;
use everturn::{LATEST, Root};
use serde_json::Value;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::format_names::layouts;
use crate::json::JsonObject;
use crate::open_root::OpenRoot;
use crate::{input, linggen, settings};

use self::story_files::StoryFiles;

/// Create a session
///
/// Prints the ID of the session. Initial values are given by options or as one JSON object on
/// stdin; options take precedence. Fields that the format does not define are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn new game --name Vex --config '{"theme":"cyberpunk"}'
  everturn new game - < start.json
  everturn new campaign --party pc_001,pc_002 --actor pc_002
  everturn new campaign --rules 2 --title 'Salt' --character 'Ann:12=a smith' --character Ben
  everturn new chatlog --id tale --name Subaru --title 'A new world'

The fields of a game:
  {"sessionId":"…","config":{…},"player":{"name":"…","characterId":"…"},
   "world":{…},"playerState":{…}}
  all of them optional.

The fields of a campaign:
  {"party":["pc_001","pc_002"],"actor":"pc_001","world":"world_001","map":"map_001"}
  all of them optional, shown with their defaults; the ID is the next camp_NNNN. And
  {"title":"…","premise":"…","goal":"…","tone":"…","language":"de","rules":2,
   "characters":[{"name":"Ann","description":"a smith","hp":12}],"map_size":8,
   "allowlist":["move"],"lorebooks":[{…}]}; "map" may be {"areas":{…},"connections":[…]}.

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

    /// The title of a chat log, a campaign or a Linggen session
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

    /// The opening of the story (campaigns)
    #[arg(long, value_name = "TEXT")]
    premise: Option<String>,

    /// The goal of a campaign
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,

    /// The tone of the story (campaigns)
    #[arg(long, value_name = "TEXT")]
    tone: Option<String>,

    /// The language of the story (campaigns), such as `de`
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,

    /// A character of a campaign, with hit points and a description; may be repeated
    #[arg(long, value_name = "NAME[:HP][=TEXT]", conflicts_with = "party")]
    character: Vec<String>,

    /// A character of a campaign from a character card, JSON or PNG; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "party")]
    card: Vec<PathBuf>,

    /// A lorebook of a campaign, for narrators that are models; may be repeated
    #[arg(long, value_name = "FILE")]
    lorebook: Vec<PathBuf>,

    /// The number of areas of a campaign
    #[arg(long, value_name = "N")]
    map_size: Option<u32>,

    /// The tools that a narrator of a campaign may use
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    allowlist: Option<Vec<String>>,

    /// The rules of a campaign: 2 adds inventories and new companions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    rules: Option<u8>,

    /// The project directory of a Linggen session
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// A field given as an option, with the feature that it belongs to.
type FeatureField = (Feature, &'static str, Value);

impl Args {
    /// Returns the fields given as options, each with the feature that it belongs to.
    fn options(&self) -> Result<Vec<FeatureField>, Error> {
        let files = StoryFiles::read(&self.card, &self.lorebook)?;
        let rules = Feature::CampaignRules;
        let premise = self.premise.clone().or(files.premise);
        let texts = [
            (rules, "actor", &self.actor),
            (rules, "world", &self.world),
            (rules, "map", &self.map),
            (Feature::Series, "series", &self.series),
            (Feature::Title, "title", &self.title),
        ];
        let about = [
            (rules, "premise", &premise),
            (rules, "goal", &self.goal),
            (rules, "tone", &self.tone),
            (rules, "language", &self.language),
        ];
        let characters = self.character.iter().map(|text| character(text));
        let characters: Vec<Value> = characters.chain(files.characters).collect();
        let list = |values: Vec<Value>| (!values.is_empty()).then(|| Value::from(values));
        let values = [
            ("party", self.party.clone().map(Value::from)),
            ("characters", list(characters)),
            ("lorebooks", list(files.lorebooks)),
            ("map_size", self.map_size.map(Value::from)),
            ("allowlist", self.allowlist.clone().map(Value::from)),
            ("rules", self.rules.map(Value::from)),
        ];
        let values = values.into_iter().filter_map(|(key, value)| Some((rules, key, value?)));
        let texts = texts
            .into_iter()
            .chain(about)
            .filter_map(|(feature, key, value)| Some((feature, key, Value::from(value.clone()?))));
        Ok(texts.chain(values).collect())
    }

    /// Returns the fields from stdin, overridden by the options.
    fn fields(&self, layout: &dyn SessionFormat) -> Result<JsonTree, Error> {
        let from_stdin = self.stdin || self.dash.is_some();
        let mut fields = if from_stdin { input::object()? } else { JsonTree::object() };
        let mut options = self.options()?;
        let needs_project = layout.has(Feature::Project) && fields.value_at(&["project"]).is_none();
        if self.project.is_some() || needs_project {
            let project = linggen::existing_project_path(self.project.as_deref())?;
            options.push((Feature::Project, "project", project.as_str().into()));
        }
        if layout.has(Feature::WorkingDirectory) {
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
        for (feature, key, value) in options {
            if !layout.has(feature) {
                let having = format::ALL.iter().filter(|format| format.has(feature));
                let names: Vec<&str> = having.map(|format| format.name()).collect();
                let (of, given) = (names.join(" and "), layout.name());
                let key = key.replace('_', "-");
                let what = format!("--{key} is not supported for {given} sessions, only for {of}");
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

/// Reads a character: `Ann`, `Ann:12`, `Ann=a smith`, or `Ann:12=a smith`.
fn character(text: &str) -> Value {
    let (name, description) = text.split_once('=').unwrap_or((text, ""));
    let (name, hp) = match name.rsplit_once(':').map(|(name, hp)| (name, hp.trim().parse::<u32>()))
    {
        Some((name, Ok(hp))) => (name, Some(hp)),
        _ => (name, None),
    };
    let mut fields = serde_json::json!({"name": name.trim(), "description": description.trim()});
    if let (Value::Object(fields), Some(hp)) = (&mut fields, hp) {
        fields.insert("hp".to_owned(), hp.into());
    }
    fields
}

/// The member of a Codelia session's metadata with its workspace.
const WORKSPACE: &str = "codelia_workspace_root";

/// Rejects an ID that could never be used to refer to its session.
pub(super) fn check_session_id(id: &str) -> Result<(), Error> {
    if id == LATEST {
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
    let store = Root::builder().clock(settings::now).with_store(&root.path, root.store());
    let mut session = store.create_with_format(layout, &new).map_err(creation_failed)?;
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
