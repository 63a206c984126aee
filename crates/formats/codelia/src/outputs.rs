//! The cache of tool outputs: the results of tools, by a reference that a message can hold.
//!
//! The program names an output after its call id, with `_` for every character that a name cannot contain, and
//! overwrites an existing file of that name. Here a name taken by another output is made unique by a checksum. Nothing
//! is evicted automatically: [`ToolOutputs::plan`] lists what would be removed, and [`ToolOutputs::evict`] removes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::message::{MessageRole, role};
use super::paths::{HomePaths, OUTPUT_END};
use everturn_json::checksum::checksum;
use everturn_json::names::{FilePath, Name, NameError};
use everturn_store::disk::FileKind;
use everturn_store::read_optional;
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError};

/// How much of an output is shown at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Characters per line; the rest is cut.
    pub line_chars: usize,
    /// Bytes of all lines together.
    pub bytes: usize,
}

impl Default for OutputLimits {
    fn default() -> OutputLimits {
        OutputLimits { line_chars: 1000, bytes: 65536 }
    }
}

/// A shown line of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// Its text, up to the limits.
    pub text: String,
    /// Whether the text was cut.
    pub cut: bool,
}

/// The outputs to evict, with reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvictionPlan {
    /// The files to remove, with their sizes and the reasons.
    pub files: Vec<(FilePath, u64, String)>,
    /// The total size before, in bytes.
    pub before: u64,
    /// The total size afterwards, in bytes.
    pub after: u64,
}

/// The outputs in a directory of a store.
pub struct ToolOutputs {
    store: Arc<dyn Store>,
    dir: FilePath,
}

/// The maximum number of characters of an id in a name.
const NAME_LENGTH: usize = 200;

impl ToolOutputs {
    /// The outputs of a home with everything below one directory.
    #[must_use]
    pub fn in_home(store: Arc<dyn Store>) -> ToolOutputs {
        ToolOutputs { store, dir: HomePaths::default().outputs() }
    }

    /// The outputs in a store that is the cache itself, as with XDG directories.
    pub fn in_cache(store: Arc<dyn Store>) -> Result<ToolOutputs, NameError> {
        Ok(ToolOutputs { store, dir: FilePath::parse("tool-output")? })
    }

