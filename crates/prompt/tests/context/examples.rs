//! Selections by example, with their reasons. Every word is one token, and every item costs four more.

use std::cell::Cell;

use everturn_prompt::card::CharacterCard;
use everturn_prompt::context::{
    ChatRole, ContextError, ContextItem, ContextSelection, ContextStrategy, ContextWindow,
    Conversation, ExcludedItem, ExclusionReason, ItemKind, ItemPosition, chat_json, prompt_text,
    select_items,
};
use everturn_prompt::lorebook::{Lorebook, ScanOptions, activate_entries};
use serde_json::json;

use crate::{choose, try_to_choose};

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
    let plain = messages(&["", "", "m", "", "r", "", ""]);
    let check = |log: &[ContextItem], strategy: ContextStrategy, size: usize, expect: &str| {
        assert_eq!(told(&choose(size, strategy, &[], log)), expect, "{strategy} {size}");
    };
    check(&plain, ContextStrategy::Sliding, 6, "m6");
    check(&plain, ContextStrategy::Sliding, 18, "m4 m5 m6");
    check(&plain, ContextStrategy::Sliding, 100, "m0 m1 m2 m3 m4 m5 m6");
    // A pin holds in every strategy.
    for strategy in ContextStrategy::ALL {
        check(&log, *strategy, 6, "m6");
        check(&log, *strategy, 12, "m0 m6");
        check(&log, *strategy, 18, "m0 m5 m6");
    }
    check(&plain, ContextStrategy::Fixed, 18, "m4 m5 m6");
    check(&plain, ContextStrategy::Adaptive, 24, "m2 m4 m5 m6");
}

#[test]
fn what_does_not_fit_is_named_and_the_next_is_tried() {
    let mut log = messages(&["", "m", "", "", ""]);
    log[1].text = "word ".repeat(1000);
    log[3].text = "word ".repeat(16).trim_end().to_owned();
    let selection = choose(24, ContextStrategy::Adaptive, &[], &log);
    assert_eq!(told(&selection), "m0 m2 m4");
    assert_eq!(
        left(&selection),
        [
            ("m3", &ExclusionReason::Room { left: 18 }),
            ("m1", &ExclusionReason::Alone { budget: 24 }),
        ]
    );
}

#[test]
fn the_newest_message_is_cut_at_a_sentence_if_it_must_be() {
    let mut log = messages(&["", ""]);
    log[1].text = format!("{} The end is near.", "There are many words. ".repeat(100));
    let selection = choose(60, ContextStrategy::Sliding, &[], &log);
    assert!(selection.newest_cut.is_some());
    let text = prompt_text(&selection);
    assert!(text.contains("is left out.]") && text.ends_with("The end is near."), "{text}");
    assert!(text.contains("] There are many words."), "{text}");
    assert_eq!(selection.to_json()["newest_cut"], json!(selection.newest_cut));
    let error = try_to_choose(9, ContextStrategy::Sliding, &[], &log).unwrap_err();
    assert!(matches!(error, ContextError::NewestTooLarge { budget: 9, .. }), "{error}");
}

/// A message of so many tokens.
fn sized(place: u64, tokens: usize) -> ContextItem {
    let text = "word ".repeat(tokens - 4).trim_end().to_owned();
    ContextItem { text, ..message(place, "") }
}

fn card(id: &str, tokens: usize) -> ContextItem {
    let text = "word ".repeat(tokens - 4).trim_end().to_owned();
    ContextItem::background(ItemKind::CharacterCard, id, text)
}

