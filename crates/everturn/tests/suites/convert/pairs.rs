//! Every layout made into every other, and back.

use std::error::Error;
use std::sync::Arc;

use everturn::convert::{Conversion, ConversionPlan, Disposition, UNREADABLE};
use everturn::format::SessionError;
use everturn::names::FilePath;
use everturn::store::{AppendAt, Durability, Step, Store};

use crate::common::capabilities::KnownCapabilities;
use crate::convert::sessions::{
    LAYOUTS, Made, Random, at, find, lived_in, memory, on_disk, session, view,
};

/// Makes a session into one of another layout, in a store of its own.
pub(crate) fn convert(from: &Made, to: &str, id: &str) -> (Made, ConversionPlan) {
    convert_into(memory(), from, to, id)
}

fn convert_into(store: Arc<dyn Store>, from: &Made, to: &str, id: &str) -> (Made, ConversionPlan) {
    let conversion = Conversion { to, id: Some(id), project: None, dir: None, branch: None };
    let plan = conversion.plan(&from.store, from.layout, &from.place, at(2000));
    let plan = plan.unwrap_or_else(|error| {
        panic!("{} to {to}: {error}\n{:#?}", from.layout.name(), view(from))
    });
    let place = plan.write(&store).unwrap_or_else(|error| {
        panic!("{} to {to}: {error}: {:?}", from.layout.name(), error.source())
    });
    (Made { store, layout: find(to), place }, plan)
}

#[expect(clippy::disallowed_methods, reason = "whoever has time may try more")]
fn seeds() -> u64 {
    std::env::var("EVERTURN_CONVERT_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

#[test]
fn converting_to_any_layout_and_back_changes_nothing() {
    let entries: usize = (0..seeds()).map(|seed| there_and_back(seed, memory)).sum();
    println!("{entries} entries were converted and came back");
    assert!(entries > 500, "{entries}");
}

#[test]
fn nor_does_it_on_a_disk() {
    let dirs = std::cell::RefCell::new(Vec::new());
    let store = || {
        let dir = tempfile::tempdir().unwrap();
        let store = on_disk(&dir);
        dirs.borrow_mut().push(dir);
        store
    };
    assert!(there_and_back(1, store) > 20);
}

/// Makes each layout into each, and back, in stores of their own; tells how many entries there were.
fn there_and_back(seed: u64, store: impl Fn() -> Arc<dyn Store>) -> usize {
    let mut entries = 0;
    for from in LAYOUTS {
        let original = lived_in(store(), from, &mut Random::new(seed));
        let before = view(&original);
        for to in LAYOUTS {
            let (there, report) = convert_into(store(), &original, to, "on-the-way");
            let (back, second) = convert_into(store(), &there, from, &original.place.id);
            if report.report().entries.is_empty() {
                // There is nothing that could carry what is lost.
                continue;
            }
            let after = view(&back);
            let differs = after.iter().zip(&before).find(|(after, before)| after != before);
            assert_eq!(differs, None, "{from} to {to} and back, seed {seed}");
            assert_eq!(after.len(), before.len(), "{from} to {to} and back, seed {seed}");
            assert_eq!(view(&original), before, "the original, {from} to {to}, seed {seed}");
            entries += report.report().entries.len();
            let losses = second.report();
            assert!(losses.notes.is_empty(), "{from} to {to} and back: {:?}", losses.notes);
            assert_eq!(losses.count(Disposition::Kept), losses.entries.len(), "{from} to {to}");
        }
    }
    entries
}

/// The texts of a session's entries, each with its turn.
fn texts(made: &Made) -> Vec<(u64, String)> {
    let reader = made.layout.open(&made.store, &made.place).unwrap();
    let mut stream = reader.entries(reader.turns().unwrap()).unwrap();
    let entries = std::iter::from_fn(|| stream.next().map(Result::unwrap));
    entries.map(|entry| (entry.turn, entry.text)).collect()
}

fn say(made: &Made, turn: &str) {
    let mut editor = made.layout.editable().edit(&made.store, &made.place).unwrap();
    editor.append(turn, at(1500)).unwrap();
    editor.close(at(1501)).unwrap();
}

#[test]
fn what_was_added_on_the_way_comes_back_too() {
    let added = [
        ("campaign", r#"{"user_input":"Added.","assistant_text":"Yes."}"#, 2),
        ("game", r#"{"actor":"gm","narration":"Added."}"#, 1),
        ("codelia", r#"{"role":"user","content":"Added."}"#, 1),
        ("linggen", r#"{"from_id":"user","content":"Added."}"#, 1),
        ("chatlog", r#"{"type":"narrator","text":"Added."}"#, 1),
    ];
    for from in LAYOUTS {
        for (to, turn, more) in added {
            let original = session(from, &mut Random::new(5));
            let before = texts(&original);
            let (there, _) = convert(&original, to, "there");
            say(&there, turn);
            let (back, _) = convert(&there, from, "back");
            let after = texts(&back);
            let told = |all: &[(u64, String)]| -> Vec<String> {
                all.iter().map(|(_, text)| text.clone()).collect()
            };
            assert_eq!(told(&after[..before.len()]), told(&before), "{from} to {to}");
            assert_eq!(after.len(), before.len() + more, "{from} to {to}");
            assert_eq!(after[before.len()].1, "Added.", "{from} to {to}");
            assert!(after.is_sorted_by_key(|(turn, _)| *turn), "{from} to {to}");
        }
    }
}

#[test]
fn a_message_that_was_edited_on_the_way_stays_edited() {
    let original = session("codelia", &mut Random::new(2));
    let (there, _) = convert(&original, "chatlog", "there");
    let mut editor = there.layout.editable().edit(&there.store, &there.place).unwrap();
    let how = everturn::model::Revision::Edit { turn: 1, text: "Another text.".to_owned() };
    editor.revise(&how, at(1500)).unwrap();
    editor.close(at(1501)).unwrap();
    let (back, plan) = convert(&there, "codelia", "back");
    assert_eq!(texts(&back)[0].1, "Another text.");
    assert_eq!(plan.report().entries.len(), texts(&original).len());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_converted() {
    let original = session("codelia", &mut Random::new(4));
    let before = texts(&original).len();
    let log = FilePath::parse("sessions/messages/session-one.jsonl").unwrap();
    let writer = original.store.lock(std::slice::from_ref(&log)).unwrap();
    let lines = b"{\"torn\": [}\n".to_vec();
    let step = Step::Append { file: log, at: AppendAt::End, lines };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
    let (made, plan) = convert(&original, "game", "there");
    assert_eq!(texts(&made).len(), before);
    let notes: Vec<&str> = plan.report().notes.iter().map(|note| note.what.as_str()).collect();
    assert!(notes.contains(&UNREADABLE), "{notes:?}");
}

#[test]
fn an_id_that_is_taken_is_refused_whatever_became_of_its_session() {
    for layout in LAYOUTS {
        let original = session(layout, &mut Random::new(1));
        let (made, plan) = convert(&original, layout, "there");
        let before = view(&made);
        let error = plan.write(&made.store).err().unwrap();
        let taken =
            matches!(&error, everturn::convert::ConvertError::Layout(SessionError::Taken { .. }));
        assert!(taken, "{layout}: {error}");
        assert_eq!(view(&made), before);
    }
}
