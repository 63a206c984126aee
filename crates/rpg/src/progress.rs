//! Milestones and the end of a campaign. Only the second rules have them.

use jiff::Timestamp;

use super::document_view::CampaignView;
use super::draft::CampaignDraft;
use super::generation::RuleSet;
use super::stamp::stamp;
use everturn_value::delta::DeltaError;
use everturn_value::tree::ValueKind;

/// The maximum number of turns to the next milestone.
const TURNS: i64 = 6;

/// The number of retries that leads to the next milestone.
const PRESSURE: i64 = 2;

/// Advances the milestone for a turn that needed this many retries.
pub(crate) fn advance(
    draft: &mut CampaignDraft,
    turn: u64,
    retries: usize,
) -> Result<(), DeltaError> {
    let view = draft.view();
    let is_object =
        view.tree.value_at(&["milestone"]).is_some_and(|it| it.kind() == ValueKind::Object);
    if view.generation.rules() == RuleSet::First || !is_object {
        return Ok(());
    }
    let number = |key: &str| view.integer(&["milestone", key]);
    let retries = i64::try_from(retries).unwrap_or(i64::MAX);
    let turn = i64::try_from(turn).unwrap_or(i64::MAX);
    let pressure = number("pressure").unwrap_or(0).saturating_add(retries);
    let since = turn.saturating_sub(number("last_advanced_turn").unwrap_or(0));
    let due = since >= number("turn_trigger_interval").unwrap_or(TURNS).max(1)
        || pressure >= number("pressure_threshold").unwrap_or(PRESSURE).max(1);
    if !due {
        return if retries > 0 { draft.set(&["milestone", "pressure"], &pressure) } else { Ok(()) };
    }
    let current = view.tree.string_at(&["milestone", "current"]).unwrap_or_default();
    draft.set(&["milestone", "current"], &next_milestone(&current))?;
    draft.set(&["milestone", "last_advanced_turn"], &turn)?;
    draft.set(&["milestone", "pressure"], &0)?;
    draft.set(&["milestone", "summary"], "")
}

/// Returns the next milestone.
fn next_milestone(current: &str) -> String {
    let number = current.strip_prefix("milestone_").and_then(|number| {
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u64>().ok())?
    });
    format!("milestone_{}", number.map_or(1, |number| number.saturating_add(1)))
}

/// Returns why the campaign has ended, if it has.
pub(crate) fn end_reason(view: CampaignView<'_>) -> Option<String> {
    if view.generation.rules() == RuleSet::First {
        return None;
    }
    if view.flag(&["lifecycle", "ended"]) == Some(true) {
        let reason = view.tree.string_at(&["lifecycle", "reason"]);
        return Some(reason.unwrap_or_else(|| "ended".to_owned()));
    }
    let goal = view.tree.string_at(&["goal", "status"]).unwrap_or_default();
    if matches!(goal.trim().to_lowercase().as_str(), "achieved" | "goal_achieved" | "completed") {
        return Some("goal_achieved".to_owned());
    }
    let states: Vec<String> = view.party().iter().map(|actor| view.state(actor)).collect();
    if states.is_empty() {
        return None;
    }
    if states.iter().all(|state| state == "restrained_permanent") {
        return Some("restrained_permanent".to_owned());
    }
    let is_lost = |state: &String| matches!(state.as_str(), "dead" | "dying");
    states.iter().all(is_lost).then(|| "party_dead".to_owned())
}

