//! Selections by example, with their reasons. Every word is one token, and every item costs four more.

use std::cell::Cell;
use std::convert::Infallible;

use everturn_prompt::card::CharacterCard;
use everturn_prompt::context::{
    ChatRole, ContextError, ContextItem, ContextSelection, ContextStrategy, ContextWindow,
    Conversation, ExcludedItem, ExclusionReason, ItemKind, ItemPosition, chat_json, prompt_text,
    select_items,
};
use everturn_prompt::lorebook::{Lorebook, ScanOptions, activate_entries};
use serde_json::json;

use crate::choose;

/// A message of six tokens, with flags: `p`inned, `m`arked, `r`eferenced.
fn message(place: u64, flags: &str) -> ContextItem {
    let mut item = ContextItem::message(format!("m{place}"), place, ChatRole::User, "two words");
    item.pinned = flags.contains('p');
    item.marked = flags.contains('m');
    item.referenced = flags.contains('r');
    item
}

fn messages(flags: &[&str]) -> Vec<ContextItem> {
    (0..).zip(flags).map(|(place, flags)| message(place, flags)).collect()
}

fn lore(id: &str, spot: ItemPosition) -> ContextItem {
    ContextItem { spot, ..ContextItem::background(ItemKind::LorebookEntry, id, "two words") }
}

fn told(selection: &ContextSelection) -> String {
    let ids: Vec<&str> = selection.included.iter().map(|it| it.item.id.as_str()).collect();
    ids.join(" ")
}

fn left(selection: &ContextSelection) -> Vec<(&str, &ExclusionReason)> {
    selection.left_out.iter().map(|left| (left.id.as_str(), &left.why)).collect()
}

#[test]
fn strategies_choose_what_comes_first() {
    let log = messages(&["p", "p", "m", "", "r", "", ""]);
    let check = |strategy: ContextStrategy, size: usize, expect: &str| {
        assert_eq!(told(&choose(size, strategy, &[], &log)), expect, "{strategy} {size}");
    };
    check(ContextStrategy::Sliding, 5, "");
    check(ContextStrategy::Sliding, 6, "m6");
    check(ContextStrategy::Sliding, 18, "m4 m5 m6");
    check(ContextStrategy::Sliding, 100, "m0 m1 m2 m3 m4 m5 m6");
    check(ContextStrategy::Fixed, 6, "m6");
    check(ContextStrategy::Fixed, 12, "m0 m6");
    check(ContextStrategy::Fixed, 24, "m0 m1 m5 m6");
    check(ContextStrategy::Adaptive, 18, "m0 m1 m6");
    check(ContextStrategy::Adaptive, 24, "m0 m1 m2 m6");
    check(ContextStrategy::Adaptive, 30, "m0 m1 m2 m4 m6");
    check(ContextStrategy::Adaptive, 36, "m0 m1 m2 m4 m5 m6");
}

#[test]
fn what_is_left_out_is_named_with_the_reason() {
    let log = messages(&["p", "", "m", ""]);
    let adaptive = choose(12, ContextStrategy::Adaptive, &[], &log);
    assert_eq!(told(&adaptive), "m0 m3");
    assert_eq!(left(&adaptive), [("m2", &ExclusionReason::Room { left: 0 })]);
    let none = choose(7, ContextStrategy::Adaptive, &[], &log);
    let behind = ExclusionReason::BehindExcluded { id: "m0".to_owned() };
    assert_eq!(left(&none), [("m0", &ExclusionReason::Room { left: 1 }), ("m2", &behind)]);
}

#[test]
fn a_message_that_alone_does_not_fit_is_named() {
    let mut log = messages(&["", "", ""]);
    log[1].text = "word ".repeat(1000);
    let selection = choose(100, ContextStrategy::Sliding, &[], &log);
    assert_eq!(told(&selection), "m2");
    assert_eq!(left(&selection), [("m1", &ExclusionReason::Alone { budget: 100 })]);
    log[2].text = "word ".repeat(10_000_000 / 5);
    let selection = choose(100, ContextStrategy::Sliding, &[], &log);
    assert_eq!(told(&selection), "");
    assert_eq!(left(&selection), [("m2", &ExclusionReason::Alone { budget: 100 })]);
}

#[test]
fn background_and_messages_have_half_each_and_share_what_is_left() {
    let log = messages(&["", "", "", "", "", ""]);
    let some = [
        lore("a", ItemPosition::After),
        lore("b", ItemPosition::After),
        lore("c", ItemPosition::After),
    ];
    let check =
        |size: usize, background: &[ContextItem], messages: &[ContextItem], expect: &str| {
            assert_eq!(
                told(&choose(size, ContextStrategy::Sliding, background, messages)),
                expect,
                "{size}"
            );
        };
    check(12, &some, &log, "a m5");
    check(24, &some, &log, "a b m4 m5");
    check(30, &some, &log, "a b m4 m5");
    check(36, &some, &log, "a b c m3 m4 m5");
    check(42, &some, &log, "a b c m2 m3 m4 m5");
    check(24, &some, &log[..1], "a b c m0");
    check(24, &some[..1], &log, "a m3 m4 m5");
    check(24, &[], &log, "m2 m3 m4 m5");
    check(24, &some, &[], "a b c");
}

