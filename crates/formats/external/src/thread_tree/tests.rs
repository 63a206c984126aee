//! Lines of hand-written and of random records.

use proptest::prelude::*;

use super::*;

/// A record: `p` prompt, `m` message, `l` link, `s` side, `a` aside, `d` apart; then its parent.
fn nodes(text: &str) -> Vec<ThreadNode> {
    let node = |(order, word): (u32, &str)| {
        let (kind, parent) = word.split_at(1);
        ThreadNode {
            parent: parent.parse().ok(),
            order,
            placement: match kind {
                "a" => Placement::Aside,
                "d" => Placement::Apart("twins"),
                _ => Placement::Chained,
            },
            is_prompt: kind == "p",
            is_message: matches!(kind, "p" | "m" | "s"),
            is_side: kind == "s",
        }
    };
    (0..).zip(text.split_whitespace()).map(node).collect()
}

/// Lines as `NAME FROM: record/turn …`.
fn shown(linearized: &ThreadTree) -> Vec<String> {
    let line = |line: &ThreadLine| {
        let from = line.from.map_or_else(|| "-".to_owned(), |(line, at)| format!("{line}.{at}"));
        let own: Vec<String> = line.own.iter().map(|(at, turn)| format!("{at}/{turn}")).collect();
        format!("{:?} {from}: {}", line.kind, own.join(" "))
    };
    linearized.lines.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, forks: ForkPolicy, tip: Option<u32>, expect: &[&str]) {
    assert_eq!(shown(&linearize(&nodes(text), forks, tip)), expect, "{text}");
}

#[test]
fn a_chain_is_one_line_and_turns_begin_with_prompts() {
    check("", ForkPolicy::PromptsOnly, None, &["Main -: "]);
    check("a p m1 p2 m3", ForkPolicy::PromptsOnly, None, &["Main -: 0/1 1/1 2/1 3/2 4/2"]);
    check("m p0 m1 p2", ForkPolicy::PromptsOnly, None, &["Main -: 0/1 1/1 2/1 3/2"]);
}

#[test]
fn a_repeated_prompt_starts_a_branch_and_the_newest_is_the_main_line() {
    check(
        "p m0 p1 m2 p1 m4",
        ForkPolicy::PromptsOnly,
        None,
        &["Main -: 0/1 1/1 4/2 5/2", "Branch 0.1: 2/2 3/2"],
    );
    // Continuing the older branch makes it the newer one.
    check(
        "p m0 p1 m2 p1 m4 p3",
        ForkPolicy::PromptsOnly,
        None,
        &["Main -: 0/1 1/1 2/2 3/2 6/3", "Branch 0.1: 4/2 5/2"],
    );
}

#[test]
fn what_nobody_asked_for_stays_in_the_line() {
    // Three parallel calls, each followed by its result.
    check(
        "p m0 m1 m2 m1 m2 m3 p6",
        ForkPolicy::PromptsOnly,
        None,
        &["Main -: 0/1 1/1 2/1 3/1 4/1 5/1 6/1 7/2"],
    );
    // A hook beside the reply, from which the conversation continues.
    check("p m0 l0 p2 m3", ForkPolicy::PromptsOnly, None, &["Main -: 0/1 1/1 2/1 3/2 4/2"]);
    check(
        "p m0 l0 p2 m3",
        ForkPolicy::EveryFork,
        None,
        &["Main -: 0/1 2/1 3/2 4/2", "Branch 0.0: 1/2"],
    );
    // A record at the very start that has no parent and no children.
    check("l p m1", ForkPolicy::PromptsOnly, None, &["Main -: 0/1 1/1 2/1"]);
}

#[test]
fn other_beginnings_helpers_and_twins_have_lines_of_their_own() {
    check("p m0 p m2", ForkPolicy::PromptsOnly, None, &["Main -: 2/1 3/1", "Branch -: 0/1 1/1"]);
    check(
        "p m0 s s2 m1",
        ForkPolicy::PromptsOnly,
        None,
        &["Main -: 0/1 1/1 4/1", "Side -: 2/1 3/1"],
    );
    check(
        "p m0 s1 s2 m1",
        ForkPolicy::PromptsOnly,
        None,
        &["Main -: 0/1 1/1 4/1", "Side 0.1: 2/2 3/2"],
    );
    check("s s0", ForkPolicy::PromptsOnly, None, &["Main -: 0/1 1/1"]);
    check(
        "p d m0 d",
        ForkPolicy::EveryFork,
        None,
        &["Main -: 0/1 2/1", "Apart(\"twins\") -: 1/1 3/2"],
    );
}

