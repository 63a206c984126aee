//! Every cut and every damaged byte of a document with one value per line.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use everturn_value::intact::read_intact;
use serde_json::{Value, json};

fn document() -> Value {
    json!({
        "id": "camp_0001",
        "selected": {"world": "w", "party": ["pc_001", "pc_002"], "actor": "pc_001"},
        "settings": {"dialog": {"auto": false, "guard": true}, "rollback": {"max": 3}},
        "revision": 14,
        "areas": {
            "area_001": {"name": "Throne \"Hall\"", "parent": null, "roads": []},
            "area_002": {"name": "Keller \\ 2", "parent": "area_001", "roads": ["area_001"]}
        },
        "connections": [{"from": "area_001", "to": "area_002"}, {"from": "area_002", "to": "area_001"}],
        "hp": {"pc_001": 10, "pc_002": -7},
        "empty": {},
        "goal": {"text": "Find the crown", "status": "active"},
        "created_at": "2026-01-14T09:10:51+00:00"
    })
}

/// A value with its path, its line, the lines of the starts of what contains it, and the end of its text.
type Leaf = (Vec<String>, Value, usize, Vec<usize>, usize);

fn leaves(text: &str) -> Vec<Leaf> {
    let (mut leaves, mut open, mut offset) = (Vec::new(), Vec::<(String, usize, usize)>::new(), 0);
    for (line, whole) in text.split_inclusive('\n').enumerate() {
        let content = whole.trim().trim_end_matches(',');
        let (key, rest) = match content.split_once("\": ") {
            Some((key, rest)) if content.starts_with('"') => (key[1..].to_owned(), rest),
            _ => (open.last().map_or(String::new(), |(_, _, count)| count.to_string()), content),
        };
        if !matches!(rest, "}" | "]")
            && let Some((_, _, count)) = open.last_mut()
        {
            *count += 1;
        }
        match rest {
            "{" | "[" => open.push((key, line, 0)),
            "}" | "]" => drop(open.pop()),
            _ => {
                let path = open.iter().skip(1).map(|(key, ..)| key.clone()).chain([key]).collect();
                let above = open.iter().map(|(_, line, _)| *line).collect();
                let end = offset + whole.trim_end().trim_end_matches(',').len();
                leaves.push((path, serde_json::from_str(rest).unwrap(), line, above, end));
            }
        }
        offset += whole.len();
    }
    leaves
}

fn at<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

fn read(bytes: &[u8]) -> Value {
    let whole = serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    whole.unwrap_or_else(|| {
        read_intact(bytes).map_or(json!({}), |left| left.tree.to_value().unwrap())
    })
}

#[test]
fn everything_before_a_cut_is_read() {
    for text in [
        serde_json::to_string_pretty(&document()).unwrap(),
        serde_json::to_string_pretty(&document()).unwrap().replace('\n', "\r\n"),
    ] {
        for cut in 0..text.len() {
            let found = read(&text.as_bytes()[..cut]);
            for (path, value, _, _, end) in leaves(&text) {
                if end + usize::from(value.is_number()) <= cut {
                    assert_eq!(at(&found, &path), Some(&value), "cut at {cut}: {path:?}");
                }
            }
        }
    }
}

#[test]
fn a_cut_invents_nothing() {
    let whole = document();
    let pretty = serde_json::to_string_pretty(&whole).unwrap();
    for text in [pretty, whole.to_string()] {
        for cut in 0..text.len() {
            let found = read(&text.as_bytes()[..cut]);
            for (path, value, ..) in leaves(&serde_json::to_string_pretty(&found).unwrap()) {
                let is_container = value == json!({}) || value == json!([]);
                assert!(
                    is_container || at(&whole, &path) == Some(&value),
                    "cut at {cut}: {path:?}"
                );
            }
        }
    }
}

#[test]
fn a_damaged_byte_costs_at_most_its_line() {
    let text = serde_json::to_string_pretty(&document()).unwrap();
    let leaves = leaves(&text);
    for hit in 0..text.len() {
        let line = text[..hit].matches('\n').count();
        for byte in *b"\"},\\\nx\xff {]:0\0[" {
            let mut damaged = text.as_bytes().to_vec();
            if std::mem::replace(&mut damaged[hit], byte) == byte {
                continue;
            }
            let found = read(&damaged);
            // A newline that is gone joins two lines.
            let last = line + usize::from(text.as_bytes()[hit] == b'\n');
            let is_hit = |at: usize| (line..=last).contains(&at);
            let shifts = |path: &[String]| {
                leaves.iter().any(|(other, _, at, above, _)| {
                    let depth = other.len() - 1;
                    (is_hit(*at) || above.iter().copied().any(is_hit))
                        && (0..=depth).any(|depth| {
                            path.len() > depth
                                && path[..depth] == other[..depth]
                                && path[depth].parse::<usize>().is_ok()
                        })
                })
            };
            for (path, value, at_line, above, _) in &leaves {
                if is_hit(*at_line) || above.iter().copied().any(is_hit) || shifts(path) {
                    continue;
                }
                let what = format!("{:?} at {hit}, line {line}: {path:?}", char::from(byte));
                assert_eq!(at(&found, path), Some(value), "{what}");
            }
        }
    }
}
