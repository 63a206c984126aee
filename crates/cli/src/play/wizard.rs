//! Creates a campaign in a short conversation, or from a [`StoryPreset`].

use everturn::campaign::{NewCampaign, NewCharacter};

use super::console::{Console, ConsoleInput};
use super::page::{BlockStyle, PlayPage};
use super::{failed, show};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// The beginning of a story.
pub(crate) struct StoryPreset {
    pub(crate) name: &'static str,
    title: &'static str,
    premise: &'static str,
    tone: &'static str,
    german_title: &'static str,
    german_premise: &'static str,
}

/// The presets that `--preset` and the questions offer.
pub(crate) const PRESETS: &[StoryPreset] = &[
    StoryPreset {
        name: "salt-coast",
        title: "The Salt Coast",
        premise: "The sea has drawn back a mile and does not return. On the bare ground lie old wrecks, and among them lights at night.",
        tone: "quiet and strange",
        german_title: "Die Salzküste",
        german_premise: "Das Meer ist eine Meile zurückgewichen und kommt nicht wieder. Auf dem kahlen Grund liegen alte Wracks, und nachts brennt dort Licht.",
    },
    StoryPreset {
        name: "winter-court",
        title: "The Winter Court",
        premise: "Snow lies in June. The steward of a small court is looking for people who can keep a secret, and pays in advance.",
        tone: "courtly and dry",
        german_title: "Der Winterhof",
        german_premise: "Im Juni liegt Schnee. Der Verwalter eines kleinen Hofes sucht Leute, die schweigen können, und zahlt im Voraus.",
    },
    StoryPreset {
        name: "lamplighters",
        title: "The Lamplighters",
        premise: "The lamps of the old town go out one by one, and nobody has seen who does it. Tonight it is the turn of your street.",
        tone: "dark, with some humour",
        german_title: "Die Laternenanzünder",
        german_premise: "In der Altstadt erlischt eine Laterne nach der anderen, und niemand hat gesehen, wer das tut. Heute Nacht ist deine Straße dran.",
    },
    StoryPreset {
        name: "deep-road",
        title: "The Deep Road",
        premise: "Under the mountain runs a road that is on no chart. Last week a carter came back along it, without a word, with a ring that was lost for a hundred years.",
        tone: "adventurous",
        german_title: "Die tiefe Straße",
        german_premise: "Unter dem Berg verläuft eine Straße, die auf keiner Karte steht. Letzte Woche kam jemand auf ihr zurück, stumm, mit einem Ring, der hundert Jahre verloren war.",
    },
];

impl StoryPreset {
    /// Returns a preset by its name.
    pub(crate) fn find(name: &str) -> Result<&'static StoryPreset, Error> {
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let hint = format!("the presets are {}", names.join(", "));
            Error::new(Exit::Request, format!("unknown preset {name}")).hint(hint)
        })
    }

    /// Sets title, premise and tone of a campaign, in its language if the preset has it.
    pub(crate) fn apply(&self, campaign: &mut NewCampaign) {
        let language = campaign.language.as_deref().unwrap_or_default().to_lowercase();
        let is_german = language == "de" || language.starts_with("german") || language == "deutsch";
        let (title, premise) = match is_german {
            true => (self.german_title, self.german_premise),
            false => (self.title, self.premise),
        };
        campaign.title = Some(title.to_owned());
        campaign.premise = Some(premise.to_owned());
        campaign.tone = Some(self.tone.to_owned());
    }
}

/// Asks for a campaign.
pub(crate) fn ask_for_campaign(
    mut campaign: NewCampaign,
    context: &mut Context,
) -> Result<NewCampaign, EarlyExit> {
    let mut console = Console::open().map_err(failed)?;
    let mut page = PlayPage::default();
    page.say(BlockStyle::Strong, "A new campaign. An empty line takes what is in brackets.");
    page.gap();
    for (number, preset) in (1..).zip(PRESETS) {
        let label = format!("{number}. {}: ", preset.title);
        page.item(BlockStyle::Plain, label, preset.premise);
    }
    page.say(BlockStyle::Plain, format!("{}. Your own story", PRESETS.len() + 1));
    show(&page, &console, context)?;
    let story = loop {
        let said = ask(&mut console, "Which story? [1]", context)?;
        let number = if said.is_empty() { Ok(1) } else { said.parse::<usize>() };
        match number {
            Ok(number) if (1..=PRESETS.len() + 1).contains(&number) => break number,
            _ => {
                let what = format!("Enter a number from 1 to {}.", PRESETS.len() + 1);
                let mut page = PlayPage::default();
                page.say(BlockStyle::Alarm, what);
                show(&page, &console, context)?;
            }
        }
    };
    let language = ask(&mut console, "The language of the story? [English]", context)?;
    campaign.language = Some(language).filter(|language| !language.is_empty());
    match PRESETS.get(story - 1) {
        Some(preset) => preset.apply(&mut campaign),
        None => {
            let mut text = |question: &str| -> Result<Option<String>, EarlyExit> {
                let said = ask(&mut console, question, context)?;
                Ok(Some(said).filter(|said| !said.is_empty()))
            };
            campaign.title = text("The title? [none]")?;
            campaign.premise = text("How does it begin? [the narrator decides]")?;
            campaign.goal = text("The goal? [the narrator decides]")?;
            campaign.tone = text("The tone? [any]")?;
        }
    }
    let name = ask(&mut console, "Your name? [Mira]", context)?;
    let about = ask(&mut console, "Who are you, in a few words? [nobody in particular]", context)?;
    let other = ask(&mut console, "A companion, or - for none? [Joss]", context)?;
    let or = |said: String, default: &str| if said.is_empty() { default.to_owned() } else { said };
    let first = or(name, "Mira");
    campaign.party = vec![first.clone()];
    campaign.party.extend(Some(or(other, "Joss")).filter(|other| other != "-" && *other != first));
    if !about.is_empty() {
        let hero = NewCharacter {
            id: first.clone(),
            name: first,
            description: about,
            ..NewCharacter::default()
        };
        campaign.characters = vec![hero];
    }
    Ok(campaign)
}

/// Asks a question, and returns the answer without space around it. The end of the input is an empty answer.
fn ask(console: &mut Console, question: &str, context: &mut Context) -> Result<String, EarlyExit> {
    let mut page = PlayPage::default();
    page.say(BlockStyle::Strong, question);
    show(&page, console, context)?;
    match console.ask().map_err(failed)? {
        ConsoleInput::Line(line) => Ok(line.trim().to_owned()),
        ConsoleInput::End | ConsoleInput::Unfit(_) => Ok(String::new()),
        ConsoleInput::Interrupted => Err(Error::new(Exit::Request, "nothing was created").into()),
    }
}
