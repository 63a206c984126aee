//! Deltas: their effects, their errors, and their inverses.

#![cfg(test)]

use everturn_value::delta::{
    Delta, DeltaError, DeltaOp, DeltaPath, MAX_SEGMENTS, apply_group, diff,
};
use everturn_value::tree::JsonTree;

fn tree(text: &str) -> JsonTree {
    JsonTree::parse(text).unwrap_or_else(|bad| panic!("{bad} in {text}"))
}

fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap_or_else(|bad| panic!("{bad} in {text}"))
}

/// `change` turns `before` into `after`, its inverse turns it back, and so do the stored forms of both.
#[track_caller]
fn check(before: &str, change: &str, after: &str) {
    let mut state = tree(before);
    let wanted = delta(change);
    let done = wanted.apply(&mut state).unwrap();
    assert_eq!(state.to_line(), after, "{change} on {before}");
    let undone = done.inverse().unwrap().apply(&mut state).unwrap();
    assert_eq!(state.to_line(), tree(before).to_line(), "back from {change} on {before}");
    delta(&undone.inverse().unwrap().to_line()).apply(&mut state).unwrap();
    assert_eq!(state.to_line(), after, "forward again to {change} on {before}");
    let stored = delta(&done.to_line());
    delta(&stored.inverse().unwrap().to_line()).apply(&mut state).unwrap();
    assert_eq!(state.to_line(), tree(before).to_line(), "back from the stored {change}");
    delta(&done.to_line()).apply(&mut state).unwrap();
    assert_eq!(state.to_line(), after, "replay of {change} on {before}");
    delta(&undone.to_line()).apply(&mut state).unwrap();
    assert_eq!(state.to_line(), tree(before).to_line(), "replay of the way back from {change}");
}