#[test]
fn items_stand_where_they_belong() {
    let background = [
        ContextItem::background(ItemKind::ToolSnapshot, "tool", "two words"),
        lore("deep", ItemPosition::Depth(1)),
        lore("after", ItemPosition::After),
        lore("deepest", ItemPosition::Depth(99)),
        lore("last", ItemPosition::Depth(0)),
        ContextItem::background(ItemKind::CharacterCard, "card", "two words"),
        lore("before", ItemPosition::Before),
    ];
    let selection = choose(1000, ContextStrategy::Sliding, &background, &messages(&["", "", ""]));
    assert_eq!(told(&selection), "before card after tool deepest m0 m1 deep m2 last");
    let only = choose(1000, ContextStrategy::Sliding, &background, &[]);
    assert_eq!(told(&only), "before card after tool deep deepest last");
}

#[test]
fn prompts_have_names_and_roles() {
    let card = ContextItem::background(ItemKind::CharacterCard, "cc", "Rem is a maid.");
    let log = [
        ContextItem::message("a", 0, ChatRole::of_message("narrator"), "It rains.")
            .with_speaker("Narrator"),
        ContextItem::message("b", 1, ChatRole::of_message("protagonist"), "I wait.")
            .with_speaker("Subaru"),
        ContextItem::message("c", 2, ChatRole::of_message("system"), "Saved."),
    ];
    let selection =
        choose(100, ContextStrategy::Sliding, &[card, lore("l", ItemPosition::After)], &log);
    assert_eq!(
        prompt_text(&selection),
        "Rem is a maid.\n\ntwo words\n\nNarrator: It rains.\n\nSubaru: I wait.\n\nSaved."
    );
    assert_eq!(
        chat_json(&selection),
        json!([
            {"role": "system", "content": "Rem is a maid.\n\ntwo words"},
            {"role": "assistant", "content": "Narrator: It rains."},
            {"role": "user", "content": "Subaru: I wait."},
            {"role": "system", "content": "Saved."},
        ])
    );
    assert_eq!(
        selection.context_window(),
        json!({"size": 100, "strategy": "sliding", "included_messages": ["a", "b", "c"],
            "included_tool_snapshots": [], "included_character_cards": ["cc"], "included_lorebook_entries": ["l"]})
    );
    assert_eq!(selection.to_json()["used"], json!(selection.used_tokens()));
    assert_eq!(selection.to_json()["messages"], json!({"included": 3, "all": 3}));
}

#[test]
fn cards_and_lore_become_items_and_lore_that_is_passed_over_is_left_out() {
    let card = br#"{"name": "Rem", "description": "{{char}} serves {{user}}."}"#;
    let card = CharacterCard::read(card, "cc-rem").unwrap();
    let book = br#"{"token_budget": 6, "entries": [
        {"id": "a", "keys": ["maid"], "content": "{{char}} is strong.", "position": "before_char", "priority": 2},
        {"id": "b", "keys": ["maid"], "content": "Much too long for what is left."}]}"#;
    let book = Lorebook::read(book, "lb").unwrap();
    let activation = activate_entries(&book, &["the maid"], &ScanOptions::default());
    let lore = activation
        .active
        .iter()
        .map(|active| ContextItem::lore(active, card.display_name(), "Subaru"));
    let background: Vec<ContextItem> =
        std::iter::once(ContextItem::card(&card, "Subaru")).chain(lore).collect();
    let mut selection = choose(100, ContextStrategy::Sliding, &background, &[]);
    selection.left_out.extend(activation.passed.iter().map(ExcludedItem::from));
    assert_eq!(prompt_text(&selection), "Rem is strong.\n\nRem\nRem serves Subaru.");
    assert_eq!(
        selection.to_json()["left_out"],
        json!([{"kind": "lorebook_entry", "id": "b", "why": "the lorebook's budget of 6 tokens is used up"}])
    );
}

#[test]
fn a_long_log_is_read_only_as_far_as_it_fits() {
    let read = Cell::new(0);
    let conversation = Conversation {
        background: vec![],
        ahead: vec![],
        newest_first: (0..100_000_u64).rev().map(|place| {
            read.set(read.get() + 1);
            Ok::<ContextItem, Infallible>(message(place, ""))
        }),
        count: Some(100_000),
    };
    let selection =
        select_items(ContextWindow::new(700, 100).unwrap(), ContextStrategy::Sliding, conversation)
            .unwrap();
    assert_eq!(selection.ids(ItemKind::Message).len(), 100);
    assert_eq!(read.get(), 101);
    assert_eq!(selection.used_tokens(), 600);
}

#[test]
fn a_message_that_cannot_be_read_is_an_error() {
    let conversation = Conversation {
        background: vec![],
        ahead: vec![],
        newest_first: vec![Ok(message(1, "")), Err("torn")].into_iter(),
        count: None,
    };
    let selected =
        select_items(ContextWindow::new(100, 0).unwrap(), ContextStrategy::Sliding, conversation);
    assert_eq!(selected.unwrap_err(), "torn");
}

#[test]
fn windows_and_strategies_are_checked() {
    assert_eq!(
        ContextWindow::new(10, 10).unwrap_err(),
        ContextError::NoRoom { size: 10, reserve: 10 }
    );
    assert!(ContextWindow::new(0, 0).is_err());
    assert_eq!(ContextWindow::new(10, 3).unwrap().budget(), 7);
    for strategy in ContextStrategy::ALL {
        assert_eq!(strategy.as_str().parse::<ContextStrategy>().unwrap(), *strategy);
    }
    let error = "newest".parse::<ContextStrategy>().unwrap_err().to_string();
    assert!(error.contains("sliding, fixed, adaptive"), "{error}");
}
