//! A conversation with a handler, in which every line is validated.

use std::path::Path;
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use everturn::campaign::CampaignFormat;
use everturn::chatlog::ChatFormat;
use everturn::codelia::CodeliaFormat;
use everturn::game::GameFormat;
use everturn::linggen::LinggenFormat;
use everturn::tree::JsonTree;
use everturn::{FormatTag, NewSession, Root, Session};
use everturn_requests::{Request, SessionHandler};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/protocol.schema.json");

pub(crate) static SCHEMA_VALUE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(SCHEMA).unwrap());

static COMPILED: LazyLock<(Schemas, Vec<(String, SchemaIndex)>)> = LazyLock::new(|| {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("protocol.json", SCHEMA_VALUE.clone()).unwrap();
    let names = SCHEMA_VALUE["$defs"].as_object().unwrap().keys();
    let compiled = names.map(|name| {
        let place = format!("protocol.json#/$defs/{name}");
        (name.clone(), compiler.compile(&place, &mut schemas).unwrap())
    });
    let compiled = compiled.collect();
    (schemas, compiled)
});

/// Returns the reason why a value does not fit a part of the schema.
pub(crate) fn mismatch(value: &Value, part: &str) -> Option<String> {
    let (schemas, compiled) = &*COMPILED;
    let (_, index) = compiled.iter().find(|(name, _)| name == part).unwrap();
    schemas.validate(value, *index).err().map(|error| format!("{error:#}"))
}

/// The formats that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Game,
    Campaign,
    Chat,
    Codelia,
    Linggen,
}

pub(crate) const KINDS: [Kind; 5] =
    [Kind::Game, Kind::Campaign, Kind::Chat, Kind::Codelia, Kind::Linggen];

impl Kind {
    /// Creates a session and returns its ID.
    pub(crate) fn create(self, root: &Root) -> String {
        fn create<F: FormatTag>(root: &Root, new: &NewSession) -> String {
            let session = Session::<F>::create_with(root, new).unwrap();
            let id = session.id().to_owned();
            session.close().unwrap();
            id
        }
        let new = NewSession::with_id("one");
        match self {
            Kind::Game => create::<GameFormat>(root, &new),
            Kind::Campaign => create::<CampaignFormat>(root, &new),
            Kind::Chat => create::<ChatFormat>(root, &new),
            Kind::Codelia => create::<CodeliaFormat>(root, &new),
            Kind::Linggen => {
                let fields = JsonTree::parse(r#"{"project": "/srv/site"}"#).unwrap();
                create::<LinggenFormat>(root, &NewSession { fields, ..new })
            }
        }
    }

    /// A turn whose text contains the number.
    pub(crate) fn turn(self, number: u64) -> String {
        match self {
            Kind::Game => format!(
                r#"{{"actor":"player","narration":"Step {number}.","events":[{{"type":"move","description":"Step."}}],"deltas":[{{"scope":"world","deltas":[{{"op":"set","path":"step","value":{number}.50}}]}}]}}"#
            ),
            Kind::Campaign => {
                format!(r#"{{"user_input":"step {number}","assistant_text":"Step {number}."}}"#)
            }
            Kind::Chat => format!(r#"{{"type":"narrator","text":"Step {number}."}}"#),
            Kind::Codelia => format!(r#"{{"role":"user","content":"Step {number}."}}"#),
            Kind::Linggen => format!(r#"{{"content":"Step {number}."}}"#),
        }
    }
}

pub(crate) fn open_root(dir: &Path) -> Root {
    let now = "2026-01-01T10:00:00Z".parse().unwrap();
    Root::builder().clock(move || now).owner(7, "today").open_or_create(dir).unwrap()
}

/// A handler whose answers are validated.
pub(crate) struct Conversation {
    handler: SessionHandler,
}

impl Conversation {
    pub(crate) fn new(handler: SessionHandler) -> Conversation {
        Conversation { handler }
    }

    /// Opens the session of a root that has one.
    pub(crate) fn open(root: &Root, id: &str) -> Conversation {
        Conversation::new(SessionHandler::new(root.find(id).unwrap()))
    }

    /// Sends a line of any kind; the answer fits the schema.
    pub(crate) fn send(&mut self, line: &[u8]) -> Value {
        let text = self.handler.answer_line(line).text;
        assert!(!text.contains('\n'), "{text}");
        let answer = serde_json::from_str(&text).unwrap();
        assert_eq!(mismatch(&answer, "answer"), None, "{text}");
        answer
    }

    /// Sends a valid request that succeeds; returns what is in `ok`.
    pub(crate) fn ok(&mut self, line: &str) -> Value {
        let request: Value = serde_json::from_str(line).unwrap();
        assert_eq!(mismatch(&request, "request"), None, "{line}");
        let answer = self.send(line.as_bytes());
        assert_eq!(answer["error"], Value::Null, "{line}");
        let name = request["request"].as_str().unwrap();
        assert!(Request::NAMES.contains(&name));
        assert_eq!(mismatch(&answer, &format!("answer_{name}")), None, "{line}: {answer}");
        answer["ok"].clone()
    }

    /// Sends a request that fails; returns its code.
    pub(crate) fn error(&mut self, line: &str) -> String {
        let answer = self.send(line.as_bytes());
        assert_eq!(mismatch(&answer, "answer_error"), None, "{line}: {answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn append(&mut self, data: &str, key: &str) -> Value {
        self.ok(&format!(r#"{{"request":"append","key":"{key}","data":{data}}}"#))
    }
}
