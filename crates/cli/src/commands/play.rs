//! `everturn play`: plays a campaign at the prompt.

use std::path::PathBuf;
use std::sync::Arc;

use everturn::campaign::{
    self, Campaign, CampaignWriter, Generation, NewCampaign, NewCharacter, create,
};
use everturn::format::SessionError;
use everturn::model::{BranchKind, SessionStatus, SessionSummary};
use everturn::names::SessionId;
use everturn::store::Store;
use everturn::tree::JsonTree;
use jiff::Timestamp;

use super::Context;
use super::new::story_files::StoryFiles;
use crate::campaigns::find_campaign;
use crate::context::next_command;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::narrator::NarratorArgs;
use crate::open_root::OpenRoot;
use crate::output::Output;
use crate::play::{
    PlayNarrator, PlaySetup, Recall, RemoteNarrator, StoryPreset, ask_for_campaign, play,
    watch_signals,
};
use crate::settings;
use crate::sources::STORAGE;

/// Play a campaign in the terminal
///
/// Without a campaign, continues the campaign in the root that was played last (branches left by a
/// rewind are ignored), or creates a new one if there is none. The default root is ./storage. Every
/// turn is saved before the next line is read; streamed answers are saved when complete. Lines that
/// start with a slash are commands; /help lists them.
///
/// Without a terminal, each line of the input is a turn or a command, and the exit status is 1 if
/// one of them fails.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn play
  everturn play camp_0002
  everturn play --new --party Ann,Ben
  everturn play --wizard
  everturn play --preset lamplighters --rules 2
  everturn play --narrator openai --model llama3.2
  printf '%s\n' 'look around' /map | everturn play

Output with --json:
  {"ok":true,"turn":7,"text":"You stand in the Raven Market. …"}
  for each line of the input"#)]
pub(crate) struct Args {
    /// The campaign: its ID, a path, or `latest`
    #[arg(conflicts_with_all = ["new", "wizard", "preset"])]
    campaign: Option<String>,

    /// Create a new campaign, even if one exists
    #[arg(long)]
    new: bool,

    /// The party of a new campaign
    #[arg(long, value_name = "ID,…", value_delimiter = ',', default_value = "Mira,Joss")]
    party: Vec<String>,

    /// Create a new campaign, and ask for its story, language and characters
    #[arg(long)]
    wizard: bool,

    /// Create a new campaign from a preset: salt-coast, winter-court, lamplighters or deep-road
    #[arg(long, value_name = "NAME", conflicts_with = "wizard")]
    preset: Option<String>,

    /// The language of a new campaign, such as `de`
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,

    /// The rules of a new campaign: 2 adds inventories and new companions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    rules: Option<u8>,

    /// A companion in a new campaign from a character card, JSON or PNG; may be repeated
    #[arg(long, value_name = "FILE")]
    card: Vec<PathBuf>,

    /// A lorebook of a new campaign, for narrators that are models; may be repeated
    #[arg(long, value_name = "FILE")]
    lorebook: Vec<PathBuf>,

    /// The random seed of the embedded narrator; default: from the creation time of the campaign
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    narrator: NarratorArgs,
}

/// Returns the campaign to play if none is named: the most recent one, or a new one. Fails if a damaged campaign may be
/// the most recent one.
fn choose(args: &Args, root: &OpenRoot, context: &mut Context) -> Result<SessionId, EarlyExit> {
    let store = root.store();
    if !args.new && !args.wizard && args.preset.is_none() {
        let (mut known, findings) = campaign::FORMAT.list(&store).map_err(Error::from)?;
        print_findings(&findings);
        let damaged = damaged_campaigns(&store, &known)?;
        known.retain(|summary| {
            matches!(summary.status, SessionStatus::Active | SessionStatus::Ended)
        });
        // A fork without turns of its own ranks after its parent.
        known.sort_by(|a, b| (b.updated, &a.session.id).cmp(&(a.updated, &b.session.id)));
        let mut latest = None;
        for summary in known {
            let id = SessionId::parse(&summary.session.id).map_err(Error::from)?;
            let lineage = Campaign::open(root.store(), &id).map_err(Error::from)?.lineage();
            let is_left_behind = lineage.is_ok_and(|lineage| {
                lineage.is_some_and(|from| from.kind == BranchKind::Rewind.as_str())
            });
            if !is_left_behind {
                latest = Some((id, summary.updated));
                break;
            }
        }
        let is_older = |time: Option<Timestamp>| {
            latest.as_ref().is_some_and(|(_, latest)| time.is_some() && time < *latest)
        };
        if let Some((id, _)) = damaged.iter().find(|(_, time)| !is_older(*time)) {
            let what = format!("campaign {id} is damaged, and may be the one that was played last");
            let repair = next_command(&format!("repair {id}"));
            return Err(Error::new(Exit::Damaged, what).hint(repair).into());
        }
        if let Some((id, _)) = latest {
            return Ok(id);
        }
    }
    let new = new_campaign(args, context)?;
    Ok(create(&store, &new, settings::now()).map_err(Error::from)?)
}

