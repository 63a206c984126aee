//! A campaign that is played: a line in, a page out. It knows no terminal.

use std::path::Path;
use std::sync::Arc;

use everturn::campaign::{CampaignError, CampaignWriter, Submission};
use everturn::layout::{self, LayoutError};
use everturn::scan::Rules;
use everturn::store::Store;
use everturn::view::{NewMark, Place};
use everturn_export::{Choices, Export, Format, Mask, Part, Style};
use jiff::Timestamp;
use serde_json::Value;

use super::guide::Guide;
use super::page::{Look, Page};
use super::told;
use super::voice::Voice;
use super::words::{COMMANDS, Word, understand, usage};
use crate::error::Error;
use crate::output::counted;
use crate::target::Existing;
use crate::{settings, stories};

/// Whether the game goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Ask,
    Leave,
}

/// A campaign in the hands of a player.
pub(super) struct Game<'n> {
    pub(super) store: Arc<dyn Store>,
    pub(super) campaign: CampaignWriter,
    pub(super) narrator: &'n mut dyn Voice,
    pub(super) guide: Guide,
    pub(super) clock: fn() -> Timestamp,
    /// The last line, if it was not answered.
    pub(super) unanswered: Option<String>,
    /// How many lines could not be done.
    pub(super) failures: u64,
}

