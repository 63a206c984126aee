//! The last turn of a session, when its line is lost and everything else of it is there.
//!
//! A turn is one commit, so a line at the end of the log that is torn was torn later: by a disk, or by another program.
//! Then its number is not given away again, and its changes stay explained: a line that says so takes its place,
//! as a repair would put it there.

use super::GameWriter;
use super::turns::replace;
use crate::branch::TurnTotals;
use crate::changes::ChangeRecord;
use crate::error::GameError;
use crate::meta::tree;
use crate::paths::{DocumentFile, LogFile, LogKind, join_names};
use crate::repair::lost_line;
use everturn_json::finding::{Finding, FindingCode};
use everturn_store::{AppendAt, Step, quarantine_dir};
use everturn_value::tree::JsonTree;

impl GameWriter {
    /// Puts a line in the place of the last turn. What is left of it is kept by whoever appends.
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
        // Nothing is known of its events, and the indexes may have them.
        let indexes = join_names(&dir, &["indexes"]);
        let mut steps = vec![Step::Append { file: file.clone(), at: AppendAt::End, lines }];
        if self.session.store.stat(&indexes)?.is_some() {
            steps.push(Step::Remove { path: indexes });
        }
        let counted = TurnTotals::count(&self.session, turn - 1, turn)?;
        counted.note_events(&mut self.meta, &line);
        steps.push(replace(DocumentFile::Meta.in_dir(&dir), self.meta.to_bytes()));
        let receipt = self.commit(steps)?;
        self.session.meta = Some(self.meta.clone());
        self.session.invalidate_files();
        self.findings.extend(receipt.findings);
        let message =
            format!("the line of turn {turn} is lost, and one that says so takes its place");
        let (line, offset, code) = (None, receipt.appended.first().copied(), FindingCode::LostTurn);
        self.findings.push(Finding { file, line, offset, code, message });
        Ok(())
    }

    /// What the metadata tell about the turn.
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