#[test]
fn set_puts_a_value_and_creates_what_is_missing() {
    check(r#"{"a":1}"#, r#"{"op":"set","path":"a","value":[2]}"#, r#"{"a":[2]}"#);
    check(r#"{"a":1}"#, r#"{"op":"set","path":"b","value":null}"#, r#"{"a":1,"b":null}"#);
    check(r#"{"a":1}"#, r#"{"op":"set","path":"b.c.d","value":2}"#, r#"{"a":1,"b":{"c":{"d":2}}}"#);
    check(r#"{"a":{}}"#, r#"{"op":"set","path":"a.b.c","value":2}"#, r#"{"a":{"b":{"c":2}}}"#);
    check(r#"{"a":{"b":1}}"#, r#"{"op":"set","path":[],"value":3}"#, "3");
    check("[1,2]", r#"{"op":"set","path":"0","value":3}"#, "[3,2]");
    check("[1,2]", r#"{"op":"set","path":"2","value":3}"#, "[1,2,3]");
    check("[1,[2]]", r#"{"op":"set","path":[1,0],"value":3}"#, "[1,[3]]");
    check("[{}]", r#"{"op":"set","path":"0.x.y","value":3}"#, r#"[{"x":{"y":3}}]"#);
    check(r#"{"0":1}"#, r#"{"op":"set","path":"0","value":2}"#, r#"{"0":2}"#);
    check(r#"{"0":1}"#, r#"{"op":"set","path":["01"],"value":2}"#, r#"{"0":1,"01":2}"#);
    check("{}", r#"{"op":"set","path":"list.0","value":2}"#, r#"{"list":{"0":2}}"#);
}

#[test]
fn any_key_can_be_named() {
    check("{}", r#"{"op":"set","path":"","value":1}"#, r#"{"":1}"#);
    check("{}", r#"{"op":"set","path":"a..b","value":1}"#, r#"{"a":{"":{"b":1}}}"#);
    check(r#"{"a.b":1}"#, r#"{"op":"set","path":["a.b"],"value":2}"#, r#"{"a.b":2}"#);
    check("{}", r#"{"op":"set","path":["\"\\\n\u0001"],"value":1}"#, r#"{"\"\\\n\u0001":1}"#);
    check(r#"{"x\"":1}"#, r#"{"op":"delete","path":"x\""}"#, "{}");
    check(r#"{"é":1}"#, r#"{"op":"increment","path":"\u00e9","value":1}"#, r#"{"é":2}"#);
    // An unchanged key keeps its spelling.
    check(r#"{"\u00e9\/":1}"#, r#"{"op":"set","path":"é/","value":2}"#, r#"{"\u00e9\/":2}"#);
    check(r#"{"\ud800":1,"b":2}"#, r#"{"op":"set","path":"b","value":3}"#, r#"{"\ud800":1,"b":3}"#);
}

#[test]
fn delete_removes_a_member_or_an_element() {
    check(r#"{"a":1,"b":2,"c":3}"#, r#"{"op":"delete","path":"b"}"#, r#"{"a":1,"c":3}"#);
    check(r#"{"a":{"b":[1.0]}}"#, r#"{"op":"delete","path":"a.b"}"#, r#"{"a":{}}"#);
    check("[1,2,3]", r#"{"op":"delete","path":"1"}"#, "[1,3]");
    check("[[1]]", r#"{"op":"delete","path":"0.0"}"#, "[[]]");
    check(r#"{"a":1}"#, r#"{"op":"delete","path":[]}"#, "null");
}

#[test]
fn push_adds_to_an_array() {
    check("[]", r#"{"op":"push","path":[],"value":1}"#, "[1]");
    check(
        r#"{"a":[1,2]}"#,
        r#"{"op":"push","path":"a","value":{"x":1}}"#,
        r#"{"a":[1,2,{"x":1}]}"#,
    );
    check("[1]", r#"{"op":"push","path":[],"value":9,"positions":[0]}"#, "[9,1]");
    check("[1,2]", r#"{"op":"push","path":[],"value":9,"positions":[0,2,4]}"#, "[9,1,9,2,9]");
}

#[test]
fn pull_removes_equal_values_however_they_are_spelled() {
    check("[1,2,1]", r#"{"op":"pull","path":[],"value":1}"#, "[2]");
    check("[1.0,2,1e0,1]", r#"{"op":"pull","path":[],"value":1}"#, "[2]");
    check("[1,2]", r#"{"op":"pull","path":[],"value":3}"#, "[1,2]");
    check("[]", r#"{"op":"pull","path":[],"value":null}"#, "[]");
    check(
        r#"[{"a":[1],"b":"\u0041"},{"a":1},{"b":"A","a":[1]}]"#,
        r#"{"op":"pull","path":[],"value":{"b":"A","a":[1.0]}}"#,
        r#"[{"a":1}]"#,
    );
    check("[1,1,1]", r#"{"op":"pull","path":[],"value":1,"positions":[0,2]}"#, "[1]");
}

#[test]
fn increment_adds_to_a_number() {
    check(r#"{"a":1}"#, r#"{"op":"increment","path":"a","value":-3}"#, r#"{"a":-2}"#);
    check("[7]", r#"{"op":"increment","path":"0","value":1}"#, "[8]");
    check(
        "18446744073709551615",
        r#"{"op":"increment","path":[],"value":1}"#,
        "18446744073709551616",
    );
    check("1.50", r#"{"op":"increment","path":[],"value":0.25}"#, "1.75");
    check("-0", r#"{"op":"increment","path":[],"value":0}"#, "0");
}

/// `change` is refused with these words, and the state is unchanged.
#[track_caller]
fn refuse(before: &str, change: &str, words: &str) {
    let mut state = tree(before);
    let mut wanted = delta(change);
    let error = wanted.apply(&mut state).unwrap_err();
    assert_eq!(error.to_string(), words);
    assert_eq!(state.to_line(), tree(before).to_line());
    let line = wanted.to_line();
    assert_eq!(wanted.apply_in_place(&mut state), Err(error));
    assert_eq!(wanted.to_line(), line);
    assert_eq!(state.to_line(), tree(before).to_line());
}

#[test]
fn what_cannot_be_done_is_refused_with_the_path() {
    let state = r#"{"a":{"b":[1,"x"]},"\u006e":null}"#;
    for (change, words) in [
        (r#"{"op":"set","path":"a"}"#, "set at a: the value must be present"),
        (r#"{"op":"set","path":"a.b.3","value":1}"#, "set at a.b.3: the array has 2 elements"),
        (r#"{"op":"set","path":"a.b.2.c","value":1}"#, "set at a.b.2.c: the array has 2 elements"),
        (r#"{"op":"set","path":"a.b.01","value":1}"#, "set at a.b.01: the array has 2 elements"),
        (r#"{"op":"set","path":"a.b.-1","value":1}"#, "set at a.b.-1: the array has 2 elements"),
        (
            r#"{"op":"set","path":["a","b",18446744073709551615],"value":1}"#,
            r#"set at ["a","b","18446744073709551615"]: the array has 2 elements"#,
        ),
        (
            r#"{"op":"set","path":"n.x","value":1}"#,
            "set at n.x: n is null, not an object or an array",
        ),
        (
            r#"{"op":"set","path":"a.b.1.c.d","value":1}"#,
            "set at a.b.1.c.d: a.b.1 is a string, not an object or an array",
        ),
        (r#"{"op":"delete","path":"x.y"}"#, "delete at x.y: no such value"),
        (r#"{"op":"delete","path":"x"}"#, "delete at x: no such value"),
        (r#"{"op":"delete","path":"a.b.2"}"#, "delete at a.b.2: no such value"),
        (r#"{"op":"delete","path":"n.x"}"#, "delete at n.x: n is null, not an object or an array"),
        (r#"{"op":"push","path":"a.b"}"#, "push at a.b: the value must be present"),
        (r#"{"op":"push","path":"a","value":1}"#, "push at a: a is an object, not an array"),
        (
            r#"{"op":"push","path":"a.b","value":1,"positions":[3]}"#,
            "push at a.b: the array has 2 elements",
        ),
        (
            r#"{"op":"push","path":"a.b","value":1,"positions":[1,1]}"#,
            "push at a.b: the array has 2 elements",
        ),
        (r#"{"op":"pull","path":"a.c","value":1}"#, "pull at a.c: no such value"),
        (r#"{"op":"pull","path":"n","value":1}"#, "pull at n: n is null, not an array"),
        (
            r#"{"op":"pull","path":"a.b","value":1,"positions":[0,1]}"#,
            "pull at a.b: there is a different value at position 1",
        ),
        (
            r#"{"op":"pull","path":"a.b","value":1,"positions":[7]}"#,
            "pull at a.b: there is a different value at position 7",
        ),
        (r#"{"op":"increment","path":"a.b.0"}"#, "increment at a.b.0: the value must be a number"),
        (
            r#"{"op":"increment","path":"a.b.0","value":"1"}"#,
            "increment at a.b.0: the value must be a number",
        ),
        (
            r#"{"op":"increment","path":"a.b.1","value":1}"#,
            "increment at a.b.1: a.b.1 is a string, not a number",
        ),
        (
            r#"{"op":"increment","path":"a","value":1}"#,
            "increment at a: a is an object, not a number",
        ),
        (r#"{"op":"increment","path":"q","value":1}"#, "increment at q: no such value"),
        (r#"{"op":"delete","path":"x\ny"}"#, r#"delete at ["x\ny"]: no such value"#),
    ] {
        refuse(state, change, words);
    }
    refuse(
        "1e308",
        r#"{"op":"increment","path":[],"value":1e308}"#,
        "increment at the whole state: 1e308 + 1e308 is out of range",
    );
}

#[test]
fn a_path_that_is_too_long_is_refused_and_the_longest_is_not() {
    let deepest = Delta::set(DeltaPath::array(vec!["k"; MAX_SEGMENTS]), tree("1"));
    let mut state = JsonTree::object();
    let done = deepest.apply(&mut state).unwrap();
    assert_eq!(done.created, MAX_SEGMENTS - 1);
    done.inverse().unwrap().apply(&mut state).unwrap();
    assert_eq!(state.to_line(), "{}");
    let deeper = Delta::set(DeltaPath::array(vec!["k"; MAX_SEGMENTS + 1]), tree("1"));
    let words = deeper.apply(&mut state).unwrap_err().to_string();
    assert!(words.contains("\"k\",\"k\"") && words.contains("129 segments"), "{words}");
    assert_eq!(state.to_line(), "{}");
}

#[test]
fn states_put_into_each_other_never_become_too_deep_to_go_through() {
    let path = DeltaPath::array(vec!["k"; MAX_SEGMENTS]);
    let mut state = tree("1");
    for _ in 0..200 {
        let mut around = JsonTree::object();
        Delta::set(path.clone(), state).apply(&mut around).unwrap();
        Delta::set(DeltaPath::array(["list"]), tree("[]")).apply(&mut around).unwrap();
        Delta::push(DeltaPath::array(["list"]), around.clone()).apply(&mut around).unwrap();
        Delta::delete(DeltaPath::array(["list"])).apply(&mut around).unwrap();
        state = around;
    }
    let text = state.to_line();
    assert_eq!(text.matches("\"k\"").count(), 200 * MAX_SEGMENTS);
    assert!(tree(&text).is_same(&state));
}

#[test]
fn a_delta_without_notes_has_no_way_back() {
    for (op, path) in [(DeltaOp::Delete, "a"), (DeltaOp::Push, "a"), (DeltaOp::Increment, "a")] {
        let text = format!(r#"{{"op":"{}","path":"{path}","value":1}}"#, op.as_str());
        let error = delta(&text).inverse().unwrap_err();
        assert_eq!(error, DeltaError::NotInvertible { op, path: DeltaPath::dotted(path) });
    }
    // The inverse must not remove the whole state.
    assert!(delta(r#"{"op":"set","path":[],"value":1}"#).inverse().is_err());
    let words =
        Delta::parse(r#"{"op":"set","path":"a","value":1,"createdParents":1}"#).unwrap_err();
    assert_eq!(words, "set at a: cannot have created 1 parents");
}

#[test]
fn texts_that_are_no_deltas_are_refused() {
    for (text, words) in [
        (r#"{"op":"merge","path":"a"}"#, "unknown operation \"merge\""),
        (r#"{"op":"set","path":7}"#, "7 is not a path"),
        (r#"{"op":"set","path":["a",-1]}"#, "[\"a\",-1] is not a path"),
        (r#"{"op":"set","path":"\ud800"}"#, "\"\\ud800\" is not a path"),
        (r#"{"op":"set"}"#, "missing field `path`"),
        ("[]", "invalid"),
        (r#"{"op":"set","path":"a"} x"#, "trailing characters"),
    ] {
        let found = Delta::parse(text).unwrap_err();
        assert!(found.contains(words), "{found} for {text}");
    }
}

#[test]
fn null_as_previous_value_is_not_the_same_as_none() {
    let mut state = tree(r#"{"a":null}"#);
    let done = delta(r#"{"op":"set","path":"a","value":1}"#).apply(&mut state).unwrap();
    assert_eq!(done.to_line(), r#"{"op":"set","path":"a","value":1,"previousValue":null}"#);
    delta(&done.to_line()).inverse().unwrap().apply(&mut state).unwrap();
    assert_eq!(state.to_line(), r#"{"a":null}"#);
}

#[test]
fn a_group_with_one_that_fails_changes_nothing() {
    let before = r#"{"a":[1.0,2,1],"b":{"c":1,"d":2},"\u0065":3}"#;
    let mut state = tree(before);
    let texts = [
        r#"{"op":"push","path":"a","value":5}"#,
        r#"{"op":"pull","path":"a","value":1}"#,
        r#"{"op":"delete","path":"b.c"}"#,
        r#"{"op":"set","path":"b.x.y","value":0}"#,
        r#"{"op":"increment","path":"e","value":4}"#,
        r#"{"op":"delete","path":"nothing"}"#,
    ];
    let mut group = texts.map(delta);
    let (at, error) = apply_group(&mut group, &mut state).unwrap_err();
    assert_eq!((at, error.to_string().as_str()), (5, "delete at nothing: no such value"));
    assert_eq!(state.to_line(), before);
    // The deltas are unchanged too: applied later, a push still appends at the end.
    assert_eq!(group.map(|delta| delta.to_line()), texts);
    let mut group = texts.map(delta);
    apply_group(&mut group[..5], &mut state).unwrap();
    assert_eq!(state.to_line(), r#"{"a":[2,5],"b":{"d":2,"x":{"y":0}},"\u0065":7}"#);
    assert_eq!(group[0].positions, [3]);
}

/// The deltas from `from` to `to` are these, and applying them gives `to`.
#[track_caller]
fn check_diff(from: &str, to: &str, expect: &[&str]) {
    let mut deltas = diff(&tree(from), &tree(to));
    let lines: Vec<String> = deltas.iter().map(Delta::to_line).collect();
    assert_eq!(lines, expect, "from {from} to {to}");
    let mut state = tree(from);
    apply_group(&mut deltas, &mut state).unwrap();
    assert!(state.is_same(&tree(to)), "{} is not {to}", state.to_line());
}

#[test]
fn diff_says_what_has_changed_and_nothing_else() {
    check_diff("1", "1.0", &[]);
    check_diff(r#"{"a":1,"b":[1]}"#, "{\"b\": [ 1e0 ],\n\"\\u0061\":1}", &[]);
    check_diff("1", "2", &[r#"{"op":"set","path":[],"value":2}"#]);
    check_diff("{}", "[]", &[r#"{"op":"set","path":[],"value":[]}"#]);
    check_diff(
        r#"{"a":{"x":1,"y":2},"b":3}"#,
        r#"{"a":{"y":3,"z":{}},"b":3}"#,
        &[
            r#"{"op":"delete","path":"a.x"}"#,
            r#"{"op":"set","path":"a.y","value":3}"#,
            r#"{"op":"set","path":"a.z","value":{}}"#,
        ],
    );
    check_diff(
        r#"{"a.b":[1,2,3]}"#,
        r#"{"a.b":[1,9]}"#,
        &[r#"{"op":"set","path":["a.b","1"],"value":9}"#, r#"{"op":"delete","path":["a.b","2"]}"#],
    );
    check_diff(
        "[]",
        "[1,[]]",
        &[r#"{"op":"push","path":[],"value":1}"#, r#"{"op":"push","path":[],"value":[]}"#],
    );
    check_diff(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, &[]);
}

#[test]
fn a_member_that_no_path_can_name_is_changed_with_the_object_around_it() {
    let halves = r#"{"o":{"\ud800":1,"\ud801":2,"c":3}}"#;
    check_diff(halves, r#"{"o":{"c":3,"\ud801":2,"\ud800":1}}"#, &[]);
    let set = |value: &str| format!(r#"{{"op":"set","path":"o","value":{value}}}"#);
    for other in [
        r#"{"\ud800":1,"\ud801":7,"c":4}"#,
        r#"{"\ud801":2,"c":3}"#,
        r#"{"\ud800":1,"\ud801":2,"c":4,"\ud802":3}"#,
    ] {
        check_diff(halves, &format!("{{\"o\":{other}}}"), &[&set(other)]);
    }
    check_diff(
        halves,
        r#"{"o":{"\ud800":1,"\ud801":2,"c":4}}"#,
        &[r#"{"op":"set","path":"o.c","value":4}"#],
    );
}

#[test]
fn deep_states_are_compared_without_going_deeper_than_paths() {
    let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(10_000), "]".repeat(10_000));
    let (from, to) = (tree(&nested("1")), tree(&nested("2")));
    let deltas = diff(&from, &to);
    assert_eq!(deltas.len(), 1);
    assert_eq!(deltas[0].path.segments().len(), MAX_SEGMENTS);
    let mut state = from.clone();
    let done = deltas[0].apply(&mut state).unwrap();
    assert_eq!(state.to_line(), nested("2"));
    done.inverse().unwrap().apply(&mut state).unwrap();
    assert_eq!(state.to_line(), nested("1"));
    assert!(diff(&from, &tree(&nested("1.0"))).is_empty());
}
