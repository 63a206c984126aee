//! The last turn of a session, when its line is lost and everything else of it is there.
//!
//! A turn is one commit, so a line at the end of the log that is torn was torn later: by a disk, or by another program.
//! Then its number is not given away again, and its changes stay explained: a line that says so takes its place,
//! as a repair would put it there.

use super::GameWriter;
use super::turns::replace;
use crate::branch::Tally;
use crate::changes::Change;
use crate::error::GameError;
use crate::meta::tree;
use crate::names::{Document, Log, LogFile, below};
use crate::repair::lost_line;
use everturn_json::finding::{Code, Finding};
use everturn_store::{At, Step, quarantine_dir};
use everturn_value::tree::Tree;

impl GameWriter {
    /// Puts a line in the place of the last turn. What is left of it is kept by whoever appends.
    pub(super) fn tell_lost(&mut self) -> Result<(), GameError> {
        let turn = self.session.turn;
        let changes: Vec<Change> =
            self.session.changes(turn, turn)?.collect::<Result<_, GameError>>()?;
        let near = self.near()?;
        let line = lost_line(
            &self.session,
            turn,
            &changes.iter().collect::<Vec<_>>(),
            Some(&near),
            &quarantine_dir(),
        );
        let dir = self.session.dir.clone();
        let covering = self.session.files()?.covering(Log::Turns, turn, turn);
        let current = || LogFile::current(Log::Turns, self.turns.first).path(Log::Turns, &dir);
        let file = covering.last().cloned().unwrap_or_else(current);
        let lines = format!("{}\n", line.to_line()).into_bytes();
        if turn >= self.turns.first {
            self.turns.bytes += lines.len() as u64;
        }
        // Nothing is known of its events, and the indexes may have them.
        let indexes = below(&dir, &["indexes"]);
        let mut steps = vec![Step::Append { file: file.clone(), at: At::End, lines }];
        if self.session.store.stat(&indexes)?.is_some() {
            steps.push(Step::Remove { path: indexes });
        }
        let counted = Tally::count(&self.session, turn - 1, turn)?;
        counted.note_events(&mut self.meta, &line);
        steps.push(replace(Document::Meta.in_dir(&dir), self.meta.to_bytes()));
        let receipt = self.commit(steps)?;
        self.session.meta = Some(self.meta.clone());
        self.session.look_again();
        self.findings.extend(receipt.findings);
        let message =
            format!("the line of turn {turn} is lost, and one that says so takes its place");
        let (line, offset, code) = (None, receipt.appended.first().copied(), Code::LostTurn);
        self.findings.push(Finding { file, line, offset, code, message });
        Ok(())
    }

    /// What the metadata tell about the turn.
    fn near(&self) -> Result<Tree, GameError> {
        let (scene, time) = (self.meta.text(&["current", "sceneId"]), self.last_time);
        let text = format!(
            "{{\"sceneId\":{},\"timestamp\":{},\"gameTime\":{}}}",
            tree(&scene).to_line(),
            tree(&time).to_line(),
            self.game_time.to_line()
        );
        Tree::parse(text).map_err(|bad| GameError::input(bad.to_string()))
    }
}
