//! Random deltas on random states, with keys and spellings that are hard to get right.

#![cfg(test)]

use everturn_value::delta::{Delta, DeltaPath, apply_group, diff};
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, canonical_text};
use proptest::prelude::*;

/// Keys as written between quotes, and their characters if a path can name them.
const KEYS: &[(&str, Option<&str>)] = &[
    ("a", Some("a")),
    ("b", Some("b")),
    ("0", Some("0")),
    ("1", Some("1")),
    ("", Some("")),
    ("x.y", Some("x.y")),
    ("\\\"", Some("\"")),
    ("\\\\", Some("\\")),
    ("\\u0001\\n", Some("\u{1}\n")),
    ("é😀", Some("é😀")),
    ("\\ud800", None),
    ("\\ud801", None),
];

const SCALARS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "1.0",
    "1e0",
    "-17",
    "0.5",
    "18446744073709551616",
    "123456789012345678901234567890123456789012",
    "1e400",
    "\"\"",
    "\"A\"",
    "\"\\u0041\"",
    "\"\\ud800\"",
    "\"{\\\"[,:\\\\\"",
    "\"é\"",
    "\"\u{7f}\\u00e9\\/\"",
];

const SPACES: &[&str] = &["", "", " ", "\n  ", "\r\n", "\t \n"];

/// JSON text with all kinds of white space, and no duplicate keys.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(SCALARS).prop_map(str::to_owned);
    let space = || prop::sample::select(SPACES);
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let element = (space(), inner.clone(), space());
        let array = prop::collection::vec(element, 0..5).prop_map(|elements| {
            let spaced =
                |(before, value, after): (&str, String, &str)| [before, &value, after].concat();
            format!("[{}]", elements.into_iter().map(spaced).collect::<Vec<_>>().join(","))
        });
        let keys = prop::sample::subsequence(KEYS, 0..5).prop_shuffle();
        let member = (space(), inner, space());
        let object = (keys, prop::collection::vec(member, 5)).prop_map(|(keys, members)| {
            let joined = |(key, (before, value, after)): (&(&str, _), (&str, String, &str))| {
                format!("{before}\"{}\"{after}:{before}{value}{after}", key.0)
            };
            let members: Vec<String> = keys.iter().zip(members).map(joined).collect();
            format!("{{{}}}", members.join(","))
        });
        prop_oneof![array, object]
    })
}

fn path() -> impl Strategy<Value = DeltaPath> {
    let named: Vec<&str> = KEYS.iter().filter_map(|(_, key)| *key).collect();
    let segment = prop_oneof![
        3 => prop::sample::select(named),
        2 => prop::sample::select(vec!["0", "1", "2", "00", "-1"]),
    ];
    (prop::collection::vec(segment, 0..4), any::<bool>()).prop_map(|(segments, dotted)| {
        let path = DeltaPath::array(segments);
        if dotted { path.with_notation(everturn_value::delta::PathNotation::Dotted) } else { path }
    })
}

fn tree(text: &str) -> JsonTree {
    JsonTree::parse(text).unwrap()
}

fn delta() -> impl Strategy<Value = Delta> {
    (0..5, path(), text(), prop::sample::select(SCALARS)).prop_map(|(op, path, value, scalar)| {
        match op {
            0 => Delta::set(path, tree(&value)),
            1 => Delta::delete(path),
            2 => Delta::push(path, tree(&value)),
            3 => Delta::pull(path, tree(scalar)),
            _ => Delta::increment(path, tree(scalar)),
        }
    })
}