/// Records the end of the campaign, if it has ended and that is not recorded yet.
pub(crate) fn mark_end(draft: &mut CampaignDraft, now: Timestamp) -> Result<(), DeltaError> {
    let view = draft.view();
    let Some(reason) = end_reason(view) else { return Ok(()) };
    if view.flag(&["lifecycle", "ended"]) == Some(true) {
        return Ok(());
    }
    if view.tree.value_at(&["lifecycle"]).is_none_or(|it| it.kind() != ValueKind::Object) {
        let none = serde_json::json!({"ended": false, "reason": null, "ended_at": null});
        draft.set(&["lifecycle"], &none)?;
    }
    draft.set(&["lifecycle", "ended"], &true)?;
    draft.set(&["lifecycle", "reason"], &reason)?;
    draft.set(&["lifecycle", "ended_at"], &stamp(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_value::tree::JsonTree;

    #[test]
    fn milestones_follow_each_other() {
        for (current, after) in [
            ("intro", "milestone_1"),
            ("milestone_1", "milestone_2"),
            ("milestone_9", "milestone_10"),
            ("milestone_x", "milestone_1"),
            ("milestone_", "milestone_1"),
            ("", "milestone_1"),
        ] {
            assert_eq!(next_milestone(current), after, "{current}");
        }
    }

    /// Checks the milestone after a turn.
    #[track_caller]
    fn check(milestone: &str, turn: u64, retries: usize, expect: &str) {
        let text = format!(r#"{{"actors":{{}},"milestone":{milestone}}}"#);
        let mut draft = CampaignDraft::new(JsonTree::parse(text).unwrap());
        advance(&mut draft, turn, retries).unwrap();
        let found = draft.view().tree.value_at(&["milestone"]).unwrap();
        assert!(
            found.is_same(&JsonTree::parse(expect).unwrap()),
            "{milestone} became {}",
            found.to_line()
        );
    }

    #[test]
    fn turns_and_retries_lead_to_the_next_milestone() {
        let early = r#"{"current":"intro","last_advanced_turn":0}"#;
        check(early, 5, 0, early);
        check(early, 5, 1, r#"{"current":"intro","last_advanced_turn":0,"pressure":1}"#);
        let first = r#"{"current":"milestone_1","last_advanced_turn":6,"pressure":0,"summary":""}"#;
        check(early, 6, 0, first);
        check(
            r#"{"current":"intro","last_advanced_turn":0,"pressure":1,"summary":"x"}"#,
            2,
            1,
            r#"{"current":"milestone_1","last_advanced_turn":2,"pressure":0,"summary":""}"#,
        );
        check(
            r#"{"current":"a","last_advanced_turn":3,"turn_trigger_interval":0,"pressure_threshold":9}"#,
            4,
            0,
            r#"{"current":"milestone_1","last_advanced_turn":4,"turn_trigger_interval":0,"pressure_threshold":9,"pressure":0,"summary":""}"#,
        );
    }

    #[track_caller]
    fn ends(campaign: &str, expect: Option<&str>) {
        let tree = JsonTree::parse(campaign).unwrap();
        assert_eq!(end_reason(CampaignView::new(&tree)).as_deref(), expect, "{campaign}");
    }

    #[test]
    fn a_campaign_ends_with_its_goal_or_its_party() {
        let party = |states: [&str; 2]| {
            format!(
                r#"{{"selected":{{"party_character_ids":["a","b"]}},"goal":{{"status":"active"}},
                "actors":{{"a":{{"character_state":"{}"}},"b":{{"character_state":"{}"}}}}}}"#,
                states[0], states[1]
            )
        };
        ends(&party(["alive", "dead"]), None);
        ends(&party(["dying", "dead"]), Some("party_dead"));
        ends(
            &party(["restrained_permanent", "restrained_permanent"]),
            Some("restrained_permanent"),
        );
        ends(&party(["restrained_permanent", "dead"]), None);
        for status in ["achieved", " Goal_Achieved ", "completed"] {
            ends(
                &format!(r#"{{"actors":{{}},"goal":{{"status":"{status}"}}}}"#),
                Some("goal_achieved"),
            );
            ends(&format!(r#"{{"positions":{{}},"goal":{{"status":"{status}"}}}}"#), None);
        }
        ends(r#"{"actors":{},"lifecycle":{"ended":true,"reason":"bored"}}"#, Some("bored"));
        ends(r#"{"actors":{},"lifecycle":{"ended":true,"reason":null}}"#, Some("ended"));
        ends(r#"{"actors":{},"selected":{"party_character_ids":[]}}"#, None);
    }
}
