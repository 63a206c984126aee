//! Sessions of every format, and exports of them.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::sync::Arc;

use everturn::chatlog;
use everturn::format::{self, SessionReader};
use everturn::model::{MarkKind, NewMark, NewSession, SessionRef, SessionSummary};
use everturn::store::{MemoryStore, Store};
use everturn::tree::JsonTree;
use everturn_export::{
    Export, ExportError, ExportFormat, ExportOptions, ExportReport, ExportStyle, PictureFiles,
    SecretMask,
};
use jiff::Timestamp;

/// Returns the time this many seconds after the first turn.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + seconds).unwrap()
}

/// A session in a store.
pub(crate) struct Session {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) summary: SessionSummary,
    pub(crate) reader: Box<dyn SessionReader>,
}

impl Session {
    pub(crate) fn open(store: &Arc<dyn Store>, layout: &str, id: &str) -> Session {
        let layout = format::find(layout).unwrap();
        let place = place(store, layout.name(), id);
        let summary = layout.summary(store, &place).unwrap();
        let reader = layout.open(store, &place).unwrap();
        Session { store: Arc::clone(store), summary, reader }
    }

    /// Exports the session as text; that of a PDF is extracted from its pages.
    pub(crate) fn try_export(
        &self,
        format: ExportFormat,
        choices: &ExportOptions,
        template: Option<(&str, &str)>,
        mask: Option<&dyn SecretMask>,
    ) -> Result<(String, ExportReport), ExportError> {
        let (bytes, report) = self.bytes(format, choices, template, mask)?;
        match format {
            ExportFormat::Pdf if template.is_none() => {
                let text = pdf_text(&bytes, "pdftotext", &["-layout", "-", "-"]);
                // Words that were hyphenated at the end of a line are joined.
                Ok((
                    text.replace("-\n", "").split_whitespace().collect::<Vec<_>>().join(" "),
                    report,
                ))
            }
            ExportFormat::Epub if template.is_none() => Ok((book_text(&bytes), report)),
            _ => Ok((String::from_utf8(bytes).unwrap(), report)),
        }
    }

    /// Exports the session.
    pub(crate) fn bytes(
        &self,
        format: ExportFormat,
        choices: &ExportOptions,
        template: Option<(&str, &str)>,
        mask: Option<&dyn SecretMask>,
    ) -> Result<(Vec<u8>, ExportReport), ExportError> {
        self.bytes_with(format, choices, template, mask, None)
    }

    /// Exports the session with the pictures beside it.
    pub(crate) fn bytes_with(
        &self,
        format: ExportFormat,
        choices: &ExportOptions,
        template: Option<(&str, &str)>,
        mask: Option<&dyn SecretMask>,
        pictures: Option<&dyn PictureFiles>,
    ) -> Result<(Vec<u8>, ExportReport), ExportError> {
        let export = Export {
            summary: &self.summary,
            reader: &*self.reader,
            choices,
            mask,
            pictures,
            template,
            now: at(86_400),
        };
        let mut bytes = Vec::new();
        let report = export.write(format, &mut bytes, &mut |_| ControlFlow::Continue(()))?;
        assert_eq!(report.bytes, bytes.len() as u64);
        Ok((bytes, report))
    }

    pub(crate) fn export(&self, format: ExportFormat, choices: &ExportOptions) -> String {
        self.try_export(format, choices, None, None).unwrap().0
    }

    pub(crate) fn rich(&self, format: ExportFormat) -> String {
        self.export(format, &ExportOptions::defaults_for(format, ExportStyle::Rich))
    }
}

