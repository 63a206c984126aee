//! The shapes in which campaigns come.

use everturn_value::tree::{JsonTree, ValueKind};

/// Which shape a campaign has. There is no version field: the shape itself tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// `positions`, `hp` and `character_states` are maps, and connections lead both ways. New campaigns are
    /// like this.
    First,
    /// As the first, with `reachable_area_ids` in the areas, which lead one way, and mostly a `state` that
    /// has the positions again.
    Between,
    /// `actors` have everything about the characters, and the three maps are empty.
    Second,
    /// As the second, with `items` and `entities`.
    Third,
}

/// Which rules a campaign follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleSet {
    /// The rules of the first generation; the one between has them, too.
    First,
    /// The rules of the second generation and the third.
    Second,
}

impl Generation {
    /// The generation whose shape a document has.
    #[must_use]
    pub fn of(campaign: &JsonTree) -> Generation {
        let is_object = |key: &str| {
            campaign.value_at(&[key]).is_some_and(|value| value.kind() == ValueKind::Object)
        };
        if is_object("items") || is_object("entities") {
            return Generation::Third;
        }
        if is_object("actors") {
            return Generation::Second;
        }
        let areas = campaign.value_at(&["map", "areas"]).map(|areas| areas.children());
        let directed =
            |(_, area): &(String, JsonTree)| area.value_at(&["reachable_area_ids"]).is_some();
        if is_object("state") || areas.is_some_and(|areas| areas.iter().any(directed)) {
            return Generation::Between;
        }
        Generation::First
    }

    /// The rules it follows.
    #[must_use]
    pub fn rules(self) -> RuleSet {
        match self {
            Generation::First | Generation::Between => RuleSet::First,
            Generation::Second | Generation::Third => RuleSet::Second,
        }
    }

    /// Whether the areas say where one can go from them; otherwise the connections do, both ways.
    pub(crate) fn has_one_way_roads(self) -> bool {
        self != Generation::First
    }

    /// A word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Generation::First => "first",
            Generation::Between => "between",
            Generation::Second => "second",
            Generation::Third => "third",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(document: &str, expect: Generation) {
        assert_eq!(Generation::of(&JsonTree::parse(document).unwrap()), expect, "{document}");
    }

    #[test]
    fn the_shape_tells_the_generation() {
        check("{}", Generation::First);
        check(r#"{"positions": {"pc_001": "area_001"}}"#, Generation::First);
        check(r#"{"map": {"areas": {"a": {"id": "a"}}}}"#, Generation::First);
        check(r#"{"map": {"areas": {"a": {"reachable_area_ids": []}}}}"#, Generation::Between);
        check(r#"{"state": {"positions": {}}}"#, Generation::Between);
        check(r#"{"state": {}, "actors": {}}"#, Generation::Second);
        check(r#"{"actors": {}, "items": {}}"#, Generation::Third);
        check(r#"{"actors": {}, "entities": {}}"#, Generation::Third);
        check(r#"{"actors": null, "items": []}"#, Generation::First);
    }
}
