//! What is told and why, by example. Every word is one token, and every item costs four more.

use std::cell::Cell;
use std::convert::Infallible;

use everturn_prompt::card::Card;
use everturn_prompt::context::{
    ContextError, Conversation, Item, Kind, LeftOut, Obstacle, Role, Selection, Spot, Strategy,
    Window, chat_json, prompt_text, select,
};
use everturn_prompt::lorebook::{Lorebook, Scan, activate};
use serde_json::json;

use crate::choose;

/// A message of six tokens, by what it is: `p`inned, `m`arked, `r`eferred to.
fn message(place: u64, flags: &str) -> Item {
    let mut item = Item::message(format!("m{place}"), place, Role::User, "two words");
    item.pinned = flags.contains('p');
    item.marked = flags.contains('m');
    item.referenced = flags.contains('r');
    item
}

fn messages(flags: &[&str]) -> Vec<Item> {
    (0..).zip(flags).map(|(place, flags)| message(place, flags)).collect()
}

fn lore(id: &str, spot: Spot) -> Item {
    Item { spot, ..Item::background(Kind::LorebookEntry, id, "two words") }
}

fn told(selection: &Selection) -> String {
    let ids: Vec<&str> = selection.included.iter().map(|it| it.item.id.as_str()).collect();
    ids.join(" ")
}

fn left(selection: &Selection) -> Vec<(&str, &Obstacle)> {
    selection.left_out.iter().map(|left| (left.id.as_str(), &left.why)).collect()
}

#[test]
fn strategies_choose_what_comes_first() {
    let log = messages(&["p", "p", "m", "", "r", "", ""]);
    let check = |strategy: Strategy, size: usize, expect: &str| {
        assert_eq!(told(&choose(size, strategy, &[], &log)), expect, "{strategy} {size}");
    };
    check(Strategy::Sliding, 5, "");
    check(Strategy::Sliding, 6, "m6");
    check(Strategy::Sliding, 18, "m4 m5 m6");
    check(Strategy::Sliding, 100, "m0 m1 m2 m3 m4 m5 m6");
    check(Strategy::Fixed, 6, "m6");
    check(Strategy::Fixed, 12, "m0 m6");
    check(Strategy::Fixed, 24, "m0 m1 m5 m6");
    check(Strategy::Adaptive, 18, "m0 m1 m6");
    check(Strategy::Adaptive, 24, "m0 m1 m2 m6");
    check(Strategy::Adaptive, 30, "m0 m1 m2 m4 m6");
    check(Strategy::Adaptive, 36, "m0 m1 m2 m4 m5 m6");
}

#[test]
fn what_is_left_out_is_named_with_the_reason() {
    let log = messages(&["p", "", "m", ""]);
    let adaptive = choose(12, Strategy::Adaptive, &[], &log);
    assert_eq!(told(&adaptive), "m0 m3");
    assert_eq!(left(&adaptive), [("m2", &Obstacle::Room { left: 0 })]);
    let none = choose(7, Strategy::Adaptive, &[], &log);
    let behind = Obstacle::Behind { id: "m0".to_owned() };
    assert_eq!(left(&none), [("m0", &Obstacle::Room { left: 1 }), ("m2", &behind)]);
}

#[test]
fn a_message_that_alone_does_not_fit_is_named() {
    let mut log = messages(&["", "", ""]);
    log[1].text = "word ".repeat(1000);
    let selection = choose(100, Strategy::Sliding, &[], &log);
    assert_eq!(told(&selection), "m2");
    assert_eq!(left(&selection), [("m1", &Obstacle::Alone { budget: 100 })]);
    log[2].text = "word ".repeat(10_000_000 / 5);
    let selection = choose(100, Strategy::Sliding, &[], &log);
    assert_eq!(told(&selection), "");
    assert_eq!(left(&selection), [("m2", &Obstacle::Alone { budget: 100 })]);
}