/// Returns the files of an archive, by name.
pub(crate) fn files_of(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut file = archive.by_index(index).unwrap();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
            (file.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

/// Returns the text of the pages of an EPUB, without tags.
fn book_text(book: &[u8]) -> String {
    let mut text = String::new();
    for (name, bytes) in files_of(book) {
        if !name.ends_with(".xhtml") || name.ends_with("nav.xhtml") {
            continue;
        }
        let page = String::from_utf8(bytes).unwrap();
        for part in page.split_once("<body").unwrap().1.split('<') {
            text.push_str(part.split_once('>').map_or("", |(_, words)| words));
        }
    }
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain.replace("&#39;", "'").replace("&amp;", "&")
}

/// Returns the output of a poppler program for a PDF.
pub(crate) fn pdf_text(pdf: &[u8], program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn();
    let mut child = child.expect("Debian's package poppler-utils has it, and ./test installs it");
    let mut stdin = child.stdin.take().unwrap();
    let pdf = pdf.to_vec();
    let writing = std::thread::spawn(move || stdin.write_all(&pdf));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success(), "{program} refuses the PDF");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn place(store: &Arc<dyn Store>, layout: &str, id: &str) -> SessionRef {
    let places = format::find(layout).unwrap().locate(store).unwrap().sessions;
    places.into_iter().find(|place| place.id == id).unwrap()
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

fn mark(kind: MarkKind, name: &str, about: &str, turn: u64) -> NewMark {
    NewMark {
        kind,
        name: name.to_owned(),
        description: about.to_owned(),
        turn: Some(turn),
        entry: None,
    }
}

/// Creates a session of a format with these turns, one minute apart, and these marks.
pub(crate) fn session(
    layout: &str,
    id: &str,
    fields: &str,
    turns: &[&str],
    marks: &[NewMark],
) -> Session {
    let store = memory();
    let kind = format::find(layout).unwrap();
    let new = NewSession { fields: JsonTree::parse(fields).unwrap(), ..NewSession::with_id(id) };
    let mut editor = kind.capabilities().editing.unwrap().create(&store, &new, at(0)).unwrap();
    let id = editor.session_ref().id;
    for (number, turn) in (1..).zip(turns) {
        match turn.strip_prefix("scene ") {
            Some(scene) => editor.start_scene(scene, at(60 * number)).unwrap(),
            None => editor.append(turn, at(60 * number)).unwrap(),
        };
    }
    editor.close(at(3600)).unwrap();
    for mark in marks {
        kind.capabilities()
            .editing
            .unwrap()
            .add_mark(&store, &place(&store, layout, &id), mark, at(3600))
            .unwrap();
    }
    Session::open(&store, layout, &id)
}

pub(crate) fn game() -> Session {
    let turns = [
        r#"scene {"sceneId": "scene-market", "type": "social", "description": "The stalls open.",
            "location": {"id": "m", "name": "The market", "description": "Noise and fruit."}}"#,
        r#"{"actor": "player", "events": [{"type": "talk", "description": "I ask the *fruit seller* for the way."}]}"#,
        r#"{"actor": "luna", "events": [{"type": "talk", "description": "Up the hill, and do not look back."}],
            "deltas": [{"scope": "world", "deltas": [
                {"op": "set", "path": "npcs.luna.trust", "value": 5},
                {"op": "set", "path": "npcs.luna.name", "value": "Luna"},
                {"op": "set", "path": "day", "value": 1}]}]}"#,
        r#"scene {"sceneId": "scene-temple", "location": {"name": "The temple"}}"#,
        r#"{"actor": "gm", "events": [{"type": "narrate", "description": "It is dark.\n\nSomething moves."}],
            "deltas": [{"scope": "world", "deltas": [{"op": "increment", "path": "npcs.luna.trust", "value": 10}]},
                {"scope": "player", "deltas": [{"op": "set", "path": "hp", "value": 7}]}]}"#,
        r#"{"actor": "system", "events": [{"type": "save", "description": "The game was saved."}]}"#,
    ];
    let marks = [
        mark(MarkKind::Chapter, "One: Arrivals", "In which a way is asked for.", 1),
        mark(MarkKind::Bookmark, "before the dark", "", 5),
    ];
    session("game", "session-abc123", r#"{"player": {"name": "Vex"}}"#, &turns, &marks)
}

pub(crate) fn campaign() -> Session {
    let step = r#"{"tool": "move", "id": "call_1",
        "args": {"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}}"#;
    let second = format!(
        r#"{{"user_input": "I go through the *small* door.",
            "assistant_text": "The door closes behind you.", "tool_calls": [{step}]}}"#
    );
    let turns = [
        r#"{"user_input": "I look around.", "assistant_text": "A cold room. It has one door."}"#,
        second.as_str(),
    ];
    let marks = [mark(MarkKind::Chapter, "The door", "", 2)];
    session("campaign", "camp_0001", "{}", &turns, &marks)
}

pub(crate) fn codelia() -> Session {
    let turns = [
        r#"{"role": "user", "content": "Why does `Vec<String>` not compile? See https://example.org/q."}"#,
        r#"{"role": "reasoning", "content": "The user forgot an import, I think."}"#,
        r#"{"role": "assistant", "content": "Let me look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"src/main.rs\"}"}}]}"#,
        r#"{"role": "tool", "tool_call_id": "c1", "tool_name": "read", "content": "fn main() {\n    let a: Vec<String>;\n}\n"}"#,
        r##"{"role": "assistant", "content": "# Answer\n\n1. It *does* compile.\n2. It warns:\n\n```text\nunused variable: `a`\n```\n\n| what | where |\n|---|---|\n| `a` | line 2 |"}"##,
    ];
    session("codelia", "3f2a", "{}", &turns, &[])
}

pub(crate) fn linggen() -> Session {
    let turns = [
        r#"{"content": "Please fix the login: now"}"#,
        r#"{"from_id": "ling", "content": "I look.\n{\"type\":\"tool\",\"tool\":\"Read\",\"args\":{\"path\":\"a.rs\"}}"}"#,
        r#"{"is_observation": true, "content": "fn main() {}"}"#,
        r#"{"from_id": "ling", "content": "Done. 日本語も大丈夫です。"}"#,
    ];
    let marks = [mark(MarkKind::Decision, "which login", "The old one.", 2)];
    session("linggen", "sess-1", r#"{"project": "/srv/site"}"#, &turns, &marks)
}

pub(crate) const CHAT: &str = include_str!("tale.json");

pub(crate) fn chat() -> Session {
    let store = memory();
    chatlog::import(&store, CHAT.as_bytes(), None).unwrap();
    Session::open(&store, "chatlog", "tale")
}

/// Creates a chat log with these messages of a narrator.
pub(crate) fn told(texts: &[&str]) -> Session {
    let turn = |text: &&str| serde_json::json!({"type": "narrator", "text": text}).to_string();
    let turns: Vec<String> = texts.iter().map(turn).collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    session("chatlog", "tale", "{}", &turns, &[])
}

/// Creates a session of every format.
pub(crate) fn all() -> Vec<Session> {
    vec![game(), campaign(), codelia(), linggen(), chat()]
}
