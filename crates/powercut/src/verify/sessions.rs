//! Checks sessions with appended items: `show`, `state`, `export`, and one more item.

use std::fs;

use serde_json::Value;

use super::{Examination, Fault};
use crate::error::PowercutError;
use crate::everturn::Outcome;
use crate::formats::{self, Format};
use crate::model::SessionModel;
use crate::streams::session::shown_words;
use crate::trees;

/// The words that a reader showed of a session.
type Shown = Result<Vec<String>, String>;

impl Examination<'_> {
    fn format(model: &SessionModel) -> Result<&'static dyn Format, PowercutError> {
        formats::by_name(&model.format)
            .ok_or_else(|| PowercutError::Usage(format!("unknown format {}", model.format)))
    }

    /// Runs all readers, before anything is written.
    pub(super) fn read_session(
        &mut self,
        model: &SessionModel,
        is_exported: bool,
    ) -> Result<(), PowercutError> {
        let format = Self::format(model)?;
        if self.is_excused(model)? {
            return self.stands_somewhere(model);
        }
        let shown = self.shown(model, format)?;
        if let Some((_, why)) = self.judge(model, format, &shown) {
            self.add(Fault::Reader, format!("show: {why}"));
        }
        if let Ok(words) = &shown {
            self.shown.insert(model.id.clone(), words.len());
        }
        if is_exported {
            let exported = self.exported(model)?;
            if let Some((_, why)) = self.judge(model, format, &exported) {
                self.add(Fault::Reader, format!("export: {why}"));
            } else if exported != shown {
                let text = format!("export: {} has other messages than show prints", model.id);
                self.add(Fault::Reader, text);
            }
        }
        if let Some(why) = self.wrong_state(model, format, &shown)? {
            self.add(Fault::Reader, format!("state: {why}"));
        }
        Ok(())
    }

    /// Compares a session after recovery.
    pub(super) fn compare_session(
        &mut self,
        model: &SessionModel,
        has_state: bool,
    ) -> Result<(), PowercutError> {
        self.acknowledged += model.bounds(self.position).least;
        let format = Self::format(model)?;
        if self.is_excused(model)? {
            return self.stands_somewhere(model);
        }
        let shown = self.shown(model, format)?;
        if let Some((fault, why)) = self.judge(model, format, &shown) {
            self.add(fault, why);
        } else if has_state && let Some(why) = self.wrong_state(model, format, &shown)? {
            self.add(Fault::Half, why);
        }
        Ok(())
    }

    /// Appends one more item.
    pub(super) fn append(&mut self, model: &SessionModel) -> Result<(), PowercutError> {
        let format = Self::format(model)?;
        if self.is_excused(model)? {
            return Ok(());
        }
        let Ok(mut expected) = self.shown(model, format)? else {
            // Already reported.
            return Ok(());
        };
        let per_item = format.messages_per_item();
        let total = expected.len() + per_item;
        let words: Vec<String> = (1..=per_item)
            .map(|number| format!("{}n{}xafter", model.id, expected.len() + number))
            .collect();
        let line = format.line(&words, total, "after the cut");
        let arguments = format.append_one(&model.id);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let outcome = self.run(&model.root, &arguments, &line)?;
        if let Err(why) = outcome.success() {
            self.add(Fault::Other, format!("append to {}: {why}", model.id));
            return Ok(());
        }
        expected.extend(words);
        let shown = self.shown(model, format)?;
        if shown.as_ref() != Ok(&expected) {
            let text = format!("{}: after one more item, {}", model.id, summary(&shown));
            self.add(Fault::Half, text);
        } else if let Some(why) = self.wrong_state(model, format, &shown)? {
            self.add(Fault::Half, format!("after one more item, {why}"));
        }
        Ok(())
    }

    fn shown(&self, model: &SessionModel, format: &dyn Format) -> Result<Shown, PowercutError> {
        let outcome = self.run(&model.root, &["show", &model.id, "--json"], "")?;
        Ok(outcome.success().and_then(|()| shown_words(format, &outcome.lines()?)))
    }

    fn exported(&self, model: &SessionModel) -> Result<Shown, PowercutError> {
        let arguments = ["export", &model.id, "--format", "json"];
        let outcome = self.run(&model.root, &arguments, "")?;
        Ok(outcome.success().and_then(|()| exported_words(&outcome, &model.id)))
    }

    /// Returns what is wrong with the shown items.
    fn judge(
        &self,
        model: &SessionModel,
        format: &dyn Format,
        shown: &Shown,
    ) -> Option<(Fault, String)> {
        let bounds = model.bounds(self.position);
        let id = &model.id;
        let words = match shown {
            Ok(words) => words,
            Err(why) => return Some((Fault::Lost, format!("{id}: {why}"))),
        };
        let per_item = format.messages_per_item();
        let count = words.len() / per_item;
        let described = format!(
            "{id}: {} messages, expected {} to {}",
            words.len(),
            bounds.least * per_item,
            bounds.most * per_item
        );
        if count < bounds.least {
            return Some((Fault::Lost, described));
        }
        if count > bounds.most || words.len() % per_item != 0 {
            return Some((Fault::Half, described));
        }
        let differs = words.iter().zip(model.words(count)).position(|(have, want)| have != want);
        differs.map(|index| (Fault::Half, format!("{described}; message {} differs", index + 1)))
    }

    /// Returns what is wrong with the state, given what was shown.
    fn wrong_state(
        &self,
        model: &SessionModel,
        format: &dyn Format,
        shown: &Shown,
    ) -> Result<Option<String>, PowercutError> {
        let Ok(words) = shown else { return Ok(None) };
        let outcome = self.run(&model.root, &["state", &model.id, "--json"], "")?;
        let document = match outcome.success().and_then(|()| outcome.document()) {
            Ok(document) => document,
            Err(why) => return Ok(Some(format!("{}: {why}", model.id))),
        };
        let expected = words.len() as u64;
        let turn = document.get("turn").and_then(Value::as_u64);
        let counted = document.get("state").and_then(|state| format.messages_in_state(state));
        // A commit whose document another program has replaced is in quarantine, and not in the state.
        let aside = self.conflicts(model)? as u64;
        let is_right = turn == Some(expected)
            && counted.is_none_or(|counted| {
                (expected.saturating_sub(aside)..=expected).contains(&counted)
            });
        Ok((!is_right).then(|| {
            let id = &model.id;
            format!("{id}: {expected} are shown, the state is at turn {turn:?} with {counted:?}")
        }))
    }

    /// Returns whether another program saved the document last, without a flush, and left it damaged or won a conflict.
    pub(super) fn is_excused(&self, model: &SessionModel) -> Result<bool, PowercutError> {
        if model.last_foreign_save(self.position).is_none() {
            return Ok(false);
        }
        let root = self.path(&model.root);
        let Some((file, _)) = Self::format(model)?.foreign_document(&model.id) else {
            return Ok(false);
        };
        let is_whole = fs::read(root.join(file))
            .is_ok_and(|text| serde_json::from_slice::<Value>(&text).is_ok());
        Ok(!is_whole || !self.quarantine(&model.root).is_empty())
    }

    /// Returns how many contents of the session's document went to quarantine because another program saved its own.
    pub(super) fn conflicts(&self, model: &SessionModel) -> Result<usize, PowercutError> {
        let Some((file, _)) = Self::format(model)?.foreign_document(&model.id) else {
            return Ok(0);
        };
        let prefix = format!("{}@", file.replace('/', "%2F"));
        let names = self.quarantine(&model.root);
        Ok(names.iter().filter(|name| name.starts_with(&prefix)).count())
    }

    /// Checks that even then the bytes of everything acknowledged exist somewhere, except those that the other program
    /// has merged into its own document.
    fn stands_somewhere(&mut self, model: &SessionModel) -> Result<(), PowercutError> {
        let least = model.bounds(self.position).least;
        let taken = model.last_foreign_save(self.position).map_or(0, |save| save.messages);
        let words: Vec<&String> = model.words(least).skip(taken).collect();
        if !trees::all_stand_somewhere(&self.path(&model.root), &words)? {
            self.add(Fault::Lost, format!("{}: bytes are lost after a foreign save", model.id));
        }
        self.show_journal(model)
    }

    /// Checks that the messages of a journal are shown if its document is empty.
    fn show_journal(&mut self, model: &SessionModel) -> Result<(), PowercutError> {
        let Some((file, _)) = Self::format(model)?.foreign_document(&model.id) else {
            return Ok(());
        };
        let document = self.path(&model.root).join(file);
        let is_blank = |text: Vec<u8>| text.iter().all(|b| *b == 0 || b.is_ascii_whitespace());
        let Ok(journal) = fs::read_to_string(document.with_extension("journal.jsonl")) else {
            return Ok(());
        };
        if !fs::read(&document).is_ok_and(is_blank) {
            return Ok(());
        }
        let outcome = self.run(&model.root, &["show", &model.id, "--json"], "")?;
        let is_missing =
            |word: &&String| journal.contains(*word) && !outcome.stdout.contains(*word);
        if model.words(usize::MAX).any(|word| is_missing(&word)) {
            let text = format!("show: {} lacks messages of its journal", model.id);
            self.add(Fault::Reader, text);
        }
        Ok(())
    }
}

/// Returns the words of the messages in an exported chat log.
fn exported_words(outcome: &Outcome, id: &str) -> Result<Vec<String>, String> {
    let document = outcome.document()?;
    let messages = document.get("messages").and_then(Value::as_array).ok_or("no messages")?;
    let prefix = format!("{id}n");
    let first_word = |message: &Value| {
        let text = message.pointer("/content/text")?.as_str()?;
        let word = text.split(' ').next()?;
        word.starts_with(&prefix).then(|| word.to_owned())
    };
    Ok(messages.iter().filter_map(first_word).collect())
}

fn summary(shown: &Shown) -> String {
    match shown {
        Ok(words) => format!("other messages are shown ({} in total)", words.len()),
        Err(why) => why.clone(),
    }
}
