//! Random sessions and random queries: the index gives the same results as reading everything.

use std::collections::BTreeSet;

use everturn_catalog::{Catalog, Query, SortOrder, SummaryDetail};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;

use crate::support::{World, at, later, shown};

const WORDS: [&str; 18] = [
    "dragon",
    "Dragons",
    "tower",
    "old",
    "Café",
    "parseHttp",
    "HttpServer",
    "http_server",
    "日本語",
    "猫",
    "黒猫",
    "the",
    "a",
    "x1",
    "GitHub",
    "won't",
    "Ölbaum",
    "한국어",
];

fn text() -> impl Strategy<Value = String> {
    vec(select(&WORDS[..]), 1..7).prop_map(|words| words.join(" "))
}

fn term() -> impl Strategy<Value = String> {
    let word = || select(&WORDS[..]).prop_map(str::to_owned);
    prop_oneof![
        4 => word(),
        2 => (word(), word()).prop_map(|(one, two)| format!("\"{one} {two}\"")),
        1 => select(vec!["dra*", "ht*", "日*", "c*", "old~", "towr~", "dragn~1", "github", "server", "語"])
            .prop_map(str::to_owned),
        1 => word().prop_map(|word| format!("-{word}")),
        1 => (word(), word()).prop_map(|(one, two)| format!("{one} OR {two}")),
        1 => Just("kind:narrator".to_owned()),
        1 => Just("-speaker:gm".to_owned()),
        1 => Just("layout:game".to_owned()),
        1 => select(vec!["since:2026-01-01T10:02:00Z", "until:2026-01-01T10:03:00Z"]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_index_says_what_reading_everything_says(
        games in vec(vec(text(), 1..6), 1..4),
        chats in vec(vec(text(), 1..6), 0..3),
        queries in vec(vec(term(), 1..4).prop_map(|terms| terms.join(" ")), 12),
    ) {
        let world = World::new();
        for (layout, all) in [("game", games), ("chatlog", chats)] {
            for (number, texts) in all.iter().enumerate() {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                world.session(layout, &format!("{layout}-{number}"), &texts);
            }
        }
        let sources = world.sources();
        let (mut index, mut none) = (world.catalog(), Catalog::new(None));
        let sessions = index.sessions(&sources, SummaryDetail::All, later());
        index.update(&sources, &sessions, later(), &mut |_| {});
        for text in queries {
            let Ok(query) = Query::parse(&text, at(0)) else { continue };
            let ask = |catalog: &mut Catalog| {
                let found = catalog.search(&sources, &sessions, &query, (1000, SortOrder::Date));
                let similar = found.similar.is_some();
                (shown(&sources, &sessions, &found).into_iter().collect::<BTreeSet<_>>(), similar)
            };
            let (by_index, by_reading) = (ask(&mut index), ask(&mut none));
            prop_assert_eq!(by_index, by_reading, "{}", text);
        }
        prop_assert_eq!(index.take_notes(), Vec::<String>::new());
    }
}