#[test]
fn background_and_messages_have_half_each_and_share_what_is_left() {
    let log = messages(&["", "", "", "", "", ""]);
    let some = [lore("a", Spot::After), lore("b", Spot::After), lore("c", Spot::After)];
    let check = |size: usize, background: &[Item], messages: &[Item], expect: &str| {
        assert_eq!(told(&choose(size, Strategy::Sliding, background, messages)), expect, "{size}");
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
        Item::background(Kind::ToolSnapshot, "tool", "two words"),
        lore("deep", Spot::Depth(1)),
        lore("after", Spot::After),
        lore("deepest", Spot::Depth(99)),
        lore("last", Spot::Depth(0)),
        Item::background(Kind::CharacterCard, "card", "two words"),
        lore("before", Spot::Before),
    ];
    let selection = choose(1000, Strategy::Sliding, &background, &messages(&["", "", ""]));
    assert_eq!(told(&selection), "before card after tool deepest m0 m1 deep m2 last");
    let only = choose(1000, Strategy::Sliding, &background, &[]);
    assert_eq!(told(&only), "before card after tool deep deepest last");
}

#[test]
fn prompts_have_names_and_roles() {
    let card = Item::background(Kind::CharacterCard, "cc", "Rem is a maid.");
    let log = [
        Item::message("a", 0, Role::of_message("narrator"), "It rains.").said_by("Narrator"),
        Item::message("b", 1, Role::of_message("protagonist"), "I wait.").said_by("Subaru"),
        Item::message("c", 2, Role::of_message("system"), "Saved."),
    ];
    let selection = choose(100, Strategy::Sliding, &[card, lore("l", Spot::After)], &log);
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
    assert_eq!(selection.to_json()["used"], json!(selection.used()));
    assert_eq!(selection.to_json()["messages"], json!({"included": 3, "all": 3}));
}

#[test]
fn cards_and_lore_become_items_and_lore_that_is_passed_over_is_left_out() {
    let card = br#"{"name": "Rem", "description": "{{char}} serves {{user}}."}"#;
    let card = Card::read(card, "cc-rem").unwrap();
    let book = br#"{"token_budget": 6, "entries": [
        {"id": "a", "keys": ["maid"], "content": "{{char}} is strong.", "position": "before_char", "priority": 2},
        {"id": "b", "keys": ["maid"], "content": "Much too long for what is left."}]}"#;
    let book = Lorebook::read(book, "lb").unwrap();
    let activation = activate(&book, &["the maid"], &Scan::default());
    let lore = activation.active.iter().map(|active| Item::lore(active, card.called(), "Subaru"));
    let background: Vec<Item> = std::iter::once(Item::card(&card, "Subaru")).chain(lore).collect();
    let mut selection = choose(100, Strategy::Sliding, &background, &[]);
    selection.left_out.extend(activation.passed.iter().map(LeftOut::from));
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
            Ok::<Item, Infallible>(message(place, ""))
        }),
        count: Some(100_000),
    };
    let selection =
        select(Window::new(700, 100).unwrap(), Strategy::Sliding, conversation).unwrap();
    assert_eq!(selection.ids(Kind::Message).len(), 100);
    assert_eq!(read.get(), 101);
    assert_eq!(selection.used(), 600);
}

#[test]
fn a_message_that_cannot_be_read_is_an_error() {
    let conversation = Conversation {
        background: vec![],
        ahead: vec![],
        newest_first: vec![Ok(message(1, "")), Err("torn")].into_iter(),
        count: None,
    };
    let selected = select(Window::new(100, 0).unwrap(), Strategy::Sliding, conversation);
    assert_eq!(selected.unwrap_err(), "torn");
}

#[test]
fn windows_and_strategies_are_checked() {
    assert_eq!(Window::new(10, 10).unwrap_err(), ContextError::NoRoom { size: 10, reserve: 10 });
    assert!(Window::new(0, 0).is_err());
    assert_eq!(Window::new(10, 3).unwrap().budget(), 7);
    for strategy in Strategy::ALL {
        assert_eq!(strategy.as_str().parse::<Strategy>().unwrap(), *strategy);
    }
    let error = "newest".parse::<Strategy>().unwrap_err().to_string();
    assert!(error.contains("sliding, fixed or adaptive"), "{error}");
}
