//! Damaged logs: findings, and repairs that keep every whole record.

use super::{at, checkpoint, create, layout, log, memory, place, reader, texts};
use crate::common::capabilities::KnownCapabilities;
use everturn::finding::FindingCode;
use everturn::format::RepairMode;
use everturn::names::FilePath;
use everturn::store::{Durability, Step};

#[test]
fn a_repair_keeps_every_whole_record_and_can_be_undone() {
    let store = memory();
    let mut thread = create(&store);
    for n in 1..=3 {
        let parent = (n > 1).then(|| format!("c{}", n - 1));
        thread.append(&checkpoint(&format!("c{n}"), parent.as_deref(), n), at(1)).unwrap();
    }
    thread.release().unwrap();
    let whole = log(&store);
    let lines: Vec<&str> = whole.lines().collect();
    // The header is gone, two records are on one line, and a torn one is between them.
    let torn = format!("{}\n{{\"type\": [\n{}{}\n", lines[1], lines[2], lines[3]);
    let file = FilePath::parse("threads/t1/thread.jsonl").unwrap();
    let writer = store.lock(std::slice::from_ref(&file)).unwrap();
    let step = Step::replace(file, torn.clone().into_bytes());
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();

    let before = texts(&*reader(&store));
    let editing = layout().editable();
    let plan = editing.repair(&store, &place(&store), RepairMode::Plan, at(9)).unwrap();
    let codes: Vec<_> = plan.findings.iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&FindingCode::BadMetadata) && codes.len() > 2, "{codes:?}");
    assert_eq!(log(&store), torn, "a plan changes nothing");
    let report = editing.repair(&store, &place(&store), RepairMode::Apply, at(9)).unwrap();
    assert_eq!(report.findings.len(), 0, "{:?}", report.findings);
    let repaired = log(&store);
    assert_eq!(repaired.lines().skip(1).collect::<Vec<_>>(), lines[1..]);
    assert_eq!(texts(&*reader(&store)), before);
    editing.repair(&store, &place(&store), RepairMode::Undo, at(10)).unwrap();
    assert_eq!(log(&store), torn);
}

#[test]
fn a_missing_base_is_an_error_and_never_an_empty_channel() {
    let store = memory();
    let mut thread = create(&store);
    thread.append(&checkpoint("a", None, 1), at(1)).unwrap();
    thread.append(&checkpoint("b", Some("a"), 2), at(2)).unwrap();
    thread.release().unwrap();
    let whole = log(&store);
    let without: String = whole
        .lines()
        .enumerate()
        .filter(|(n, _)| *n != 1)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let file = FilePath::parse("threads/t1/thread.jsonl").unwrap();
    let writer = store.lock(std::slice::from_ref(&file)).unwrap();
    writer.commit(vec![Step::replace(file, without.into_bytes())], Durability::Synced).unwrap();
    writer.release().unwrap();
    assert!(reader(&store).state(None).is_err());
    let editing = layout().editable();
    let plan = editing.repair(&store, &place(&store), RepairMode::Plan, at(9)).unwrap();
    let codes: Vec<_> = plan.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::MissingParent, FindingCode::BadRecord]);
}