/// Applies the deltas that can be applied; the others must change nothing.
fn apply_some(deltas: &[Delta], state: &mut JsonTree) -> Vec<Delta> {
    let mut done = Vec::new();
    for delta in deltas {
        let before = state.to_line();
        match delta.apply(state) {
            Ok(delta) => done.push(delta),
            Err(_) => assert_eq!(state.to_line(), before, "after {}", delta.to_line()),
        }
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn inverses_in_reverse_order_lead_back_to_the_same_text(
        start in text(),
        deltas in prop::collection::vec(delta(), 0..24),
    ) {
        let mut state = tree(&start);
        let done = apply_some(&deltas, &mut state);
        let end = state.to_line();
        let mut undone = Vec::new();
        for delta in done.iter().rev() {
            undone.push(delta.inverse().unwrap().apply(&mut state).unwrap());
        }
        prop_assert_eq!(state.to_line(), tree(&start).to_line());
        for delta in undone.iter().rev() {
            delta.inverse().unwrap().apply(&mut state).unwrap();
        }
        prop_assert_eq!(state.to_line(), end);
    }

    #[test]
    fn what_files_keep_of_deltas_does_the_same_as_the_deltas(
        start in text(),
        deltas in prop::collection::vec(delta(), 0..24),
    ) {
        let mut state = tree(&start);
        let done = apply_some(&deltas, &mut state);
        let lines: Vec<String> = done.iter().map(Delta::to_line).collect();
        let mut replayed = tree(&start);
        for line in &lines {
            let again = Delta::parse(line).unwrap().apply(&mut replayed).unwrap();
            prop_assert_eq!(&again.to_line(), line);
        }
        prop_assert_eq!(replayed.to_line(), state.to_line());
        for line in lines.iter().rev() {
            let back = Delta::parse(line).unwrap().inverse().unwrap().to_line();
            Delta::parse(&back).unwrap().apply(&mut replayed).unwrap();
        }
        prop_assert_eq!(replayed.to_line(), tree(&start).to_line());
    }

    #[test]
    fn a_group_is_applied_whole_or_not_at_all(
        start in text(),
        deltas in prop::collection::vec(delta(), 0..6),
    ) {
        let mut state = tree(&start);
        let mut group = deltas.clone();
        let result = apply_group(&mut group, &mut state);
        let mut alone = tree(&start);
        let done: Result<Vec<Delta>, _> = deltas.iter().map(|delta| delta.apply(&mut alone)).collect();
        match (result, done) {
            (Ok(()), Ok(done)) => {
                prop_assert_eq!(state.to_line(), alone.to_line());
                let lines = |deltas: &[Delta]| deltas.iter().map(Delta::to_line).collect::<Vec<_>>();
                prop_assert_eq!(lines(&group), lines(&done));
            }
            (Err((_, error)), Err(expected)) => {
                prop_assert_eq!(error, expected);
                prop_assert_eq!(state.to_line(), tree(&start).to_line());
            }
            (result, done) => prop_assert!(false, "{result:?} but {done:?}"),
        }
    }

    #[test]
    fn a_text_in_any_layout_is_the_same_value(
        text in text(),
        style in prop::sample::select(vec![
            JsonStyle::PRETTY_RAW, JsonStyle::PRETTY_ASCII, JsonStyle::SPACED_ASCII, JsonStyle::COMPACT,
        ]),
        touched in path(),
    ) {
        let mut state = tree(&text);
        let written = state.to_text(&style);
        prop_assert_eq!(tree(&written).to_text(&style), written.as_str());
        prop_assert_eq!(canonical_text(&tree(&written)), canonical_text(&state));
        if style == JsonStyle::COMPACT {
            prop_assert_eq!(&written, &state.to_line());
        }
        // Independent parsers read the same.
        if let (Ok(a), Ok(b)) = (state.to_value(), serde_json::from_str::<serde_json::Value>(&written)) {
            prop_assert_eq!(a, b);
        }
        drop(Delta::delete(touched).apply(&mut state).map(|done| {
            done.inverse().unwrap().apply(&mut state).unwrap();
        }));
        prop_assert_eq!(state.to_text(&style), written);
    }

    #[test]
    fn diff_leads_from_one_state_to_the_other(from in text(), to in text()) {
        let (before, after) = (tree(&from), tree(&to));
        let mut deltas = diff(&before, &after);
        prop_assert_eq!(deltas.is_empty(), before.is_same(&after));
        let mut state = before;
        prop_assert!(apply_group(&mut deltas, &mut state).is_ok());
        prop_assert!(state.is_same(&after), "{} is not {}", state.to_line(), to);
    }

    #[test]
    fn diff_of_a_changed_state_finds_the_change(
        start in text(),
        deltas in prop::collection::vec(delta(), 0..6),
    ) {
        let before = tree(&start);
        let mut after = before.clone();
        apply_some(&deltas, &mut after);
        let mut state = before.clone();
        prop_assert!(apply_group(&mut diff(&before, &after), &mut state).is_ok());
        prop_assert_eq!(canonical_text(&state), canonical_text(&after));
        prop_assert!(diff(&state, &after).is_empty());
    }
}