    pub(super) fn file(&self, reference: &str) -> Result<FilePath, CodeliaError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if reference.is_empty() || !reference.chars().all(plain) {
            return Err(CodeliaError::input(format!("{reference:?} is not an output reference")));
        }
        Ok(self.dir.join(&Name::parse(&format!("{reference}{OUTPUT_END}"))?))
    }

    /// Stores an output, and returns its reference.
    ///
    /// The same output of the same call has one reference, however often it is stored.
    pub fn put(&self, call_id: &str, output: &str) -> Result<String, CodeliaError> {
        let own = reference(call_id);
        let sum = checksum(&[call_id.as_bytes(), b"\0", output.as_bytes()]);
        let distinct = format!("{own}-{sum:016x}");
        let candidates = [own, distinct];
        let files: Vec<FilePath> =
            candidates.iter().filter_map(|name| self.file(name).ok()).collect();
        let writer = self.store.lock(&files)?;
        for name in candidates {
            // Names reserved for devices are skipped.
            let Ok(file) = self.file(&name) else { continue };
            match read_optional(&self.store, &file)? {
                Some(bytes) if bytes == output.as_bytes() => return Ok(name),
                Some(_) => {}
                None => {
                    let (expect, mode) = (Precondition::Absent, FileMode::Default);
                    let bytes = output.as_bytes().to_vec();
                    let step = Step::Replace { file, expect, bytes, mode };
                    writer.commit(vec![step], Durability::Synced)?;
                    writer.release()?;
                    return Ok(name);
                }
            }
        }
        Err(CodeliaError::input(format!("no free reference for the output of {call_id:?}")))
    }

    /// The whole output.
    pub fn get(&self, reference: &str) -> Result<Vec<u8>, CodeliaError> {
        let file = self.file(reference)?;
        match read_optional(&self.store, &file)? {
            Some(bytes) => Ok(bytes),
            None => Err(CodeliaError::input(format!("there is no output {reference:?}"))),
        }
    }

    /// Lines of an output, starting at `first`, up to the limits.
    pub fn read(
        &self,
        reference: &str,
        first: u64,
        count: usize,
        limits: OutputLimits,
    ) -> Result<Vec<OutputLine>, CodeliaError> {
        let text = self.text(reference)?;
        Ok(shown(numbered(&text).filter(|(number, _)| *number >= first).take(count), limits))
    }

    /// The lines that contain a text.
    pub fn grep(
        &self,
        reference: &str,
        needle: &str,
        limits: OutputLimits,
    ) -> Result<Vec<OutputLine>, CodeliaError> {
        let text = self.text(reference)?;
        Ok(shown(numbered(&text).filter(|(_, line)| line.contains(needle)), limits))
    }

    /// A range of characters of one line, for lines that are too long to be shown whole.
    pub fn read_line(
        &self,
        reference: &str,
        number: u64,
        first: usize,
        limits: OutputLimits,
    ) -> Result<OutputLine, CodeliaError> {
        let text = self.text(reference)?;
        let line = numbered(&text).find(|(found, _)| *found == number).map(|(_, line)| line);
        let missing = || CodeliaError::input(format!("{reference:?} has no line {number}"));
        let rest: String = line.ok_or_else(missing)?.chars().skip(first).collect();
        let (text, cut) = cut(&rest, limits.line_chars, limits.bytes);
        Ok(OutputLine { number, text, cut })
    }

    fn text(&self, reference: &str) -> Result<String, CodeliaError> {
        Ok(String::from_utf8_lossy(&self.get(reference)?).into_owned())
    }

    /// The references of all outputs, with their sizes in bytes.
    pub fn list(&self) -> Result<Vec<(String, u64)>, CodeliaError> {
        let mut found = Vec::new();
        for (reference, file) in self.files()? {
            found.push((reference, self.store.stat(&file)?.map_or(0, |stat| stat.len)));
        }
        Ok(found)
    }

    /// The references of all outputs, with their files.
    fn files(&self) -> Result<Vec<(String, FilePath)>, CodeliaError> {
        let entries = match self.store.list(&self.dir) {
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            other => other?.entries,
        };
        let files = entries.iter().filter(|entry| entry.kind == FileKind::File && !entry.linked);
        let named = files.filter_map(|entry| {
            let reference = entry.name.as_str().strip_suffix(OUTPUT_END)?;
            Some((reference.to_owned(), self.dir.join(&entry.name)))
        });
        Ok(named.collect())
    }

    /// Plans the evictions that leave at most `most` bytes: first outputs that no session refers to, then those of the
    /// least recently changed sessions. File times are ignored.
    pub fn plan(&self, home: &CodeliaHome, most: u64) -> Result<EvictionPlan, CodeliaError> {
        let files = self.files()?;
        if files.is_empty() {
            return Ok(EvictionPlan::default());
        }
        let used = references(home)?;
        let mut found = Vec::new();
        let mut before = 0;
        for (reference, file) in files {
            let size = self.store.stat(&file)?.map_or(0, |stat| stat.len);
            before += size;
            found.push((used.get(&reference).cloned(), file, size));
        }
        found.sort();
        let mut plan = EvictionPlan { files: Vec::new(), before, after: before };
        for (used, file, size) in found {
            if plan.after <= most {
                break;
            }
            plan.after -= size;
            let why = match used {
                None => "no session refers to it".to_owned(),
                Some((time, session)) => format!("last used by {session}, which was saved {time}"),
            };
            plan.files.push((file, size, why));
        }
        Ok(plan)
    }

    /// Removes the files of a plan, all or none, if they are unchanged.
    pub fn evict(&self, plan: &EvictionPlan) -> Result<(), CodeliaError> {
        let files: Vec<FilePath> = plan.files.iter().map(|(file, _, _)| file.clone()).collect();
        if files.is_empty() {
            return Ok(());
        }
        let writer = self.store.lock(&files)?;
        for (file, size, _) in &plan.files {
            if self.store.stat(file)?.map(|stat| stat.len) != Some(*size) {
                return Err(CodeliaError::input(format!(
                    "{file} has changed since the plan was created"
                )));
            }
        }
        let steps = files.into_iter().map(|path| Step::Remove { path }).collect();
        writer.commit(steps, Durability::Synced)?;
        Ok(writer.release()?)
    }
}

/// The reference that the program gives to the output of a call.
pub(super) fn reference(call_id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    call_id.chars().map(plain).take(NAME_LENGTH).collect()
}

