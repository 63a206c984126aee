//! Checks a whole root: `ls`, `search`, `check`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Examination, Fault};
use crate::error::PowercutError;
use crate::formats;
use crate::model::{Model, SessionModel};

/// The findings of `check` that are allowed before recovery: that there is something to recover.
pub(super) const WAITING: &[&str] = &["commits-waiting"];

/// The findings of `check` that are allowed where another program saves documents: a save was found, and the content
/// that it superseded is or will be in quarantine.
const CHANGED_BY_OTHERS: &[&str] = &["changed-by-others", "quarantined"];

/// The finding of `check` that is allowed where a document saved by another program has superseded a commit.
const STATE_DIFFERS: &str = "state-differs";

impl<'a> Examination<'a> {
    /// Returns the sessions of a root with appended items, except those that another program has damaged.
    fn sessions(&self, root: &str) -> Result<Vec<&'a SessionModel>, PowercutError> {
        let mut sessions = Vec::new();
        for model in &self.models {
            if let Model::Session(model) = model
                && model.root == root
                && !self.is_excused(model)?
            {
                sessions.push(model);
            }
        }
        Ok(sessions)
    }

    /// Checks that `ls` lists each session, with a possible number of turns.
    pub(super) fn list(&mut self, root: &str) -> Result<(), PowercutError> {
        let sessions = self.sessions(root)?;
        if sessions.is_empty() {
            return Ok(());
        }
        let outcome = self.run(root, &["ls", "--json"], "")?;
        let lines = match outcome.success().and_then(|()| outcome.lines()) {
            Ok(lines) => lines,
            Err(why) => {
                self.add(Fault::Reader, format!("ls of {root}: {why}"));
                return Ok(());
            }
        };
        let turns: BTreeMap<&str, u64> = lines
            .iter()
            .filter_map(|line| Some((line.get("id")?.as_str()?, line.get("turns")?.as_u64()?)))
            .collect();
        for model in sessions {
            let bounds = model.bounds(self.position);
            let per_item = formats::by_name(&model.format).map_or(1, |f| f.messages_per_item());
            let possible: Vec<u64> =
                (bounds.least..=bounds.most).map(|count| (count * per_item) as u64).collect();
            let listed = turns.get(model.id.as_str()).copied();
            let shown = self.shown.get(&model.id).map(|shown| *shown as u64);
            if !listed.is_some_and(|turns| possible.contains(&turns)) || listed != shown {
                let text = format!(
                    "ls: {} has {listed:?} turns, not {possible:?}; show prints {shown:?}",
                    model.id
                );
                self.add(Fault::Reader, text);
            }
        }
        Ok(())
    }

    /// Checks that `search` finds the last acknowledged item of each session, and none that was not begun.
    pub(super) fn search(&mut self, root: &str) -> Result<(), PowercutError> {
        let mut expected = BTreeMap::new();
        for model in self.sessions(root)? {
            let least = model.bounds(self.position).least;
            if let Some(word) = model.words(least).last() {
                expected.insert(model.id.as_str(), word.as_str());
            }
        }
        if expected.is_empty() {
            return Ok(());
        }
        // The index must not date from before the cut.
        self.everturn.forget()?;
        let query = expected.values().copied().collect::<Vec<&str>>().join(" OR ");
        let outcome = self.run(root, &["search", "--json", &query], "")?;
        // A session that another program has damaged cannot be searched, and `search` says so.
        let is_incomplete = outcome.code == Some(4) && self.has_excuse(root)?;
        let done = if is_incomplete { Ok(()) } else { outcome.success() };
        let found = match done.and_then(|()| outcome.lines()) {
            Ok(lines) => lines,
            Err(why) => {
                self.add(Fault::Reader, format!("search in {root}: {why}"));
                return Ok(());
            }
        };
        for (id, word) in expected {
            let names = |line: &Value| line.get("session").and_then(Value::as_str) == Some(id);
            if !found.iter().any(names) {
                self.add(Fault::Reader, format!("search: {word} of {id} is not found"));
            }
        }
        self.search_future(root)
    }

    /// Checks that `search` finds no item that was sent after the cut.
    fn search_future(&mut self, root: &str) -> Result<(), PowercutError> {
        if !self.asks_for_future {
            return Ok(());
        }
        let mut future = Vec::new();
        for model in self.sessions(root)? {
            let item = model.items.get(model.bounds(self.position).most);
            future.extend(item.and_then(|item| item.words.last()).map(String::as_str));
        }
        if future.is_empty() {
            return Ok(());
        }
        let outcome = self.run(root, &["search", "--json", &future.join(" OR ")], "")?;
        if !outcome.stdout.trim().is_empty() {
            let text = format!("search in {root} finds later items: {}", outcome.stdout);
            self.add(Fault::Reader, text);
        }
        Ok(())
    }

    /// Checks that `check` reports allowed findings only.
    pub(super) fn check(
        &mut self,
        root: &str,
        allowed: &[&str],
        fault: Fault,
    ) -> Result<(), PowercutError> {
        if self.has_excuse(root)? {
            return Ok(());
        }
        let outcome = self.run(root, &["check", "--json"], "")?;
        if outcome.code == Some(0) {
            return Ok(());
        }
        let findings = outcome.lines().unwrap_or_default();
        let sessions = self.sessions(root)?;
        let is_shared = sessions.iter().any(|model| !model.foreign_saves.is_empty());
        let mut has_conflict = false;
        for model in sessions {
            has_conflict |= self.conflicts(model)? > 0;
        }
        let text = |finding: &Value, key| {
            finding.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let is_wrong = |finding: &&Value| {
            let code = text(finding, "code");
            let is_allowed = allowed.contains(&code.as_str())
                || (is_shared && CHANGED_BY_OTHERS.contains(&code.as_str()))
                || (has_conflict && code == STATE_DIFFERS);
            text(finding, "severity") != "warning" && !is_allowed
        };
        let wrong: Vec<&Value> = findings.iter().filter(is_wrong).collect();
        if outcome.code == Some(3) && wrong.is_empty() {
            return Ok(());
        }
        let said: Vec<String> = wrong
            .iter()
            .take(3)
            .map(|finding| {
                let (code, file) = (text(finding, "code"), text(finding, "file"));
                format!("{code} {file}: {}", text(finding, "message"))
            })
            .collect();
        let code = outcome.code;
        self.add(fault, format!("check of {root}: exit {code:?}, {}", said.join("; ")));
        Ok(())
    }

    /// Returns whether another program has damaged a session of this root.
    fn has_excuse(&self, root: &str) -> Result<bool, PowercutError> {
        for model in &self.models {
            if let Model::Session(model) = model
                && model.root == root
                && self.is_excused(model)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
