//! [`PlaySession`]: a campaign being played: a line in, a page out, independent of the terminal.

use std::path::Path;
use std::sync::Arc;

use everturn::campaign::{
    self, CampaignError, CampaignWriter, DiceExpression, PlayOutcome, Submission,
};
use everturn::format::SessionError;
use everturn::model::{NewMark, SessionRef};
use everturn::scan::SecretRules;
use everturn::store::Store;
use everturn_export::{Export, ExportFormat, ExportOptions, ExportPart, ExportStyle, SecretMask};
use jiff::Timestamp;
use serde_json::Value;

use super::guide::Guide;
use super::live_narrator::LiveNarrator;
use super::log_view;
use super::page::{BlockStyle, PlayPage};
use super::player_input::{COMMANDS, PlayerInput, parse_line, usage};
use super::recall::Recall;
use crate::atomic_file::ExistingFile;
use crate::context::next_command;
use crate::error::Error;
use crate::output::count_noun;
use crate::{exports, settings};

/// The line of a turn in which the player does nothing.
const CONTINUE: &str = "Continue.";

/// Whether the game continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    Ask,
    Leave,
}

/// A campaign being played.
pub(super) struct PlaySession<'n> {
    pub(super) store: Arc<dyn Store>,
    pub(super) campaign: CampaignWriter,
    pub(super) narrator: &'n mut dyn LiveNarrator,
    pub(super) guide: Guide,
    pub(super) recall: Recall,
    pub(super) clock: fn() -> Timestamp,
    /// The last line, if it was not answered.
    pub(super) unanswered: Option<String>,
    /// The number of lines that failed.
    pub(super) failures: u64,
    /// The number of rolls, which differ even within one tick of the clock.
    pub(super) rolls: u64,
}

