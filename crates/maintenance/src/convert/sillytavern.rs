//! A chat of SillyTavern: a header, then a line for each message.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::native::{Native, Setting, Written, left_out, stamp};
use super::plan::id_of;
use super::story::Story;
use everturn_session::view::{Entry, Kind};

pub(super) struct SillyTavern;

impl Native for SillyTavern {
    fn end(&self) -> &'static str {
        ""
    }

    fn id(&self, asked: Option<&str>, story: &Story) -> Result<String, String> {
        Ok(id_of(asked.unwrap_or(&story.id)))
    }

    fn file(&self, id: &str, _start: Timestamp) -> String {
        format!("{id}.jsonl")
    }

    fn write(&self, story: &Story, setting: &Setting) -> Written {
        let mut done = Written::default();
        let speaker = |wanted: fn(&Kind) -> bool, usual: &str| {
            let mut entries = story.entries.iter().map(|told| &told.entry);
            let found = entries.find(|entry| wanted(&entry.kind) && !entry.speaker.is_empty());
            found.map_or_else(|| usual.to_owned(), |entry| entry.speaker.clone())
        };
        let user = speaker(|kind| *kind == Kind::User, "User");
        let is_other = |kind: &Kind| matches!(kind, Kind::Assistant | Kind::Npc | Kind::Narrator);
        done.lines.push(json!({
            "user_name": user, "character_name": speaker(is_other, "Assistant"),
            "create_date": stamp(setting.start), "chat_metadata": {},
        }));
        let mut time = setting.start;
        for told in &story.entries {
            time = told.entry.time.unwrap_or(time);
            match left_out(&told.entry) {
                Some(why) => done.fates.push(Err(why)),
                None => {
                    done.lines.push(message(&told.entry, time));
                    done.keep(&told.entry);
                }
            }
        }
        done
    }
}

fn message(entry: &Entry, time: Timestamp) -> Value {
    let mut extra = Map::new();
    if entry.kind == Kind::Narrator {
        extra.insert("type".to_owned(), "narrator".into());
    }
    // What is neither said nor told is shown, and not given to a model.
    let is_said = matches!(entry.kind, Kind::User | Kind::Assistant | Kind::Npc | Kind::Narrator);
    json!({
        "name": entry.speaker,
        "is_user": entry.kind == Kind::User,
        "is_system": !is_said,
        "send_date": stamp(time),
        "mes": entry.text,
        "extra": extra,
    })
}
