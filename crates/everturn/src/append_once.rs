//! [`Session::append_once_json`]: a turn that is sent again is stored once.

use std::collections::HashMap;

use everturn_session::format::{KeyedTurns, SessionError, StoredTurn};
use everturn_session::keys::check_key;
use everturn_session::model::AppendOutcome;
use everturn_value::tree::{JsonTree, ValueKind};

use crate::error::Error;
use crate::session::Session;

/// What identifies a turn that may be sent again, and what it follows.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppendCondition<'c> {
    /// The idempotency key, which is stored with the turn. Without it, the turn may contain its own: its number in a
    /// game, its ID in a chat log.
    pub key: Option<&'c str>,
    /// The last turn of the session before this one.
    pub after: Option<u64>,
}

/// Whether a turn was stored by this call or before.
#[derive(Debug, Clone)]
pub enum OnceOutcome {
    /// It is stored now.
    Now(AppendOutcome),
    /// It was stored before, and nothing was changed. The outcome has the turn and the IDs of its events.
    Before(AppendOutcome),
}

impl<F> Session<F> {
    /// Appends a turn or message, given as a JSON object, unless it was stored before.
    ///
    /// A turn is recognised by its key, or by the number or ID that it contains. That holds across processes and crashes,
    /// as long as the turn is in the session. Fails with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if the key
    /// or the number belongs to another turn, or if the last turn is not that of the condition.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use everturn::game::Game;
    /// use everturn::{AppendCondition, OnceOutcome, Root};
    ///
    /// let root = Root::open_or_create(dir.path())?;
    /// let mut game = Game::create(&root, "demo")?;
    /// let turn = r#"{"actor": "player", "narration": "You go in."}"#;
    /// let condition = AppendCondition { key: Some("7f3c"), after: None };
    /// assert!(matches!(game.append_once_json(turn, condition)?, OnceOutcome::Now(_)));
    /// let again = game.append_once_json(turn, condition)?;
    /// assert!(matches!(again, OnceOutcome::Before(stored) if stored.turn == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_once_json(
        &mut self,
        turn: &str,
        condition: AppendCondition<'_>,
    ) -> Result<OnceOutcome, Error> {
        let mut sent = parse(turn)?;
        let keys = match self.session_format().keys() {
            // A key that cannot be stored must not be ignored.
            Err(error) if condition.key.is_some() => return Err(error.into()),
            keys => keys.ok(),
        };
        if let (Some(keys), Some(key)) = (keys, condition.key) {
            sent = with_key(keys, &sent, key)?;
        }
        let key = keys.and_then(|keys| keys.key_of(&sent));
        let number = keys.and_then(|keys| keys.number_of(&sent));
        // While the session is locked, no other process can store the same turn. A turn that is stored already is found
        // in any case, also after the session was completed.
        let locked = self.lock();
        if let Some(keys) = keys
            && let Some(turn) = self.stored_turn(keys, key.as_deref(), number)?
        {
            return self.stored_before(keys, &sent, turn);
        }
        let last = locked?;
        for expected in
            condition.after.into_iter().chain(number.map(|number| number.saturating_sub(1)))
        {
            if expected != last {
                let what = format!("the last turn is {last}, not {expected}");
                return Err(SessionError::conflict(what).into());
            }
        }
        let outcome = self.append_json(&sent.to_line())?;
        let key = key.or_else(|| keys?.assigned_key(&outcome));
        if let (Some(key), Some(known)) = (key, &mut self.keys) {
            known.insert(key, outcome.turn);
        }
        Ok(OnceOutcome::Now(outcome))
    }

    /// Returns the turn that has the key or the number.
    fn stored_turn(
        &mut self,
        keys: &dyn KeyedTurns,
        key: Option<&str>,
        number: Option<u64>,
    ) -> Result<Option<u64>, Error> {
        if let Some(key) = key {
            let known = match self.keys.take() {
                Some(known) => known,
                None => self.read_keys(keys)?,
            };
            let found = known.get(key).copied();
            // Without the lock, another process may add keys.
            self.keys = self.is_locked().then_some(known);
            if found.is_some() {
                return Ok(found);
            }
        }
        match number {
            Some(number) if number > 0 => {
                let last = *self.turns()?.end();
                Ok((number <= last).then_some(number))
            }
            _ => Ok(None),
        }
    }

    /// Reads the keys of all turns.
    fn read_keys(&self, keys: &dyn KeyedTurns) -> Result<HashMap<String, u64>, Error> {
        let mut known = HashMap::new();
        let mut last = None;
        for entry in self.entries(..)? {
            let entry = entry?;
            // The first entry of a turn has the whole record.
            if last.replace(entry.turn) != Some(entry.turn)
                && let Some(key) = keys.key_of(&entry.raw)
            {
                known.entry(key).or_insert(entry.turn);
            }
        }
        Ok(known)
    }

    /// The outcome for a turn that was stored before, if it is the same one.
    fn stored_before(
        &self,
        keys: &dyn KeyedTurns,
        sent: &JsonTree,
        turn: u64,
    ) -> Result<OnceOutcome, Error> {
        let conflict = || {
            let what =
                format!("turn {turn} is stored with other contents under this number or key");
            SessionError::conflict(what)
        };
        let entry = self.entries(turn..=turn)?.next().transpose()?.ok_or_else(conflict)?;
        let mut stream = self.reader()?.changes(turn..=turn)?;
        let mut changes = Vec::new();
        while let Some(change) = stream.next() {
            changes.push(change?);
        }
        let stored = StoredTurn { entry, changes };
        if !keys.is_same_turn(sent, &stored) {
            return Err(conflict().into());
        }
        let events = keys.event_ids(&stored);
        Ok(OnceOutcome::Before(AppendOutcome { turn, events, ..AppendOutcome::default() }))
    }
}

fn parse(turn: &str) -> Result<JsonTree, SessionError> {
    let tree = JsonTree::parse(turn)
        .map_err(|bad| SessionError::request(format!("the turn is not JSON: {bad}")))?;
    match tree.kind() {
        ValueKind::Object => Ok(tree),
        kind => Err(SessionError::request(format!("a turn must be an object, not {kind}"))),
    }
}

/// Adds a key to a turn, which must not contain another one.
fn with_key(keys: &dyn KeyedTurns, sent: &JsonTree, key: &str) -> Result<JsonTree, SessionError> {
    check_key(key)?;
    match keys.key_of(sent) {
        Some(own) if own != key => {
            let what = format!("the turn contains the key {own:?}, but the request has {key:?}");
            Err(SessionError::request(what))
        }
        _ => Ok(keys.with_key(sent, key)),
    }
}
