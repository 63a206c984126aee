//! Handles a last turn whose line is lost while all its other data exists.
//!
//! A turn is one commit, so a torn line at the end of the log was torn later: by a disk, or by another program. Its
//! number is not reused, and its changes still belong to a turn: a line that says so takes its place, the same one that
//! a repair would write.

use super::GameWriter;
use super::turns::replace;
use crate::branch::TurnTotals;
use crate::changes::ChangeRecord;
use crate::error::GameError;
use crate::last_turn::LOG_BYTES;
use crate::meta::tree;
use crate::paths::{DocumentFile, LogFile, LogKind, join_names};
use crate::repair::lost_line;
use everturn_json::finding::{Finding, FindingCode};
use everturn_store::{AppendAt, Step, quarantine_dir};
use everturn_value::tree::JsonTree;

impl GameWriter {
    /// Writes a line in place of the last turn. Appending keeps the remains of the old one.
    pub(super) fn restore_lost_line(&mut self) -> Result<(), GameError> {
        let turn = self.session.turn;
        let changes: Vec<ChangeRecord> =
            self.session.changes(turn, turn)?.collect::<Result<_, GameError>>()?;
        let near = self.nearby_turn()?;
        let line = lost_line(
            &self.session,
            turn,
            &changes.iter().collect::<Vec<_>>(),
            Some(&near),
            &quarantine_dir(),
        );
        let dir = self.session.dir.clone();
        let covering = self.session.files()?.covering(LogKind::Turns, turn, turn);
        let current =
            || LogFile::current(LogKind::Turns, self.turns.first).path(LogKind::Turns, &dir);
        let file = covering.last().cloned().unwrap_or_else(current);
        let lines = format!("{}\n", line.to_line()).into_bytes();
        if turn >= self.turns.first {
            self.turns.bytes += lines.len() as u64;
        }
        // Its events are unknown, and the indexes may contain them.
        let indexes = join_names(&dir, &["indexes"]);
        let mut steps = vec![Step::Append { file: file.clone(), at: AppendAt::End, lines }];
        if self.session.store.stat(&indexes)?.is_some() {
            steps.push(Step::Remove { path: indexes });
        }
        let counted = TurnTotals::count(&self.session, turn - 1, turn)?;
        counted.note_events(&mut self.meta, &line);
        self.meta.put(&LOG_BYTES, &self.turns.bytes);
        steps.push(replace(DocumentFile::Meta.in_dir(&dir), self.meta.to_bytes()));
        let receipt = self.commit(steps)?;
        self.session.meta = Some(self.meta.clone());
        self.session.invalidate_files();
        self.findings.extend(receipt.findings);
        let message = format!("the line of turn {turn} is lost; a placeholder was written");
        self.findings.push(
            Finding::new(&file, FindingCode::LostTurn, message)
                .at_offset(receipt.appended.first().copied()),
        );
        Ok(())
    }

    /// Returns the known fields of the turn, from the metadata.
    fn nearby_turn(&self) -> Result<JsonTree, GameError> {
        let (scene, time) = (self.meta.text(&["current", "sceneId"]), self.last_time);
        let text = format!(
            "{{\"sceneId\":{},\"timestamp\":{},\"gameTime\":{}}}",
            tree(&scene).to_line(),
            tree(&time).to_line(),
            self.game_time.to_line()
        );
        JsonTree::parse(text).map_err(|bad| GameError::input(bad.to_string()))
    }
}