impl Game<'_> {
    /// What a player sees first.
    pub(super) fn opening(&mut self, page: &mut Page) -> Result<(), Error> {
        let campaign = self.campaign.campaign();
        let turn = campaign.turn();
        page.say(Look::Strong, format!("Everturn - {}", campaign.id()));
        page.say(
            Look::Faint,
            "Say what you do, in plain words. /help shows the commands, /quit leaves; every turn is saved.",
        );
        page.gap();
        if turn > 0 {
            let behind = counted(turn, "turn lies", "turns lie");
            page.say(Look::Faint, format!("{behind} behind you."));
            page.gap();
        }
        self.guide.scene(&mut self.campaign, page)?;
        if let Some(reason) = self.campaign.campaign().end_reason()? {
            page.gap();
            page.say(
                Look::Alarm,
                format!("The campaign has ended: {reason}. /undo or /rewind goes back."),
            );
        }
        Ok(())
    }

    /// The line above the prompt.
    pub(super) fn status(&self) -> Result<String, Error> {
        let place = self.guide.status(self.campaign.campaign())?;
        Ok(format!("[{}] {place}", self.campaign.turn()))
    }

    /// The last things that the player said, oldest first.
    pub(super) fn history(&self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for row in self.campaign.campaign().rows_back()?.take(20) {
            lines.extend(row?.row.string_at(&["user_input"]));
        }
        lines.reverse();
        Ok(lines)
    }

    /// Answers a line. Only what ends the game is an error.
    pub(super) fn line(&mut self, line: &str, page: &mut Page) -> Result<Next, Error> {
        match understand(line) {
            Word::Quit => return Ok(Next::Leave),
            Word::Say(input) => self.turn(input, page)?,
            Word::Nothing => {
                if self.unanswered.is_some() {
                    self.retry(page)?;
                }
            }
            Word::Retry => self.retry(page)?,
            Word::Look => self.guide.scene(&mut self.campaign, page)?,
            Word::Map => self.guide.map(self.campaign.campaign(), page)?,
            Word::Party => self.guide.party(self.campaign.campaign(), page)?,
            Word::Log(turns) => told::log(self.campaign.campaign(), turns, page)?,
            Word::Help => help(page),
            Word::Wrong(what) => self.refuse(what, page),
            Word::Marks => self.marks(page)?,
            other => {
                let done = self.change(&other, page);
                self.settle(done, page)?;
            }
        }
        Ok(Next::Ask)
    }

    /// Carries out a command that changes the campaign, or writes something.
    fn change(&mut self, word: &Word<'_>, page: &mut Page) -> Result<(), LayoutError> {
        let now = (self.clock)();
        let mut say = |text: String| page.say(Look::Plain, text);
        match word {
            Word::Undo(turns) => {
                let undone = self.campaign.undo(*turns, now)?;
                say(undone.row.string_at(&["assistant_text"]).unwrap_or_default());
                self.unanswered = None;
            }
            Word::Rewind(turn) => {
                let branch = self.campaign.rewind(*turn)?;
                say(format!(
                    "It is turn {turn} again. All that came after it is kept as {}.",
                    branch.id
                ));
                self.unanswered = None;
            }
            Word::Fork => {
                let fork = self.campaign.fork(self.campaign.turn(), None)?;
                say(format!("A copy is kept as {0}; everturn play {0} goes on there.", fork.id));
            }
            Word::Mark(name) => {
                let mark = self.campaign.add_mark(&NewMark::bookmark(name), now)?;
                say(format!("Turn {} is marked: {} ({}).", mark.turn, mark.name, mark.id));
            }
            Word::Actor(Some(actor)) => {
                let party = self.campaign.campaign().party()?;
                if !party.iter().any(|member| member == actor) {
                    let what = format!("{actor} is not in the party: {}", party.join(", "));
                    return Err(LayoutError::Request { what });
                }
                self.campaign.select_actor(actor)?;
                say(format!("{actor} acts from now on."));
            }
            Word::Actor(None) => {
                say(self.campaign.campaign().active_actor()?.unwrap_or_default());
            }
            Word::Settings(words) => self.settings(words, page)?,
            Word::Export(file) => self.export(Path::new(file), page)?,
            _ => {}
        }
        Ok(())
    }

    /// Tells what could not be done; what only ends of the store may say ends the game.
    fn settle(&mut self, done: Result<(), LayoutError>, page: &mut Page) -> Result<(), Error> {
        match done {
            Ok(()) => Ok(()),
            Err(error @ LayoutError::Store(_)) => Err(error.into()),
            Err(error) => {
                self.refuse(Error::from(error).to_string(), page);
                Ok(())
            }
        }
    }

    fn refuse(&mut self, what: String, page: &mut Page) {
        self.failures += 1;
        page.say(Look::Alarm, what);
    }

    /// Plays a turn. A line that was not answered is kept.
    fn turn(&mut self, input: &str, page: &mut Page) -> Result<(), Error> {
        let now = (self.clock)();
        let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        let submission =
            Submission { user_input: input, actor: None, seed: seed ^ self.campaign.turn() };
        match self.campaign.submit(&submission, self.narrator, now) {
            Ok(played) => {
                self.unanswered = None;
                let text = played.row.string_at(&["assistant_text"]).unwrap_or_default();
                let seen = self.narrator.has_shown(&text);
                told::tell(&played.row, seen, &self.guide, self.campaign.campaign(), page)?;
                for finding in &played.findings {
                    page.say(Look::Alarm, finding.to_string());
                }
                if let Some(reason) = self.campaign.campaign().end_reason()? {
                    page.gap();
                    let what =
                        format!("The campaign has ended: {reason}. /undo or /rewind goes back.");
                    page.say(Look::Alarm, what);
                }
                Ok(())
            }
            Err(CampaignError::Store(error)) => Err(error.into()),
            Err(error @ CampaignError::Narrator(_)) => {
                self.keep(input, &Error::from(error).to_string(), page);
                Ok(())
            }
            Err(error @ CampaignError::Conflicts { .. }) => {
                self.keep(input, &error.to_string(), page);
                Ok(())
            }
            Err(error) => self.settle(Err(error.into()), page),
        }
    }

    /// Keeps a line that was not answered, and says how to send it again.
    fn keep(&mut self, input: &str, why: &str, page: &mut Page) {
        self.unanswered = Some(input.to_owned());
        self.refuse(why.to_owned(), page);
        page.say(Look::Faint, "Your line is kept: Enter or /retry sends it again.");
    }

    fn retry(&mut self, page: &mut Page) -> Result<(), Error> {
        match self.unanswered.take() {
            Some(input) => self.turn(&input, page),
            None => {
                self.refuse("Every line has been answered.".to_owned(), page);
                Ok(())
            }
        }
    }

    fn marks(&mut self, page: &mut Page) -> Result<(), Error> {
        match self.campaign.campaign().marks() {
            Ok(marks) => {
                if marks.is_empty() {
                    page.say(Look::Faint, "There are no marks; /mark NAME makes one.");
                }
                for mark in marks {
                    page.say(
                        Look::Plain,
                        format!("{}  turn {}  {}", mark.id, mark.turn, mark.name),
                    );
                }
                Ok(())
            }
            Err(error) => self.settle(Err(error), page),
        }
    }

    fn settings(&mut self, words: &[&str], page: &mut Page) -> Result<(), LayoutError> {
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let patches = words.iter().filter_map(|word| word.split_once('='));
        let patches: Vec<(String, Value)> =
            patches.map(|(key, text)| (key.to_owned(), value(text))).collect();
        if !patches.is_empty() {
            self.campaign.patch_settings(&patches)?;
        }
        let wanted: Vec<&str> =
            words.iter().map(|word| word.split('=').next().unwrap_or(word)).collect();
        for (setting, value) in self.campaign.campaign().settings()? {
            if wanted.is_empty() || wanted.iter().any(|key| setting.key.starts_with(key)) {
                page.say(Look::Plain, format!("{}={value}", setting.key));
            }
        }
        if page.is_empty() {
            page.say(Look::Plain, "There is no such setting; /settings shows those there are.");
        }
        Ok(())
    }

    fn export(&mut self, file: &Path, page: &mut Page) -> Result<(), LayoutError> {
        let campaign = self.campaign.campaign();
        let place = Place { id: campaign.id().to_string(), path: campaign.dir().clone() };
        let unknown = LayoutError::NoSession { id: place.id.clone() };
        let layout = layout::find("campaign").ok_or(unknown)?;
        let reader = layout.open(&self.store, &place)?;
        let summary = layout.summary(&self.store, &place)?;
        let written = stories::format_of(file).and_then(|format| {
            // What the dice and the tables did is not part of the story.
            let mut choices = Choices::usual(format, Style::Rich);
            choices.set(Part::Tools, format == Format::Json);
            choices.set(Part::Snapshots, format == Format::Json);
            let (reader, now) = (&*reader, settings::now());
            let mask = format.masks().then(|| Rules::standard() as &dyn Mask);
            let template = None;
            choices.pages.fonts.system = true;
            let export =
                Export { summary: &summary, reader, choices: &choices, mask, template, now };
            stories::write_file(&export, format, file, Existing::Kept, Error::from)
        });
        match written {
            Ok(report) => {
                let turns = counted(report.turns, "turn is", "turns are");
                let said = format!("{turns} in {}.", file.display());
                page.say(Look::Plain, said);
            }
            Err(error) => self.refuse(error.to_string(), page),
        }
        Ok(())
    }
}

fn help(page: &mut Page) {
    page.say(Look::Plain, "Say what you do, in plain words: look around, go north, talk to somebody, search, take something, rest, explore, attack.");
    page.gap();
    let width = COMMANDS.iter().map(|command| usage(command).len()).max().unwrap_or(0);
    for command in COMMANDS {
        page.draw(Look::Plain, format!("{:width$}  {}", usage(command), command.does));
    }
}
