//! Properties of every selection.

use std::collections::HashSet;

use everturn_prompt::context::{
    ChatRole, ContextItem, ContextSelection, ContextStrategy, ItemKind, ItemPosition, chat_json,
    prompt_text,
};
use everturn_prompt::tokens;
use proptest::prelude::{Just, Strategy as _, any, prop, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};

use crate::choose;

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

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn never_over_the_budget(log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..600) {
        let selection = choose(size, strategy, &background, &log);
        prop_assert!(selection.used_tokens() <= size);
        prop_assert!(tokens::count_tokens(&prompt_text(&selection)) <= selection.used_tokens());
        let chat = chat_json(&selection);
        let contents = chat.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap());
        prop_assert!(contents.map(|text| tokens::count_tokens(text) + 4).sum::<usize>() <= selection.used_tokens());
    }

    #[test]
    fn sliding_includes_a_suffix(log in logs(), background in backgrounds(), size in 1_usize..600) {
        let selection = choose(size, ContextStrategy::Sliding, &background, &log);
        let told = selection.ids(ItemKind::Message);
        let newest: Vec<&str> = log.iter().skip(log.len() - told.len()).map(|it| it.id.as_str()).collect();
        prop_assert_eq!(told, newest);
    }

    #[test]
    fn more_room_never_takes_anything_away(
        log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..600, more in 1_usize..300,
    ) {
        let small = choose(size, strategy, &background, &log);
        let large = choose(size + more, strategy, &background, &log);
        prop_assert!(ids(&small).is_subset(&ids(&large)), "{:?} {:?}", ids(&small), ids(&large));
    }

    #[test]
    fn the_same_input_gives_the_same_selection(
        log in logs(), background in backgrounds(), strategy in strategies(), size in 1_usize..600,
    ) {
        let selection = choose(size, strategy, &background, &log);
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
