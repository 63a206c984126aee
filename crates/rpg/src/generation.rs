//! The generations of campaigns: [`Generation`] and [`RuleSet`].

use everturn_value::tree::{JsonTree, ValueKind};

/// The generation of a campaign. There is no version field: it is detected from the structure of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// `positions`, `hp` and `character_states` are maps, and connections lead both ways. New campaigns have this
    /// generation.
    First,
    /// As the first, with one-way `reachable_area_ids` in the areas, and usually a `state` that repeats the positions.
    Between,
    /// `actors` contains everything about the characters, and the three maps are empty.
    Second,
    /// As the second, with `items` and `entities`.
    Third,
}

/// The rules of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleSet {
    /// The rules of the first generation and the one between.
    First,
    /// The rules of the second and the third generation.
    Second,
}

impl Generation {
    /// Returns the generation of a document.
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

    /// Returns its rules.
    #[must_use]
    pub fn rules(self) -> RuleSet {
        match self {
            Generation::First | Generation::Between => RuleSet::First,
            Generation::Second | Generation::Third => RuleSet::Second,
        }
    }

    /// Returns whether areas list the areas that can be reached from them; otherwise connections lead both ways.
    #[must_use]
    pub fn has_one_way_roads(self) -> bool {
        self != Generation::First
    }

    /// Returns its name.
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
