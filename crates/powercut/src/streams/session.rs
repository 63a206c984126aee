//! [`SessionStream`]: a writer that appends items to one session, in long-running processes and one-shot commands; and
//! another program that saves the session's document between them, without a flush.

use std::fs;
use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;

use super::{KILLED, Stage, filler};
use crate::error::{PowercutError, cannot};
use crate::everturn::{Aim, LineWriter, kill_later, short};
use crate::formats::Format;
use crate::model::{ForeignSave, Item, SessionModel, Span};

/// Whether another program writes the same document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Company {
    /// Only Everturn writes the session.
    Alone,
    /// Another program saves the document once in a while.
    Foreign,
}

/// The maximum number of items for one process.
const MOST_ITEMS: usize = 40;

/// The writer of one session.
pub(crate) struct SessionStream<'a> {
    stage: &'a Stage<'a>,
    format: &'static dyn Format,
    company: Company,
    rng: Rng,
    model: SessionModel,
}

/// The fate of an item that was sent.
enum Fate {
    Acknowledged,
    Open(Item),
}

impl<'a> SessionStream<'a> {
    /// Creates the session `id` in `root`.
    pub(crate) fn new(
        stage: &'a Stage<'a>,
        format: &'static dyn Format,
        root: &str,
        id: &str,
        company: Company,
        rng: Rng,
    ) -> Result<SessionStream<'a>, PowercutError> {
        let home = stage.everturn.home().display().to_string();
        let create = format.create(id, &home);
        let outcome = stage.run(root, &create.arguments, &create.input)?;
        outcome.success().map_err(|why| {
            PowercutError::Recording(format!("new {} {id}: {why}", format.name()))
        })?;
        let model = SessionModel {
            format: format.name().to_owned(),
            root: root.to_owned(),
            id: id.to_owned(),
            ready: stage.position(),
            items: Vec::new(),
            foreign_saves: Vec::new(),
            failures: Vec::new(),
        };
        Ok(SessionStream { stage, format, company, rng, model })
    }

    /// Writes until it is time to stop.
    pub(crate) fn run(mut self) -> Result<SessionModel, PowercutError> {
        while self.stage.goes_on() && self.model.failures.is_empty() {
            self.maybe_foreign_save()?;
            self.one_process()?;
        }
        Ok(self.model)
    }

    /// Runs one process: some items, and a clean or a violent end.
    fn one_process(&mut self) -> Result<(), PowercutError> {
        let is_condemned = self.rng.u8(..100) < KILLED;
        let is_aimed = is_condemned && self.rng.bool();
        let is_single = self.rng.u8(..100) < 25;
        let arguments = if is_single {
            self.format.append_one(&self.model.id)
        } else {
            self.format.append_lines(&self.model.id)
        };
        let aim = is_aimed.then(|| Aim::choose(&mut self.rng));
        let arguments = self.stage.arguments(&self.model.root, &arguments);
        let mut writer = self.stage.everturn.start(&arguments, aim)?;
        let count = if is_single { 1 } else { self.rng.usize(1..=MOST_ITEMS) };
        let mut open = None;
        let mut killer = None;
        for number in 1..=count {
            if number == count && is_condemned && !is_aimed {
                let after = Duration::from_micros(self.rng.u64(..15_000));
                killer = writer.pid().map(|pid| kill_later(pid, after));
            }
            if number > 1 {
                self.maybe_foreign_save()?;
            }
            if let Fate::Open(item) = self.send(&mut writer, is_single) {
                open = Some(item);
                break;
            }
            if !self.stage.goes_on() {
                break;
            }
        }
        if let Some(killer) = killer {
            killer.join().ok();
        }
        let (status, stderr) = writer.finish()?;
        if status.success() && open.is_none() {
            return Ok(());
        }
        let may_fail = is_condemned || self.company == Company::Foreign;
        if status.code().is_some() && !may_fail {
            let message = format!("{} failed: {}", self.model.id, short(&stderr));
            self.model.failures.push(message);
        }
        self.resynchronise(open)
    }

    /// Sends the next item.
    fn send(&mut self, writer: &mut LineWriter, is_single: bool) -> Fate {
        let per_item = self.format.messages_per_item();
        let before = self.model.items.len() * per_item;
        let words: Vec<String> = (1..=per_item)
            .map(|number| {
                format!("{}n{}x{:06x}", self.model.id, before + number, self.rng.u32(..1 << 24))
            })
            .collect();
        let line = self.format.line(&words, before + per_item, &filler(&mut self.rng));
        let begun = self.stage.position();
        let answer = if is_single { writer.send_last(&line) } else { writer.send(&line) };
        let position = self.stage.position();
        let is_stored = answer
            .and_then(|answer| serde_json::from_str::<Value>(&answer).ok())
            .is_some_and(|answer| self.format.is_stored(&answer));
        let acknowledged = is_stored.then_some(position);
        let item = Item { words, span: Span { begun, acknowledged } };
        if is_stored {
            self.model.items.push(item);
            Fate::Acknowledged
        } else {
            Fate::Open(item)
        }
    }

    /// Checks the session after a process has died: everything acknowledged must exist, and the open item may.
    fn resynchronise(&mut self, open: Option<Item>) -> Result<(), PowercutError> {
        if self.rng.bool() {
            self.maybe_foreign_save()?;
        }
        let scope = format!("zz{}", self.model.id);
        let (recovery, window) = self.stage.recover(&self.model.root, &scope)?;
        if let Err(why) = recovery.success() {
            self.model.failures.push(format!("{}: recovery after a kill: {why}", self.model.id));
            return Ok(());
        }
        let arguments = ["show", &self.model.id, "--json"].map(str::to_owned);
        let shown = self.stage.run(&self.model.root, &arguments, "")?;
        let words = match shown.success().and_then(|()| shown_words(self.format, &shown.lines()?)) {
            Ok(words) => words,
            Err(why) => {
                self.model.failures.push(format!("{}: show after a kill: {why}", self.model.id));
                return Ok(());
            }
        };
        let mut expected: Vec<&String> = self.model.words(usize::MAX).collect();
        let is_before = words.iter().eq(expected.iter().copied());
        expected.extend(open.iter().flat_map(|item| &item.words));
        let is_after = words.iter().eq(expected.iter().copied());
        if !is_before && !is_after {
            let message = format!(
                "{}: after a kill, {} messages are shown, {} were acknowledged",
                self.model.id,
                words.len(),
                self.model.words(usize::MAX).count()
            );
            self.model.failures.push(message);
        } else if !is_before {
            self.stage.prefer_recovery(window);
            self.model.items.extend(open);
        }
        Ok(())
    }

    /// Acts as another program that reads the document, makes a change and saves it.
    fn maybe_foreign_save(&mut self) -> Result<(), PowercutError> {
        if self.company == Company::Alone || self.rng.u8(..100) >= 15 {
            return Ok(());
        }
        let Some((file, change)) = self.format.foreign_document(&self.model.id) else {
            return Ok(());
        };
        let path = self.stage.root(&self.model.root).join(file);
        let Some(text) = changed(&path, change, self.rng.u32(..))? else {
            return Ok(());
        };
        let messages = self.model.words(usize::MAX).filter(|word| text.contains(*word)).count();
        let begun = self.stage.position();
        let cannot_save = || cannot(format!("save {}", path.display()));
        if self.rng.u8(..100) < 70 {
            let aside = path.with_extension("json.tmp");
            fs::write(&aside, text).map_err(cannot_save())?;
            fs::rename(&aside, &path).map_err(cannot_save())?;
        } else {
            fs::write(&path, text).map_err(cannot_save())?;
        }
        let ended = self.stage.position();
        self.model.foreign_saves.push(ForeignSave { begun, ended, messages });
        Ok(())
    }
}

/// Returns a document with another string at `keys`; `None` if it is not valid now.
fn changed(path: &Path, keys: &[&str], number: u32) -> Result<Option<String>, PowercutError> {
    let text = fs::read(path).map_err(cannot(format!("read {}", path.display())))?;
    let Ok(mut document) = serde_json::from_slice::<Value>(&text) else {
        return Ok(None);
    };
    let Some(value) = document.pointer_mut(&format!("/{}", keys.join("/"))) else {
        return Ok(None);
    };
    *value = Value::String(format!("changed by another program: {number}"));
    Ok(serde_json::to_string_pretty(&document).ok())
}

/// Returns the first words of the messages among the entries that `show` printed.
pub(crate) fn shown_words(format: &dyn Format, entries: &[Value]) -> Result<Vec<String>, String> {
    let messages = entries.iter().filter(|entry| format.is_message(entry));
    messages
        .map(|entry| {
            let text = entry.get("text").and_then(Value::as_str).ok_or("an entry without text")?;
            Ok(text.split(' ').next().unwrap_or_default().to_owned())
        })
        .collect()
}
