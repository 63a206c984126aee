//! Properties of every selection.

use std::collections::HashSet;

use everturn_prompt::context::{
    ChatRole, ContextItem, ContextSelection, ContextStrategy, ItemKind, ItemPosition, chat_json,
    prompt_text,
};
use everturn_prompt::tokens;
use proptest::prelude::{Just, Strategy as _, any, prop, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};

use crate::{choose, try_to_choose};

fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(
            prop_oneof![Just("word"), Just("漢字"), Just("\n"), Just("!?"), Just("  ")],
            0..30
        )
        .prop_map(|words| words.join(" ")),
        Just("long ".repeat(200)),
    ]
}

fn logs() -> impl proptest::strategy::Strategy<Value = Vec<ContextItem>> {
    let message = (texts(), prop::bool::weighted(0.1), prop::bool::weighted(0.1), any::<bool>());
    prop::collection::vec(message, 0..25).prop_map(|messages| {
        let items = (0..).zip(messages).map(|(place, (text, pinned, marked, named))| {
            let item = ContextItem::message(format!("m{place}"), place, ChatRole::User, text);
            let item = ContextItem { pinned, marked, ..item };
            if named { item.with_speaker("Somebody") } else { item }
        });
        items.collect()
    })
}

fn backgrounds() -> impl proptest::strategy::Strategy<Value = Vec<ContextItem>> {
    let kinds = prop_oneof![
        Just(ItemKind::CharacterCard),
        Just(ItemKind::LorebookEntry),
        Just(ItemKind::ToolSnapshot)
    ];
    let spots = prop_oneof![
        Just(ItemPosition::Before),
        Just(ItemPosition::After),
        (0_usize..5).prop_map(ItemPosition::Depth)
    ];
    prop::collection::vec((texts(), kinds, spots), 0..8).prop_map(|items| {
        let items = items.into_iter().enumerate().map(|(at, (text, kind, spot))| ContextItem {
            spot,
            ..ContextItem::background(kind, format!("b{at}"), text)
        });
        items.collect()
    })
}

fn strategies() -> impl proptest::strategy::Strategy<Value = ContextStrategy> {
    prop::sample::select(ContextStrategy::ALL.to_vec())
}

fn ids(selection: &ContextSelection) -> HashSet<&str> {
    selection.included.iter().map(|included| included.item.id.as_str()).collect()
}

/// The tokens of an item.
fn cost(item: &ContextItem) -> usize {
    tokens::count_tokens(&item.prompt_line()) + 4
}

/// All items, in the order of choice, which does not depend on the window.
fn order(
    log: &[ContextItem],
    background: &[ContextItem],
    strategy: ContextStrategy,
) -> Vec<String> {
    let all = choose(1_000_000, strategy, background, log);
    let mut ranked: Vec<(usize, String)> =
        all.included.iter().map(|it| (it.rank, it.item.id.clone())).collect();
    ranked.sort();
    ranked.into_iter().map(|(_, id)| id).collect()
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 3000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn never_over_the_budget(log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..600) {
        let Ok(selection) = try_to_choose(size, strategy, &background, &log) else { return Ok(()) };
        prop_assert!(selection.used_tokens() <= size);
        prop_assert!(tokens::count_tokens(&prompt_text(&selection)) <= selection.used_tokens());
        let chat = chat_json(&selection);
        let contents = chat.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap());
        prop_assert!(contents.map(|text| tokens::count_tokens(text) + 4).sum::<usize>() <= selection.used_tokens());
    }

    #[test]
    fn the_room_that_is_left_is_smaller_than_every_item_that_was_left_out(
        log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..2000,
    ) {
        let Ok(selection) = try_to_choose(size, strategy, &background, &log) else { return Ok(()) };
        let left = size - selection.used_tokens();
        let included = ids(&selection);
        for item in log.iter().chain(&background).filter(|item| !included.contains(item.id.as_str())) {
            prop_assert!(cost(item) > left, "{} needs {}, and {left} are left", item.id, cost(item));
        }
    }

    #[test]
    fn the_newest_message_is_told_or_the_window_is_too_small_for_a_word_of_it(
        log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..600,
    ) {
        let Some(newest) = log.last() else { return Ok(()) };
        match try_to_choose(size, strategy, &background, &log) {
            Ok(selection) => {
                prop_assert!(ids(&selection).contains(newest.id.as_str()));
                prop_assert_eq!(selection.newest_cut.is_some(), cost(newest) > size);
            }
            Err(error) => prop_assert!(cost(newest) > size && size < 40, "{}", error),
        }
    }

    #[test]
    fn a_larger_window_has_what_the_smaller_one_has_or_something_that_comes_before_it(
        log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..1500, more in 1_usize..300,
    ) {
        let Ok(small) = try_to_choose(size, strategy, &background, &log) else { return Ok(()) };
        let large = choose(size + more, strategy, &background, &log);
        let order = order(&log, &background, strategy);
        let (small, large) = (ids(&small), ids(&large));
        // The first difference, in the order of choice, is an item that only the larger window has.
        let differs = order.iter().find(|id| small.contains(id.as_str()) != large.contains(id.as_str()));
        if let Some(id) = differs {
            prop_assert!(large.contains(id.as_str()), "{id} is lost");
        }
        // So nothing is lost of what was chosen before the first item that did not fit.
        let first = order.iter().take_while(|id| small.contains(id.as_str()));
        for id in first {
            prop_assert!(large.contains(id.as_str()), "{id} is lost");
        }
    }

    #[test]
    fn the_same_input_gives_the_same_selection(
        log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..600,
    ) {
        let Ok(selection) = try_to_choose(size, strategy, &background, &log) else { return Ok(()) };
        prop_assert_eq!(&selection, &choose(size, strategy, &background, &log));
        let count = ids(&selection).len();
        prop_assert_eq!(count, selection.included.len());
        let places: Vec<u64> = selection.included.iter()
            .filter(|it| it.item.kind == ItemKind::Message).map(|it| it.item.place).collect();
        prop_assert!(places.is_sorted());
    }

    #[test]
    fn with_room_for_all_nothing_is_left_out(log in logs(), background in backgrounds(), strategy in strategies()) {
        let selection = choose(1_000_000, strategy, &background, &log);
        prop_assert_eq!(selection.included.len(), log.len() + background.len());
        prop_assert_eq!(selection.left_out.len(), 0);
    }
}