/// The session that used each output last: the time of its save, and its id.
fn references(home: &CodeliaHome) -> Result<BTreeMap<String, (String, String)>, CodeliaError> {
    let mut used: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut use_it = |reference: String, user: &(String, String)| {
        let known = used.entry(reference).or_insert_with(|| user.clone());
        if *known < *user {
            known.clone_from(user);
        }
    };
    for session in &home.sessions().sessions {
        let time = session.row.as_ref().map(|row| row.updated_at.clone()).unwrap_or_default();
        let user = (time, session.id.to_string());
        for stored in home.messages(&session.id)? {
            let message = stored?.message;
            if role(&message) != MessageRole::Tool {
                continue;
            }
            if let Some(id) = message.string_at(&["output_ref", "id"]) {
                use_it(id, &user);
            }
            if let Some(id) = message.string_at(&["tool_call_id"]) {
                use_it(reference(&id), &user);
            }
        }
    }
    Ok(used)
}

fn numbered(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines())
}

fn cut(line: &str, chars: usize, bytes: usize) -> (String, bool) {
    let end = line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at);
    let end = line.floor_char_boundary(end.min(bytes));
    (line.get(..end).unwrap_or_default().to_owned(), end < line.len())
}

/// Lines within the limits.
fn shown<'t>(lines: impl Iterator<Item = (u64, &'t str)>, limits: OutputLimits) -> Vec<OutputLine> {
    let mut room = limits.bytes;
    let mut shown = Vec::new();
    for (number, line) in lines {
        if room == 0 {
            break;
        }
        let (text, cut) = cut(line, limits.line_chars, room);
        room = room.saturating_sub(text.len() + 1);
        shown.push(OutputLine { number, text, cut });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_store::MemoryStore;

    fn outputs() -> ToolOutputs {
        ToolOutputs::in_home(Arc::new(MemoryStore::default()))
    }

    #[test]
    fn outputs_whose_calls_look_alike_are_kept_apart() {
        let outputs = outputs();
        let first = outputs.put("call/bad id:1", "one").unwrap();
        assert_eq!(first, "call_bad_id_1", "the name that the program assigns, if it is free");
        let second = outputs.put("call.bad.id.1", "two").unwrap();
        assert_ne!(first, second);
        assert_eq!(outputs.get(&first).unwrap(), b"one");
        assert_eq!(outputs.get(&second).unwrap(), b"two");
        assert_eq!(outputs.put("call/bad id:1", "one").unwrap(), first);
        assert_eq!(outputs.put("call.bad.id.1", "two").unwrap(), second);
    }

    #[test]
    fn no_id_makes_a_name_that_is_none() {
        let outputs = outputs();
        for id in ["../../etc/passwd", "con", "", "日本", "a\0b", &"x".repeat(5000)] {
            let reference = outputs.put(id, "text").unwrap();
            assert_eq!(outputs.get(&reference).unwrap(), b"text", "{id}");
        }
        for reference in ["..", "../x", "a/b", "", "a.b", "a\0"] {
            assert!(outputs.get(reference).is_err(), "{reference:?}");
        }
    }

    #[test]
    fn lines_are_shown_within_limits() {
        let outputs = outputs();
        let text = format!("one\ntwo two\n{}\nfour", "é".repeat(1200));
        let reference = outputs.put("call", &text).unwrap();
        let limits = OutputLimits::default();
        let numbers =
            |lines: &[OutputLine]| lines.iter().map(|line| line.number).collect::<Vec<_>>();
        let lines = outputs.read(&reference, 2, 2, limits).unwrap();
        assert_eq!(numbers(&lines), [2, 3]);
        assert_eq!((lines[1].text.chars().count(), lines[1].cut), (1000, true));
        assert_eq!(numbers(&outputs.grep(&reference, "o", limits).unwrap()), [1, 2, 4]);
        let rest = outputs.read_line(&reference, 3, 1000, limits).unwrap();
        assert_eq!((rest.text.chars().count(), rest.cut), (200, false));
        assert!(outputs.read_line(&reference, 5, 0, limits).is_err());
        let few = OutputLimits { line_chars: 1000, bytes: 6 };
        let lines = outputs.read(&reference, 1, 10, few).unwrap();
        assert_eq!((lines.len(), lines[1].text.as_str(), lines[1].cut), (2, "tw", true));
    }
}