/// The cases of docs/context.md: 200 messages of 63 tokens, and a window of 8000.
#[test]
fn no_single_item_empties_the_window() {
    let log: Vec<ContextItem> = (0..200).map(|place| sized(place, 63)).collect();
    let with = |at: usize, tokens: usize| {
        let mut log = log.clone();
        log[at] = ContextItem { id: log[at].id.clone(), ..sized(at as u64, tokens) };
        log
    };
    let mut marked = with(50, 9000);
    marked[50].marked = true;
    let mut many_marks = log.clone();
    many_marks[..60].iter_mut().for_each(|item| item.marked = true);
    let lore: Vec<ContextItem> =
        (0..20).map(|at| lore(&format!("l{at}"), ItemPosition::After)).collect();
    let with_card =
        |tokens: usize| [vec![card("c", tokens), card("d", 100)], lore.clone()].concat();
    let check = |name: &str, strategy, background: &[ContextItem], log: &[ContextItem]| {
        let selection = choose(8000, strategy, background, log);
        assert!(selection.used_tokens() > 8000 - 63, "{name}: {}", selection.used_tokens());
        selection
    };
    check("one marked message larger than the window", ContextStrategy::Adaptive, &[], &marked);
    let cut = check(
        "the newest message larger than the window",
        ContextStrategy::Sliding,
        &[],
        &with(199, 9000),
    );
    assert!(cut.newest_cut.is_some());
    let large =
        check("a card larger than the window", ContextStrategy::Sliding, &with_card(9000), &log);
    assert_eq!(large.ids(ItemKind::CharacterCard), ["d"]);
    assert_eq!(large.ids(ItemKind::LorebookEntry).len(), 20);
    let half = check("a card of 4300 tokens", ContextStrategy::Sliding, &with_card(4300), &log);
    assert_eq!(half.ids(ItemKind::CharacterCard), ["c", "d"]);
    check("one large message ten back", ContextStrategy::Sliding, &[], &with(189, 9000));
    let marks = check("60 marks", ContextStrategy::Adaptive, &[], &many_marks);
    let old = marks.included.iter().filter(|it| it.item.place < 60).count();
    let recent = marks.included.iter().filter(|it| it.item.place >= 60).count();
    assert!(old > 20 && recent > 80, "{old} marked, {recent} recent");
    let cards: Vec<ContextItem> = (0..10).map(|at| card(&format!("c{at}"), 1000)).collect();
    let crowd = check("ten cards of 1000 tokens", ContextStrategy::Sliding, &cards, &log);
    assert!(crowd.ids(ItemKind::Message).len() > 20, "{}", told(&crowd));
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
            Ok::<ContextItem, ContextError>(message(place, ""))
        }),
        count: Some(100_000),
    };
    let selection =
        select_items(ContextWindow::new(700, 100).unwrap(), ContextStrategy::Sliding, conversation)
            .unwrap();
    assert_eq!(selection.ids(ItemKind::Message).len(), 100);
    assert_eq!(read.get(), 100);
    assert_eq!(selection.used_tokens(), 600);
}

#[test]
fn a_message_that_cannot_be_read_is_an_error() {
    let torn = ContextError::Strategy { word: "torn".to_owned() };
    let conversation = Conversation {
        background: vec![],
        ahead: vec![],
        newest_first: vec![Ok(message(1, "")), Err(torn.clone())].into_iter(),
        count: None,
    };
    let selected =
        select_items(ContextWindow::new(100, 0).unwrap(), ContextStrategy::Sliding, conversation);
    assert_eq!(selected.unwrap_err(), torn);
}

#[test]
fn windows_and_strategies_are_checked() {
    assert_eq!(
        ContextWindow::new(10, 10).unwrap_err(),
        ContextError::NoRoom { size: 10, reserve: 10, prompts: 0 }
    );
    assert!(ContextWindow::new(0, 0).is_err());
    assert_eq!(ContextWindow::new(10, 3).unwrap().budget(), 7);
    for strategy in ContextStrategy::ALL {
        assert_eq!(strategy.as_str().parse::<ContextStrategy>().unwrap(), *strategy);
    }
    let error = "newest".parse::<ContextStrategy>().unwrap_err().to_string();
    assert!(error.contains("sliding, fixed, adaptive"), "{error}");
}