#[test]
fn a_branch_may_leave_a_branch() {
    let linearized = linearize(&nodes("p m0 p1 m2 p3 p3 p1"), ForkPolicy::PromptsOnly, None);
    assert_eq!(
        shown(&linearized),
        ["Main -: 0/1 1/1 6/2", "Branch 0.1: 2/2 3/2 5/3", "Branch 1.1: 4/3"]
    );
    assert_eq!(linearized.pieces(2), [(0, 2), (1, 2), (2, 1)]);
    assert_eq!(linearized.turn_in_main(&linearized.lines[2]), Some(1));
    assert_eq!(linearized.turn_in_main(&linearized.lines[0]), None);
}

#[test]
fn the_tip_decides_if_it_is_known() {
    check(
        "p m0 p1 m2 l1",
        ForkPolicy::EveryFork,
        Some(4),
        &["Main -: 0/1 1/1 4/1", "Branch 0.1: 2/2 3/2"],
    );
}

#[test]
fn circles_are_cut() {
    let linearized = linearize(&nodes("p m2 m1 m3 p0"), ForkPolicy::PromptsOnly, None);
    assert_eq!(linearized.cycles, [1, 3]);
    assert_eq!(linearized.lines.iter().map(|line| line.own.len()).sum::<usize>(), 5);
}

#[test]
fn a_chain_of_a_million_records_is_no_matter() {
    let node = |order| ThreadNode {
        parent: u32::checked_sub(order, 1),
        order,
        placement: Placement::Chained,
        is_prompt: order % 10 == 0,
        is_message: true,
        is_side: false,
    };
    let nodes: Vec<ThreadNode> = (0..1_000_000).map(node).collect();
    let linearized = linearize(&nodes, ForkPolicy::PromptsOnly, None);
    assert_eq!((linearized.lines.len(), linearized.lines[0].own.len()), (1, 1_000_000));
    assert_eq!(linearized.lines[0].own.last(), Some(&(999_999, 100_000)));
}

fn any_nodes() -> impl Strategy<Value = Vec<ThreadNode>> {
    let parent = prop_oneof![
        1 => Just(None),
        9 => (0_u32..60).prop_map(Some),
    ];
    let kind = prop_oneof![
        4 => Just("p"), 6 => Just("m"), 4 => Just("l"), 1 => Just("s"), 1 => Just("a"), 1 => Just("d"),
    ];
    proptest::collection::vec((kind, parent, any::<bool>()), 0..60).prop_map(|drawn| {
        let node = |(order, (kind, parent, near)): (u32, (&str, Option<u32>, bool))| {
            // Most records follow the one before, as in real files.
            let parent = if near && order > 0 { Some(order - 1) } else { parent };
            let parent = parent.map_or_else(String::new, |parent| parent.to_string());
            ThreadNode { order, ..nodes(&format!("{kind}{parent}"))[0] }
        };
        (0..).zip(drawn).map(node).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_record_is_in_exactly_one_line(nodes in any_nodes(), ways in any::<bool>()) {
        let forks = if ways { ForkPolicy::EveryFork } else { ForkPolicy::PromptsOnly };
        let linearized = linearize(&nodes, forks, None);
        let mut seen: Vec<u32> =
            linearized.lines.iter().flat_map(|line| line.own.iter().map(|(at, _)| *at)).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..u32::try_from(nodes.len()).unwrap()).collect::<Vec<_>>());
        for (number, line) in linearized.lines.iter().enumerate() {
            let turns: Vec<u64> = line.own.iter().map(|(_, turn)| *turn).collect();
            prop_assert!(turns.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] <= pair[0] + 1));
            let before = linearized.turn_before(line);
            prop_assert!(turns.first().is_none_or(|first| *first == before + 1));
            prop_assert!(number == 0 || !line.own.is_empty());
            if let Some((from, at)) = line.from {
                prop_assert!(from < number && at < linearized.lines[from].own.len());
            }
        }
        // The main line ends at the newest message that is not a helper's, or close to it.
        let newest = nodes.iter().enumerate().rev().find(|(_, node)| {
            node.is_message && !node.is_side && node.placement == Placement::Chained
        });
        if let Some((newest, _)) = newest {
            prop_assert!(linearized.lines[0].own.iter().any(|(at, _)| *at as usize == newest));
        }
    }
}