impl PlaySession<'_> {
    /// Tells the opening scene as the first turn, if the embedded narrator is used and there is no turn yet.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        if self.campaign.turn() > 0 || !self.guide.is_embedded() {
            return Ok(());
        }
        let now = (self.clock)();
        match self.campaign.submit(&Submission::new(""), self.narrator, now) {
            Err(CampaignError::Store(error)) => Err(error.into()),
            // A campaign that cannot be played says so when the player does something.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Returns the opening scene, if no turn has followed it.
    fn opening_scene(&self) -> Result<Option<String>, Error> {
        let last = self.campaign.campaign().rows_back()?.next().transpose()?;
        let opening = last.filter(|row| row.row.string_at(&["user_input"]).as_deref() == Some(""));
        Ok(opening.and_then(|row| row.row.string_at(&["assistant_text"])))
    }

    /// Shows the opening page.
    pub(super) fn opening(&mut self, page: &mut PlayPage) -> Result<(), Error> {
        let campaign = self.campaign.campaign();
        let turn = campaign.turn();
        page.say(BlockStyle::Strong, format!("Everturn - {}", campaign.id()));
        page.say(
            BlockStyle::Faint,
            "Say what you do, in plain words. /help shows the commands, /quit leaves; every turn is saved.",
        );
        page.gap();
        let opening = self.opening_scene()?;
        if turn > 0 && opening.is_none() {
            let behind = count_noun(turn, "turn", "turns");
            page.say(BlockStyle::Faint, format!("{behind} played so far."));
            page.gap();
        }
        match opening {
            Some(text) => page.say(BlockStyle::Plain, text),
            None => self.guide.scene(&mut self.campaign, page)?,
        }
        if let Some(reason) = self.campaign.campaign().end_reason()? {
            page.gap();
            page.say(
                BlockStyle::Alarm,
                format!("The campaign has ended: {reason}. Go back with /undo or /rewind."),
            );
        }
        Ok(())
    }

    /// Returns the status line above the prompt.
    pub(super) fn status(&self) -> Result<String, Error> {
        let place = self.guide.status(self.campaign.campaign())?;
        Ok(format!("[{}] {place}", self.campaign.turn()))
    }

    /// Returns the last inputs of the player, oldest first.
    pub(super) fn history(&self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for row in self.campaign.campaign().rows_back()?.take(20) {
            lines.extend(row?.row.string_at(&["user_input"]).filter(|line| !line.is_empty()));
        }
        lines.reverse();
        Ok(lines)
    }

    /// Returns the names that the player knows: the party, the places, and who and what is here.
    pub(super) fn known_names(&self) -> Result<Vec<String>, Error> {
        let campaign = self.campaign.campaign();
        let mut names = campaign.party()?;
        names.extend(campaign.areas()?.into_iter().map(|area| area.name));
        let actor = campaign.active_actor()?.unwrap_or_default();
        let here = campaign.characters()?.into_iter().find(|one| one.id == actor);
        let here = here.and_then(|one| one.area).unwrap_or_default();
        let state = campaign.state()?;
        for kind in ["people", "items", "foes"] {
            let all = state.value_at(&["everturn", "world", kind]);
            for (_, one) in all.map(|all| all.children()).unwrap_or_default() {
                let at = one.string_at(&["at"]).unwrap_or_default();
                let is_hidden =
                    one.value_at(&["hidden"]).is_some_and(|hidden| hidden.to_line() == "true");
                if (at == here || at == actor) && !is_hidden {
                    names.extend(one.string_at(&["name"]));
                }
            }
        }
        Ok(names)
    }

    /// Handles a line. Only a failure that ends the game is an error.
    pub(super) fn line(&mut self, line: &str, page: &mut PlayPage) -> Result<NextStep, Error> {
        match parse_line(line) {
            PlayerInput::Quit => return Ok(NextStep::Leave),
            PlayerInput::Say(input) => self.turn(input, page)?,
            PlayerInput::Nothing => {
                if self.unanswered.is_some() {
                    self.retry(page)?;
                }
            }
            PlayerInput::Retry => self.retry(page)?,
            PlayerInput::Edit(text) => self.retell(Some(text), page)?,
            PlayerInput::Continue => self.turn(CONTINUE, page)?,
            PlayerInput::Versions => self.versions(page)?,
            PlayerInput::Sheet(who) => self.guide.sheet(self.campaign.campaign(), who, page)?,
            PlayerInput::Inventory(who) => {
                self.guide.inventory(self.campaign.campaign(), who, page)?;
            }
            PlayerInput::Quest => self.guide.quest(&mut self.campaign, page)?,
            PlayerInput::Roll(dice) => self.roll(dice, page),
            PlayerInput::Look => self.guide.scene(&mut self.campaign, page)?,
            PlayerInput::Map => self.guide.map(self.campaign.campaign(), page)?,
            PlayerInput::Party => self.guide.party(self.campaign.campaign(), page)?,
            PlayerInput::Log(turns) => log_view::show_log(self.campaign.campaign(), turns, page)?,
            PlayerInput::Help => help(page),
            PlayerInput::Wrong(what) => self.refuse(what, page),
            PlayerInput::Marks => self.marks(page)?,
            other => {
                let done = self.change(&other, page);
                self.report_failure(done, page)?;
            }
        }
        Ok(NextStep::Ask)
    }

    /// Rolls dice for the player. That is not a turn.
    fn roll(&mut self, dice: &str, page: &mut PlayPage) {
        match DiceExpression::parse(dice) {
            Ok(dice) => {
                let now = u64::try_from((self.clock)().as_nanosecond()).unwrap_or_default();
                self.rolls += 1;
                let rolled = dice.roll(now.wrapping_add(self.rolls << 32));
                page.say(BlockStyle::Plain, rolled.to_string());
            }
            Err(error) => self.refuse(format!("{dice}: {error}"), page),
        }
    }

    /// Runs a command that changes the campaign or writes a file.
    fn change(&mut self, word: &PlayerInput<'_>, page: &mut PlayPage) -> Result<(), SessionError> {
        let now = (self.clock)();
        let mut say = |text: String| page.say(BlockStyle::Plain, text);
        match word {
            PlayerInput::Undo(turns) => {
                let undone = self.campaign.undo(*turns, now)?;
                say(undone.row.string_at(&["assistant_text"]).unwrap_or_default());
                self.unanswered = None;
            }
            PlayerInput::Redo(turns) => {
                let redone = self.campaign.redo(*turns, now)?;
                say(redone.row.string_at(&["assistant_text"]).unwrap_or_default());
            }
            PlayerInput::Version(version) => {
                let version = usize::try_from(*version).unwrap_or(usize::MAX);
                let chosen = self.campaign.choose_version(version, now)?;
                say(chosen.row.string_at(&["assistant_text"]).unwrap_or_default());
                if let Some(row) = self.campaign.campaign().story_back()?.next().transpose()? {
                    say(row.row.string_at(&["assistant_text"]).unwrap_or_default());
                }
            }
            PlayerInput::Rewind(turn) => {
                let branch = self.campaign.rewind(*turn)?;
                say(format!("Back at turn {turn}. The original turns are kept as {}.", branch.id));
                self.unanswered = None;
            }
            PlayerInput::Fork => {
                let fork = self.campaign.fork(self.campaign.turn(), None)?;
                let again = next_command(&format!("play {}", fork.id));
                say(format!("A copy is kept as {}; play it with: {again}", fork.id));
            }
            PlayerInput::Mark(name) => {
                let mark = self.campaign.add_mark(&NewMark::bookmark(name), now)?;
                say(format!("Turn {} is marked: {} ({}).", mark.turn, mark.name, mark.id));
            }
            PlayerInput::Actor(Some(actor)) => {
                let party = self.campaign.campaign().party()?;
                if !party.iter().any(|member| member == actor) {
                    let what = format!("{actor} is not in the party: {}", party.join(", "));
                    return Err(SessionError::Request { what });
                }
                self.campaign.select_actor(actor)?;
                say(format!("{actor} is now the active actor."));
            }
            PlayerInput::Actor(None) => {
                say(self.campaign.campaign().active_actor()?.unwrap_or_default());
            }
            PlayerInput::Settings(words) => self.settings(words, page)?,
            PlayerInput::Export(file) => self.export(Path::new(file), page)?,
            _ => {}
        }
        Ok(())
    }

    /// Shows a failure; only a store error ends the game.
    fn report_failure(
        &mut self,
        done: Result<(), SessionError>,
        page: &mut PlayPage,
    ) -> Result<(), Error> {
        match done {
            Ok(()) => Ok(()),
            Err(error @ SessionError::Store(_)) => Err(error.into()),
            Err(error) => {
                self.refuse(Error::from(error).to_string(), page);
                Ok(())
            }
        }
    }

    fn refuse(&mut self, what: String, page: &mut PlayPage) {
        self.failures += 1;
        page.say(BlockStyle::Alarm, what);
    }

    /// Plays a turn. An unanswered line is kept.
    fn turn(&mut self, input: &str, page: &mut PlayPage) -> Result<(), Error> {
        let now = (self.clock)();
        let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        let submission =
            Submission { user_input: input, actor: None, seed: seed ^ self.campaign.turn() };
        if self.narrator.needs_recall() {
            self.narrator.recall(self.recall.find(input, self.campaign.turn()));
        }
        let played = self.campaign.submit(&submission, self.narrator, now);
        self.show_played(input, played, page)
    }

    /// Has the last turn of the story narrated again, with the same line or another one.
    fn retell(&mut self, input: Option<&str>, page: &mut PlayPage) -> Result<(), Error> {
        let now = (self.clock)();
        let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        match self.campaign.retell(input, seed, self.narrator, now) {
            Ok(played) => {
                self.show_played("", Ok(played), page)?;
                let last = self.campaign.campaign().last_versions()?;
                let count = last.map_or(0, |(versions, _)| versions.len());
                page.say(
                    BlockStyle::Faint,
                    format!(
                        "This is version {count}; /versions lists all, /version N chooses one."
                    ),
                );
                Ok(())
            }
            Err(CampaignError::Store(error)) => Err(error.into()),
            Err(error) => self.report_failure(Err(error.into()), page),
        }
    }

    /// Lists the versions of the last turn.
    fn versions(&mut self, page: &mut PlayPage) -> Result<(), Error> {
        let Some((versions, current)) = self.campaign.campaign().last_versions()? else {
            page.say(BlockStyle::Faint, "There is no turn yet.");
            return Ok(());
        };
        for (at, row) in versions.iter().enumerate() {
            let said = |key: &str| row.row.string_at(&[key]).unwrap_or_default();
            let mark = if at == current { "*" } else { " " };
            let look = if at == current { BlockStyle::Strong } else { BlockStyle::Plain };
            page.say(
                look,
                format!("{mark} {}  > {}", at + 1, log_view::shortened(&said("user_input"))),
            );
            page.say(BlockStyle::Plain, said("assistant_text"));
            page.gap();
        }
        page.say(
            BlockStyle::Faint,
            "A star marks the current version; /version N chooses another.",
        );
        Ok(())
    }

    /// Shows a turn that was played. An unanswered line is kept.
    fn show_played(
        &mut self,
        input: &str,
        played: Result<PlayOutcome, CampaignError>,
        page: &mut PlayPage,
    ) -> Result<(), Error> {
        match played {
            Ok(played) => {
                self.unanswered = None;
                let text = played.row.string_at(&["assistant_text"]).unwrap_or_default();
                let seen = self.narrator.has_shown(&text);
                log_view::show_turn(
                    &played.row,
                    seen,
                    &self.guide,
                    self.campaign.campaign(),
                    page,
                )?;
                for finding in &played.findings {
                    page.say(BlockStyle::Alarm, finding.to_string());
                }
                if let Some(reason) = self.campaign.campaign().end_reason()? {
                    page.gap();
                    let what =
                        format!("The campaign has ended: {reason}. Go back with /undo or /rewind.");
                    page.say(BlockStyle::Alarm, what);
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
            Err(error) => self.report_failure(Err(error.into()), page),
        }
    }

    /// Keeps an unanswered line, and shows how to send it again.
    fn keep(&mut self, input: &str, why: &str, page: &mut PlayPage) {
        self.unanswered = Some(input.to_owned());
        self.refuse(why.to_owned(), page);
        page.say(BlockStyle::Faint, "Your line is kept: Enter or /retry sends it again.");
    }

    fn retry(&mut self, page: &mut PlayPage) -> Result<(), Error> {
        match self.unanswered.take() {
            Some(input) => self.turn(&input, page),
            None => self.retell(None, page),
        }
    }

    fn marks(&mut self, page: &mut PlayPage) -> Result<(), Error> {
        match self.campaign.campaign().marks() {
            Ok(marks) => {
                if marks.is_empty() {
                    page.say(BlockStyle::Faint, "There are no marks; add one with /mark NAME.");
                }
                for mark in marks {
                    page.say(
                        BlockStyle::Plain,
                        format!("{}  turn {}  {}", mark.id, mark.turn, mark.name),
                    );
                }
                Ok(())
            }
            Err(error) => self.report_failure(Err(error), page),
        }
    }

    fn settings(&mut self, words: &[&str], page: &mut PlayPage) -> Result<(), SessionError> {
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
                page.say(BlockStyle::Plain, format!("{}={value}", setting.key));
            }
        }
        if page.is_empty() {
            page.say(BlockStyle::Plain, "Unknown setting; /settings lists all settings.");
        }
        Ok(())
    }

    fn export(&mut self, file: &Path, page: &mut PlayPage) -> Result<(), SessionError> {
        let campaign = self.campaign.campaign();
        let place = SessionRef { id: campaign.id().to_string(), path: campaign.dir().clone() };
        let reader = campaign::FORMAT.open(&self.store, &place)?;
        let summary = campaign::FORMAT.summary(&self.store, &place)?;
        let written = exports::format_of(file).and_then(|format| {
            // Dice rolls and tables are not part of the story.
            let mut choices = ExportOptions::defaults_for(format, ExportStyle::Rich);
            choices.set(ExportPart::Tools, format == ExportFormat::Json);
            choices.set(ExportPart::Snapshots, format == ExportFormat::Json);
            let (reader, now) = (&*reader, settings::now());
            let mask = format.masks_secrets().then(|| SecretRules::standard() as &dyn SecretMask);
            let template = None;
            choices.pages.fonts.system = true;
            let export =
                Export { summary: &summary, reader, choices: &choices, mask, template, now };
            exports::write_file(&export, format, file, ExistingFile::Kept, Error::from)
        });
        match written {
            Ok(report) => {
                let turns = count_noun(report.turns, "turn is", "turns are");
                let said = format!("{turns} in {}.", file.display());
                page.say(BlockStyle::Plain, said);
            }
            Err(error) => self.refuse(error.to_string(), page),
        }
        Ok(())
    }
}

fn help(page: &mut PlayPage) {
    page.say(BlockStyle::Plain, "Say what you do, in plain words: look around, go north, talk to someone, search, take something, rest, explore, attack.");
    page.gap();
    let width = COMMANDS.iter().map(|command| usage(command).len()).max().unwrap_or(0);
    for command in COMMANDS {
        page.item(BlockStyle::Plain, format!("{:width$}  ", usage(command)), command.does);
    }
}
