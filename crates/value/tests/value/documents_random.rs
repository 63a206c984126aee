//! Random edits of a document, compared with the same edits of a plain value.

#![cfg(test)]

use everturn_value::document::{
    Document, Indent, JsonLayout, JsonStyle, LineEnding, NonAscii, PathSegment,
};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// One part of a path: a key from a small set, or an index.
#[derive(Debug, Clone)]
enum Part {
    Key(String),
    Index(usize),
}

#[derive(Debug, Clone)]
enum Edit {
    Set(Vec<Part>, Value),
    Push(Vec<Part>, Value),
    Remove(Vec<Part>),
}

fn path() -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "é\"", ""]).prop_map(|key| Part::Key(key.to_owned())),
        1 => (0..3_usize).prop_map(Part::Index),
    ];
    prop::collection::vec(part, 0..4)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Numbers with few digits: in others, serde_json may change the last digit.
        (-100_000..100_000).prop_map(|number: i32| Value::from(f64::from(number) / 8.0)),
        "\\PC{0,4}".prop_map(Value::from),
        prop::sample::select(vec!["\u{7f}😀", "\n\"\\", "\u{0}"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "é\"", ""]), inner), 0..4)
                .prop_map(|members| {
                    members
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect::<Map<_, _>>()
                        .into()
                }),
        ]
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (path(), value()).prop_map(|(path, value)| Edit::Set(path, value)),
        2 => (path(), value()).prop_map(|(path, value)| Edit::Push(path, value)),
        2 => path().prop_map(Edit::Remove),
    ]
}

fn style() -> impl Strategy<Value = JsonStyle> {
    let layout = prop::sample::select(vec![
        JsonLayout::Compact,
        JsonLayout::Spaced,
        JsonLayout::Pretty(Indent::Spaces(3)),
        JsonLayout::Pretty(Indent::Tab),
    ]);
    let line_end = prop::sample::select(vec![LineEnding::Lf, LineEnding::CrLf]);
    let non_ascii = prop::sample::select(vec![NonAscii::Raw, NonAscii::Escaped]);
    (layout, non_ascii, line_end, any::<bool>(), any::<bool>()).prop_map(
        |(layout, non_ascii, line_end, final_newline, bom)| JsonStyle {
            layout,
            non_ascii,
            line_end,
            final_newline,
            bom,
        },
    )
}

fn segments(path: &[Part]) -> Vec<PathSegment<'_>> {
    path.iter()
        .map(|part| match part {
            Part::Key(key) => PathSegment::Key(key),
            Part::Index(index) => PathSegment::Index(*index),
        })
        .collect()
}

/// The model; returns `false` if the edit is impossible.
fn set(at: &mut Value, path: &[Part], value: &Value) -> bool {
    let Some((part, rest)) = path.split_first() else {
        *at = value.clone();
        return true;
    };
    match (part, at) {
        (Part::Key(key), Value::Object(members)) => {
            if let Some(member) = members.get_mut(key) {
                return set(member, rest, value);
            }
            if rest.iter().any(|part| matches!(part, Part::Index(_))) {
                return false;
            }
            let mut made = Value::Object(Map::new());
            let done = set(&mut made, rest, value);
            members.insert(key.clone(), made);
            done
        }
        (Part::Index(index), Value::Array(elements)) if *index < elements.len() => {
            set(&mut elements[*index], rest, value)
        }
        (Part::Index(index), Value::Array(elements)) if *index == elements.len() => {
            if rest.iter().any(|part| matches!(part, Part::Index(_))) {
                return false;
            }
            let mut made = Value::Object(Map::new());
            let done = set(&mut made, rest, value);
            elements.push(made);
            done
        }
        _ => false,
    }
}

fn find<'v>(at: &'v mut Value, path: &[Part]) -> Option<&'v mut Value> {
    path.iter().try_fold(at, |at, part| match (part, at) {
        (Part::Key(key), Value::Object(members)) => members.get_mut(key),
        (Part::Index(index), Value::Array(elements)) => elements.get_mut(*index),
        _ => None,
    })
}

fn push(root: &mut Value, path: &[Part], value: &Value) -> bool {
    match find(root, path) {
        Some(Value::Array(elements)) => {
            elements.push(value.clone());
            true
        }
        _ => false,
    }
}

fn remove(root: &mut Value, path: &[Part]) -> bool {
    let Some((last, parent)) = path.split_last() else { return false };
    match (last, find(root, parent)) {
        (Part::Key(key), Some(Value::Object(members))) => members.shift_remove(key).is_some(),
        (Part::Index(index), Some(Value::Array(elements))) if *index < elements.len() => {
            elements.remove(*index);
            true
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_edits_do_to_a_document_what_they_do_to_a_value(
        start in value(), style in style(), edits in prop::collection::vec(edit(), 1..20),
    ) {
        let mut model = start;
        let mut document = Document::new(&model, style).unwrap();
        for edit in &edits {
            let (done, expect) = match edit {
                Edit::Set(path, value) => {
                    (document.set(&segments(path), value).is_ok(), set(&mut model, path, value))
                }
                Edit::Push(path, value) => {
                    (document.push(&segments(path), value).is_ok(), push(&mut model, path, value))
                }
                Edit::Remove(path) => {
                    (document.remove(&segments(path)).unwrap_or(false), remove(&mut model, path))
                }
            };
            prop_assert_eq!(done, expect, "{:?} on {}", edit, document.text());
            // Not only the same value, but also the same text as a document that was written at once.
            let whole = Document::new(&model, style).unwrap();
            prop_assert_eq!(document.text(), whole.text());
        }
        let parsed = Document::parse_like(document.text().as_bytes(), &style).unwrap();
        prop_assert_eq!(parsed.value(&[]).unwrap(), Some(model));
    }

    /// Edits in a text without a consistent style change nothing but their own range.
    #[test]
    fn an_edit_in_an_untidy_text_leaves_the_rest(
        blanks in prop::collection::vec(prop::sample::select(vec!["", " ", "\n", "\t ", "\r\n  "]), 12),
        new in value(),
    ) {
        let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11] = blanks.try_into().unwrap();
        let head = format!("{b0}{{{b1}\"x\"{b2}:{b3}1.0{b4},{b5}\"a\"{b6}:{b7}");
        let tail = format!("{b8},{b9}\"é\":[1e5{b10}]{b11}}}");
        let mut document = Document::parse(format!("{head}null{tail}").as_bytes()).unwrap();
        document.set(&[PathSegment::Key("a")], &new).unwrap();
        let text = document.text();
        prop_assert!(text.starts_with(&head) && text.ends_with(&tail), "{text}");
        document.set(&[PathSegment::Key("z"), PathSegment::Key("y")], &new).unwrap();
        document.remove(&[PathSegment::Key("a")]).unwrap();
        let parsed = Document::parse(document.text().as_bytes()).unwrap();
        prop_assert_eq!(parsed.get(&[PathSegment::Key("x")]), Some("1.0"));
        prop_assert_eq!(parsed.value(&[PathSegment::Key("z"), PathSegment::Key("y")]).unwrap(), Some(new));
    }
}
