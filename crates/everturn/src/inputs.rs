//! Typed input for sessions: `Turn`, `ChatMessage`, and a type alias for the sessions of each format.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::root::Root;
use crate::session::{FormatTag, Session};
use everturn_session::format::SessionError;
use everturn_session::model::{AppendOutcome, NewSession};
use everturn_value::tree::JsonTree;

macro_rules! formats {
    ($($(#[$doc:meta])* $feature:literal $tag:ident = $name:literal, $(#[$alias_doc:meta])* $alias:ident;)*) => {
        $(
            $(#[$doc])*
            #[cfg(feature = $feature)]
            #[derive(Debug, Clone, Copy)]
            pub enum $tag {}

            #[cfg(feature = $feature)]
            impl FormatTag for $tag {
                const NAME: Option<&'static str> = Some($name);
            }

            $(#[$alias_doc])*
            #[cfg(feature = $feature)]
            pub type $alias = Session<$tag>;
        )*
    };
}

formats! {
    /// Games: turns, changes of a state, snapshots, scenes.
    "game" GameFormat = "game",
    /// A game session.
    Game;
    /// Tabletop campaigns with a turn log.
    "campaign" CampaignFormat = "campaign",
    /// A campaign.
    CampaignSession;
    /// Chat logs with tools, bookmarks and a context window.
    "chat" ChatFormat = "chatlog",
    /// A chat log.
    ChatSession;
    /// Sessions of the coding agent Codelia.
    "agents" CodeliaFormat = "codelia",
    /// A session of Codelia.
    CodeliaSession;
    /// Sessions of the coding agent Linggen.
    "agents" LinggenFormat = "linggen",
    /// A session of Linggen.
    LinggenSession;
    /// Threads of agent frameworks.
    "agents" ThreadFormat = "thread",
    /// A thread: items, and checkpoints of named channels.
    ThreadSession;
}

/// One turn of a [`Game`].
#[cfg(feature = "game")]
#[derive(Debug, Clone, Default)]
pub struct Turn {
    fields: Map<String, Value>,
    events: Vec<Value>,
    /// The changes of each scope.
    changes: Vec<(String, Vec<Value>)>,
    /// Why a value could not be converted to JSON.
    failed: Option<String>,
}

#[cfg(feature = "game")]
impl Turn {
    /// A turn of an actor, such as `player` or `gm`.
    #[must_use]
    pub fn by(actor: &str) -> Turn {
        let fields = Map::from_iter([("actor".to_owned(), Value::from(actor))]);
        Turn { fields, ..Turn::default() }
    }

    /// Sets the narration.
    #[must_use]
    pub fn narrate(mut self, text: &str) -> Turn {
        self.fields.insert("narration".to_owned(), Value::from(text));
        self
    }

    /// Adds an event, such as `move`, with a description.
    #[must_use]
    pub fn event(mut self, kind: &str, description: &str) -> Turn {
        self.events.push(json!({"type": kind, "description": description}));
        self
    }

    /// Sets any other field of the turn.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Serialize) -> Turn {
        let value = self.convert_value(value);
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// Sets a value of the state. The path starts with the scope, such as `world.npcs.luna.trust`. Dots separate keys; a
    /// key that contains a dot can be set with [`Session::append_json`] only.
    #[must_use]
    pub fn set(self, path: &str, value: impl Serialize) -> Turn {
        self.change("set", path, Some(value))
    }

    /// Adds to a number.
    #[must_use]
    pub fn increment(self, path: &str, by: impl Serialize) -> Turn {
        self.change("increment", path, Some(by))
    }

    /// Adds an element to a list.
    #[must_use]
    pub fn push(self, path: &str, value: impl Serialize) -> Turn {
        self.change("push", path, Some(value))
    }

    /// Removes an element from a list.
    #[must_use]
    pub fn pull(self, path: &str, value: impl Serialize) -> Turn {
        self.change("pull", path, Some(value))
    }

    /// Deletes a value.
    #[must_use]
    pub fn delete(self, path: &str) -> Turn {
        self.change("delete", path, None::<()>)
    }

    fn change(mut self, op: &str, path: &str, value: Option<impl Serialize>) -> Turn {
        let Some((scope, path)) = path.split_once('.') else {
            let missing = format!("{path:?} names a scope, not a value in it");
            self.failed.get_or_insert(missing);
            return self;
        };
        let mut change = Map::new();
        change.insert("op".to_owned(), Value::from(op));
        change.insert("path".to_owned(), Value::from(path));
        if let Some(value) = value {
            let value = self.convert_value(value);
            change.insert("value".to_owned(), value);
        }
        match self.changes.iter_mut().find(|(name, _)| name == scope) {
            Some((_, changes)) => changes.push(change.into()),
            None => self.changes.push((scope.to_owned(), vec![change.into()])),
        }
        self
    }

    fn convert_value(&mut self, value: impl Serialize) -> Value {
        serde_json::to_value(value).unwrap_or_else(|error| {
            self.failed.get_or_insert(error.to_string());
            Value::Null
        })
    }

    fn into_json(self) -> Result<String, Error> {
        if let Some(reason) = self.failed {
            return Err(
                SessionError::request(format!("the turn cannot be stored: {reason}")).into()
            );
        }
        let mut fields = self.fields;
        fields.insert("events".to_owned(), Value::Array(self.events));
        let scope = |(scope, deltas)| json!({"scope": scope, "deltas": Value::Array(deltas)});
        let changes: Vec<Value> = self.changes.into_iter().map(scope).collect();
        fields.insert("deltas".to_owned(), Value::Array(changes));
        Ok(Value::Object(fields).to_string())
    }
}

#[cfg(feature = "game")]
impl Session<GameFormat> {
    /// Appends a turn atomically.
    ///
    /// When this returns, the turn survives a crash of the program and a power cut.
    pub fn append(&mut self, turn: Turn) -> Result<AppendOutcome, Error> {
        let turn = turn.into_json()?;
        self.append_json(&turn)
    }
}

#[cfg(feature = "campaign")]
impl Session<CampaignFormat> {
    /// Appends a turn: what the player said, and the narrator's answer. [`Session::append_json`] also takes tool calls,
    /// which change the campaign.
    pub fn append(&mut self, input: &str, answer: &str) -> Result<AppendOutcome, Error> {
        self.append_json(&json!({"user_input": input, "assistant_text": answer}).to_string())
    }
}

/// One message of a [`ChatSession`].
#[cfg(feature = "chat")]
#[derive(Debug, Clone)]
pub struct ChatMessage {
    fields: Map<String, Value>,
}

#[cfg(feature = "chat")]
impl ChatMessage {
    /// A message of a type, such as `protagonist`, `npc` or `narrator`, with the name of its sender.
    #[must_use]
    pub fn by(kind: &str, name: &str, text: &str) -> ChatMessage {
        let field = |name: &str, value: &str| (name.to_owned(), Value::from(value));
        let fields = [field("type", kind), field("name", name), field("text", text)];
        ChatMessage { fields: Map::from_iter(fields) }
    }
}

#[cfg(feature = "chat")]
impl Session<ChatFormat> {
    /// Appends a message atomically.
    pub fn append(&mut self, message: ChatMessage) -> Result<AppendOutcome, Error> {
        self.append_json(&Value::Object(message.fields).to_string())
    }
}

#[cfg(feature = "agents")]
impl Session<CodeliaFormat> {
    /// Appends a message with a role, such as `user` or `assistant`.
    pub fn append(&mut self, role: &str, content: &str) -> Result<AppendOutcome, Error> {
        self.append_json(&json!({"role": role, "content": content}).to_string())
    }
}

#[cfg(feature = "agents")]
impl Session<ThreadFormat> {
    /// Appends an item with a role, such as `user` or `assistant`. [`Session::append_json`] also takes checkpoints and
    /// pending writes.
    pub fn append(&mut self, role: &str, content: &str) -> Result<AppendOutcome, Error> {
        self.append_json(&json!({"role": role, "content": content}).to_string())
    }
}

#[cfg(feature = "agents")]
impl Session<LinggenFormat> {
    /// Creates a session of a project, whose directory is `project`. Linggen keeps every session with its project, so
    /// [`Session::create`] fails.
    pub fn create_in_project(
        root: &Root,
        id: &str,
        project: &str,
    ) -> Result<LinggenSession, Error> {
        let mut new = NewSession::with_id(id);
        new.fields = JsonTree::parse(json!({"project": project}).to_string())
            .map_err(|error| SessionError::request(error.to_string()))?;
        Session::create_with(root, &new)
    }

    /// Appends a message.
    pub fn append(&mut self, content: &str) -> Result<AppendOutcome, Error> {
        self.append_json(&json!({"content": content}).to_string())
    }
}
