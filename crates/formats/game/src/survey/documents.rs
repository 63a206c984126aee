//! Surveys the documents of a session: metadata, states and indexes.

use super::{Survey, SurveyedStates};
use crate::error::GameError;
use crate::files::list_dir;
use crate::log::peek_turn;
use crate::paths::{DocumentFile, LogFile, LogKind, join_names};
use crate::state::GameState;
use crate::state_source::turn_of_states;
use everturn_json::checksum::checksum;
use everturn_json::finding::FindingCode;
use everturn_json::jsonl::LARGEST_TEXT;
use everturn_json::names::FilePath;
use everturn_store::StoreError;
use everturn_value::document;
use everturn_value::tree::{JsonTree, ValueKind};

/// The result of reading a document.
pub(super) enum DocumentResult {
    Missing,
    /// It exists but cannot be used; that was reported.
    Bad,
    /// The value, and the checksum of the file.
    Good(JsonTree, String),
}

impl Survey<'_> {
    /// Reads a document that should be an object.
    pub(super) fn document(&mut self, path: &FilePath) -> Result<DocumentResult, GameError> {
        let store = &self.session.store;
        let Some(stat) = self.readable(path, store.stat(path).map_err(GameError::from))? else {
            return Ok(DocumentResult::Bad);
        };
        let Some(stat) = stat else { return Ok(DocumentResult::Missing) };
        if stat.len > LARGEST_TEXT {
            // The generic file check covers this file, too.
            return Ok(DocumentResult::Bad);
        }
        self.begin(path);
        let bytes = self.session.store.read(path, 0..u64::MAX).map_err(GameError::from);
        let Some(bytes) = self.readable(path, bytes)? else { return Ok(DocumentResult::Bad) };
        let sum = format!("crc64:{:016x}", checksum(&[&bytes]));
        let document = match document::Document::parse(&bytes) {
            Ok(document) => document,
            Err(error) => {
                self.report(error.finding(path));
                return Ok(DocumentResult::Bad);
            }
        };
        let repeated = document.findings(path);
        if !repeated.is_empty() {
            self.facts.repeated.insert(path.clone());
        }
        for finding in repeated {
            self.report(finding);
        }
        let tree = JsonTree::parse(document.text().trim_start_matches('\u{feff}'));
        match tree {
            Ok(tree) if tree.kind() == ValueKind::Object => Ok(DocumentResult::Good(tree, sum)),
            Ok(tree) => {
                let message = format!("it is {}, not an object", tree.kind());
                self.note(path, FindingCode::BadDocument, message);
                Ok(DocumentResult::Bad)
            }
            Err(bad) => {
                self.note(path, FindingCode::BadDocument, bad.to_string());
                Ok(DocumentResult::Bad)
            }
        }
    }

    pub(super) fn metadata_file(&mut self) -> Result<(), GameError> {
        let path = DocumentFile::Meta.in_dir(&self.session.dir);
        let is_required = self.session.rules().keeps_metadata();
        match self.document(&path)? {
            DocumentResult::Missing if is_required => {
                self.facts.wrong_metadata = true;
                self.note(&path, FindingCode::BadMetadata, "the metadata is missing");
            }
            DocumentResult::Missing => {
                self.note(&path, FindingCode::NoMetadata, "the session has no metadata");
            }
            DocumentResult::Bad => self.facts.wrong_metadata = true,
            DocumentResult::Good(tree, _) => {
                self.facts.wrong_metadata |= self.facts.repeated.contains(&path);
                if is_required && tree.string_at(&["sessionId"]).is_none() {
                    self.facts.wrong_metadata = true;
                    self.note(
                        &path,
                        FindingCode::BadMetadata,
                        "the metadata does not name its session",
                    );
                }
            }
        }
        Ok(())
    }

    /// Reads the state files.
    pub(super) fn states(&mut self) -> Result<(), GameError> {
        let own = |document: DocumentFile| document.in_dir(&self.session.dir);
        let (world, player, npcs) =
            (own(DocumentFile::World), own(DocumentFile::Player), own(DocumentFile::Npcs));
        let mut stored = SurveyedStates {
            turn: self.session.noted_states(),
            verified: true,
            ..SurveyedStates::default()
        };
        (stored.world, stored.verified) = self.state(&world, "worldState", true)?;
        let (player, verified) = self.state(&player, "playerState", true)?;
        (stored.player, stored.verified) = (player, stored.verified && verified);
        let rules = self.session.rules();
        if rules.has_npcs_file() {
            (stored.npcs, _) = self.state(&npcs, "npcs", false)?;
        }
        if rules.has_scene_files() {
            if let Some(path) = self.session.named_file("currentScene") {
                let (scene, verified) = self.state(&path, "currentScene", true)?;
                (stored.scene, stored.verified) = (scene, stored.verified && verified);
            } else {
                stored.scene = Some(JsonTree::null());
            }
        }
        if stored.turn.is_none() && rules.defers_states() && self.files.snapshots.is_empty() {
            self.date_states(&mut stored)?;
        }
        self.facts.stored = stored;
        Ok(())
    }

    /// Finds the turn of states that another program has written. Where there are snapshots, it is not needed.
    fn date_states(&mut self, stored: &mut SurveyedStates) -> Result<(), GameError> {
        let (Some(world), Some(player)) = (&stored.world, &stored.player) else { return Ok(()) };
        let scene = stored.scene.clone().unwrap_or_else(JsonTree::null);
        let (world, player) = (world.clone(), player.clone());
        let state = GameState { world, player, scene, npcs: None };
        let found = turn_of_states(self.session, &state);
        let file = self.session.dir.clone();
        stored.turn = self.readable(&file, found)?.flatten();
        stored.verified = stored.turn.is_some();
        Ok(())
    }

    /// Reads a state. Returns also whether its file is as it was written.
    fn state(
        &mut self,
        path: &FilePath,
        field: &str,
        needed: bool,
    ) -> Result<(Option<JsonTree>, bool), GameError> {
        match self.document(path)? {
            DocumentResult::Good(tree, sum) => {
                let known =
                    self.meta.and_then(|meta| meta.text(&["stateFiles", "checksums", field]));
                if let (Some(own), Some(session)) = (&self.place.id, tree.string_at(&["sessionId"]))
                    && *own != session
                    && !self.inherited
                {
                    self.facts.other_session.get_or_insert(session.clone());
                    self.note(
                        path,
                        FindingCode::WrongPlace,
                        format!("it belongs to session {session}"),
                    );
                }
                if self.facts.repeated.contains(path) {
                    // The changes decide which of the values is right.
                    self.facts.wrong_states = true;
                    return Ok((None, false));
                }
                Ok((Some(tree), known == Some(sum)))
            }
            DocumentResult::Missing if !needed => Ok((None, true)),
            DocumentResult::Missing => {
                self.facts.wrong_states = true;
                self.note(path, FindingCode::MissingFile, "the file is missing");
                Ok((None, false))
            }
            DocumentResult::Bad => {
                self.facts.wrong_states = true;
                Ok((None, false))
            }
        }
    }

    /// Compares the indexes with the counted totals.
    pub(super) fn indexes(&mut self) -> Result<(), GameError> {
        let dir = join_names(&self.session.dir, &["indexes"]);
        let listed = list_dir(&self.session.store, &dir).map_err(GameError::from);
        for path in self.readable(&dir, listed)?.unwrap_or_default() {
            if let Some(reason) = self.stale(&path)? {
                self.facts.stale_indexes.push(path.clone());
                self.note(
                    &path,
                    FindingCode::StaleIndex,
                    format!("the index must be rebuilt: {reason}"),
                );
            }
        }
        Ok(())
    }

    /// Returns why an index cannot be used, if so.
    fn stale(&mut self, path: &FilePath) -> Result<Option<String>, GameError> {
        let name = path.name().map(|name| name.to_string()).unwrap_or_default();
        let Some(total) = index_total(&name) else { return Ok(None) };
        let bytes = match self.session.store.read(path, 0..LARGEST_TEXT) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            other => other.map_err(GameError::from),
        };
        self.begin(path);
        let Some(bytes) = self.readable(path, bytes)? else { return Ok(None) };
        let tree = match document::Document::parse(&bytes) {
            Ok(document) => JsonTree::parse(document.text().trim_start_matches('\u{feff}')),
            Err(error) => return Ok(Some(error.to_string())),
        };
        let Ok(tree) = tree else { return Ok(Some("it is not JSON".to_owned())) };
        if let (Some(own), Some(session)) = (&self.place.id, tree.string_at(&["sessionId"]))
            && *own != session
        {
            return Ok(Some(format!("it belongs to session {session}")));
        }
        if self.blind {
            return Ok(None);
        }
        let number = |field: &str| tree.text_at(&[field]).and_then(|said| said.parse::<u64>().ok());
        // An index may be older than the session, and then has the turn it covers; without a turn, it was written with
        // the states.
        let through = number("throughTurn").or(self.facts.stored.turn);
        let (now, then) = self.totals(total, through.unwrap_or(u64::MAX));
        Ok(match number(total) {
            Some(said) if said == now || said == then => self.wrong_places(&tree, total),
            Some(said) => Some(format!("{total} is {said}, not {now}")),
            None => Some(format!("{total} is missing")),
        })
    }

    /// Returns why the positions in an index do not match the log, if so.
    fn wrong_places(&self, tree: &JsonTree, total: &str) -> Option<String> {
        let (log, range) = match total {
            "totalTurns" => (LogKind::Turns, "range"),
            "totalDeltas" => (LogKind::Deltas, "turnRange"),
            _ => return None,
        };
        let entries =
            |key: &str| tree.value_at(&[key]).map(|list| list.children()).unwrap_or_default();
        let number = |tree: &JsonTree, path: &[&str]| tree.text_at(path)?.parse::<u64>().ok();
        for (_, entry) in entries("files") {
            let name = entry.string_at(&["file"]).unwrap_or_default();
            let Some(file) = LogFile::parse(log, &name) else {
                return Some(format!("it names {name:?}, which is not a log file"));
            };
            let (first, last) = (number(&entry, &[range, "0"]), number(&entry, &[range, "1"]));
            let fits = first.is_some_and(|first| file.first.is_none_or(|start| first >= start))
                && last.is_some_and(|last| file.last.is_none_or(|end| last <= end))
                && first <= last;
            if !fits {
                return Some(format!("{name} has different turns than it lists"));
            }
        }
        for (turn, place) in entries("turnOffsets") {
            let name = place.string_at(&["file"]);
            let named = |path: &FilePath| path.name().map(|own| own.to_string()) == name;
            let file = self.files.turns.iter().find(|(_, path)| named(path));
            // A file may have been renamed since then, and other programs do not store offsets.
            let (Some((_, file)), Some(offset)) = (file, number(&place, &["offset"])) else {
                continue;
            };
            let from = offset.saturating_sub(1);
            let bytes = self.session.store.read(file, from..offset.saturating_add(LINE_START));
            // An unreadable log was reported when it was read.
            let Ok(bytes) = bytes else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let line = if offset == 0 { Some(&*text) } else { text.strip_prefix('\n') };
            let found = line.map(peek_turn);
            if line.is_none_or(str::is_empty)
                || found.flatten().is_some_and(|found| found.to_string() != turn)
            {
                return Some(format!("turn {turn} is not at the listed position"));
            }
        }
        None
    }

    /// Returns a total now, and at an earlier turn.
    fn totals(&self, total: &str, then: u64) -> (u64, u64) {
        let recount = &self.facts.recount;
        match total {
            "totalTurns" => (recount.turns, recount.by_turn.count(then)),
            "totalEvents" => (recount.events, recount.by_turn.sum(0, then)),
            "totalScenes" => {
                (recount.scene_starts.sum(0, u64::MAX), recount.scene_starts.sum(0, then))
            }
            _ => (recount.deltas, recount.deltas_by_turn.sum(0, then)),
        }
    }
}

/// How many bytes of a line are read for its turn.
const LINE_START: u64 = 64;

/// Returns the field of an index that holds its total.
pub(super) fn index_total(name: &str) -> Option<&'static str> {
    match name {
        "turn-index.json" => Some("totalTurns"),
        "scene-index.json" => Some("totalScenes"),
        "event-index.json" => Some("totalEvents"),
        "delta-index.json" => Some("totalDeltas"),
        _ => None,
    }
}