/// Returns the parameters of a new campaign.
fn new_campaign(args: &Args, context: &mut Context) -> Result<NewCampaign, EarlyExit> {
    let files = StoryFiles::read(&args.card, &args.lorebook)?;
    let mut new = NewCampaign {
        party: args.party.clone(),
        language: args.language.clone(),
        premise: files.premise,
        lorebooks: files.lorebooks,
        ..NewCampaign::default()
    };
    if args.rules == Some(2) {
        new.generation = Generation::Second;
    }
    if let Some(name) = &args.preset {
        StoryPreset::find(name)?.apply(&mut new);
    }
    if args.wizard {
        new = ask_for_campaign(new, context)?;
    }
    for card in files.characters {
        let text = |key: &str| card.get(key).and_then(|text| text.as_str()).unwrap_or_default();
        let (name, description) = (text("name").to_owned(), text("description").to_owned());
        if !new.party.contains(&name) {
            new.party.push(name.clone());
        }
        new.characters.retain(|known| known.id != name);
        let character = NewCharacter { id: name.clone(), name, description, ..Default::default() };
        new.characters.push(character);
    }
    Ok(new)
}

/// Returns the campaigns that cannot be read, with the times of their last turns as far as they are known.
fn damaged_campaigns(
    store: &Arc<dyn Store>,
    known: &[SessionSummary],
) -> Result<Vec<(SessionId, Option<Timestamp>)>, Error> {
    let summary = |id: &SessionId| known.iter().find(|known| known.session.id == id.as_str());
    let mut damaged = Vec::new();
    for id in campaign::list(store)? {
        match summary(&id) {
            None => damaged.push((id, None)),
            Some(summary) if summary.status == SessionStatus::Unknown => {
                damaged.push((id, summary.updated));
            }
            Some(_) => {}
        }
    }
    Ok(damaged)
}

/// Returns a seed that a campaign and its branches share.
fn seed_of(campaign: &JsonTree) -> u64 {
    let text = campaign.string_at(&["created_at"]).unwrap_or_default();
    // FNV-1a: short, and the same on every platform.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (root, id) = match &args.campaign {
        Some(name) => {
            // If the ID is ambiguous, the campaign in the current directory is used.
            let found = match find_campaign(context, name) {
                Err(error) if context.root.is_none() && !name.contains('/') => {
                    context.root = Some(PathBuf::from(STORAGE));
                    context.is_root_named = true;
                    find_campaign(context, name).map_err(|_| error)
                }
                found => found,
            }?;
            let id = SessionId::parse(&found.place.id).map_err(Error::from)?;
            (found.root, id)
        }
        None => {
            let path = context.root.clone().unwrap_or_else(|| PathBuf::from(STORAGE));
            let root = OpenRoot::create(&path)?;
            let id = choose(args, &root, context)?;
            (root, id)
        }
    };
    let store = root.store();
    let campaign = CampaignWriter::open(root.store(), &id).map_err(|error| {
        let damaged = matches!(SessionError::from(error.clone()), SessionError::Damaged { .. });
        let error = Error::from(error);
        if damaged { error.hint(next_command(&format!("repair {id}"))) } else { error }
    })?;
    for finding in campaign.campaign().findings() {
        Output::status(&finding.to_string());
    }
    let state = campaign.state().map_err(Error::from)?;
    let seed = args.seed.unwrap_or_else(|| seed_of(state));
    let pressed = watch_signals()?;
    let (mut embedded, mut distant);
    let narrator = args.narrator.with_config_defaults()?;
    let teller = match narrator.embedded(seed) {
        Some(chosen) => {
            embedded = chosen;
            PlayNarrator::Embedded(&mut embedded)
        }
        None => {
            distant = RemoteNarrator::new(&narrator, seed, pressed)?;
            PlayNarrator::Distant(&mut distant)
        }
    };
    let again = next_command(&format!("play {id}"));
    let recall = Recall::new(&root, &id);
    let setup = PlaySetup { store, campaign, narrator: teller, recall, again };
    let repair = next_command(&format!("repair {id}"));
    let exit = play(setup, context).map_err(|exit| match exit {
        EarlyExit::Failed(error) if error.exit() == Exit::Damaged => error.hint(repair).into(),
        other => other,
    })?;
    root.close()?;
    Ok(exit)
}
