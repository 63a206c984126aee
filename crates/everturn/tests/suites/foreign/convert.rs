//! Whatever is read in these tests can be made into a session of every layout, and into the file of every program.

use std::cell::Cell;
use std::sync::Arc;

use everturn::convert::{Conversion, Disposition, TARGETS};
use everturn::format::{self, SessionFormat, SessionReader};
use everturn::model::SessionRef;
use everturn::store::{MemoryStore, Store};

/// Longer sessions are converted elsewhere.
const MOST_ENTRIES: usize = 40;

/// How many sessions of one test are converted: some read hundreds that hardly differ.
const MOST_SESSIONS: u32 = 3;

thread_local! {
    static CONVERTED: Cell<u32> = const { Cell::new(0) };
}

fn said(reader: &dyn SessionReader) -> Vec<(String, String)> {
    let mut stream = reader.entries(0..=u64::MAX).unwrap();
    let entries = std::iter::from_fn(|| stream.next().map(Result::unwrap));
    entries.map(|entry| (entry.kind.to_string(), entry.text)).collect()
}

/// What was said: records that a program kept for itself are no messages, unless there is nothing else.
fn spoken(entries: &[(String, String)]) -> Vec<(String, String)> {
    let mut spoken = entries.to_vec();
    spoken.retain(|(kind, _)| kind != "record");
    if spoken.is_empty() { entries.to_vec() } else { spoken }
}

/// Converts a session to everything there is, and compares.
pub(crate) fn converts(layout: &dyn SessionFormat, store: &Arc<dyn Store>, place: &SessionRef) {
    let before = said(&*layout.open(store, place).unwrap());
    let count = CONVERTED.replace(CONVERTED.get() + 1);
    if before.len() > MOST_ENTRIES || count >= MOST_SESSIONS {
        return;
    }
    for to in TARGETS {
        let conversion = Conversion { to, id: None, project: None, dir: None, branch: None };
        let now = "2026-01-01T10:00:00Z".parse().unwrap();
        let plan = conversion.plan(store, layout, place, now);
        assert!(plan.is_ok(), "{} to {to}: {:?}", layout.name(), plan.err());
        let plan = plan.unwrap();
        assert_eq!(plan.report().entries.len(), before.len(), "{} to {to}", layout.name());
        let made: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let place = plan.write(&made).unwrap();
        let target = format::find(to).unwrap();
        let mut after = said(&*target.open(&made, &place).unwrap());
        if target.is_external() {
            after.retain(|(kind, _)| kind != "record");
            let dropped = plan.report().count(Disposition::Dropped);
            let is_opened = plan.report().notes.iter().any(|note| note.what == "the opening");
            let expected = before.len() + usize::from(is_opened);
            assert_eq!(after.len() + dropped, expected, "{} to {to}", layout.name());
        } else {
            assert_eq!(after, spoken(&before), "{} to {to}", layout.name());
        }
    }
}

#[test]
fn what_a_program_kept_for_itself_becomes_no_message_and_is_not_lost() {
    let records = [
        serde_json::json!({"type": "queue-operation", "operation": "enqueue", "content": "Hi."}),
        serde_json::json!({"type": "user", "uuid": "u", "parentUuid": null, "message": {"role": "user", "content": "Hi."}}),
        serde_json::json!({"type": "attachment", "uuid": "a", "parentUuid": "u", "attachment": {"type": "deferred_tools_delta"}}),
        serde_json::json!({"type": "assistant", "uuid": "b", "parentUuid": "a",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}}),
        serde_json::json!({"type": "mode", "mode": "normal"}),
    ];
    let file =
        format!("projects/-srv-app/{}.jsonl", "0".repeat(8) + "-0000-4000-8000-000000000000");
    let bytes = crate::foreign::support::lines(&records);
    let store = crate::foreign::support::store(&[(&file, &bytes)]);
    let layout = crate::foreign::support::layout("claude-code");
    let place = crate::foreign::support::only(layout, &store);
    for to in ["codelia", "linggen", "chatlog", "game"] {
        let convert = |to, store, layout: &dyn SessionFormat, place: &SessionRef| {
            let conversion =
                Conversion { to, id: Some("one"), project: None, dir: None, branch: None };
            let plan =
                conversion.plan(store, layout, place, "2026-01-01T10:00:00Z".parse().unwrap());
            let made: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let place = plan.unwrap().write(&made).unwrap();
            (made, place)
        };
        let (made, there) = convert(to, &store, layout, &place);
        let target = format::find(to).unwrap();
        let told = said(&*target.open(&made, &there).unwrap());
        let texts: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["Hi.", "Hello."], "{to}");
        // Converted once more, the records still go along.
        let (again, place) = convert("chatlog", &made, target, &there);
        let document = again.read(&place.path, 0..u64::MAX).unwrap();
        let document = String::from_utf8(document).unwrap();
        for kept in ["enqueue", "deferred_tools_delta", "normal"] {
            assert!(document.contains(kept), "{to}: {kept}");
        }
    }
}
