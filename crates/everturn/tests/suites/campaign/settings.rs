//! Settings: what they may be, by both rules.

use everturn::campaign::{CampaignError, NarratorOutput, RuleSet, SETTINGS, settings};
use serde_json::{Value, json};

use crate::campaign::support::{first, first_with, open, play, read, second, value};

/// The keys that a patch changes, or why it is refused.
fn patch(second_rules: bool, changes: &[(&str, Value)]) -> Result<Vec<&'static str>, String> {
    let (store, id) = if second_rules { second(|_| {}) } else { first() };
    let file = "campaigns/camp_0001/campaign.json";
    let before = read(&store, file);
    let mut campaign = open(&store, &id);
    let changes: Vec<(String, Value)> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let found = campaign.patch_settings(&changes);
    let revision = campaign.state().unwrap().text_at(&["settings_revision"]).unwrap();
    match found {
        Ok(changed) => {
            assert_eq!(revision, if changed.is_empty() { "0" } else { "1" });
            assert_eq!(read(&store, file) == before, changed.is_empty());
            let state = value(campaign.state().unwrap());
            for (key, wanted) in &changes {
                let pointer = format!("/settings_snapshot/{}", key.replace('.', "/"));
                assert_eq!(state.pointer(&pointer), Some(wanted), "{key}");
            }
            Ok(changed)
        }
        Err(CampaignError::Setting { key, reason }) => {
            assert_eq!(read(&store, file), before, "nothing of a refused patch is stored");
            Err(format!("{key}: {reason}"))
        }
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn check(changes: &[(&str, Value)], expect: Result<&[&'static str], &str>) {
    for second_rules in [false, true] {
        let found = patch(second_rules, changes);
        assert_eq!(found, expect.map(<[_]>::to_vec).map_err(str::to_owned), "{changes:?}");
    }
}

const FULL: &str = "context.full_context_enabled";
const SHORT: &str = "context.compress_enabled";
const CHECKPOINTS: &str = "rollback.max_checkpoints";

#[test]
fn values_must_be_of_their_kind_and_in_their_range() {
    check(&[(FULL, json!(false))], Ok(&[FULL]));
    check(&[(FULL, json!(true))], Ok(&[]));
    check(&[("rules.hp_zero_ends_game", json!(false))], Ok(&["rules.hp_zero_ends_game"]));
    check(&[("dialog.auto_type_enabled", json!(false))], Ok(&["dialog.auto_type_enabled"]));
    for wrong in [json!(1), json!("true"), json!(null), json!([])] {
        let reason = format!("{FULL}: {wrong} is not true or false");
        check(&[(FULL, wrong)], Err(&reason));
    }
    for right in [1, 10] {
        check(&[(CHECKPOINTS, json!(right))], Ok(&[CHECKPOINTS]));
    }
    check(&[(CHECKPOINTS, json!(0))], Ok(&[]));
    for wrong in [json!(-1), json!(11), json!(true), json!(1.0), json!("1"), json!(null)] {
        let reason = format!("{CHECKPOINTS}: {wrong} is not an integer from 0 to 10");
        check(&[(CHECKPOINTS, wrong)], Err(&reason));
    }
    check(&[("no.such", json!(1))], Err("no.such: unknown setting"));
    check(&[("context", json!({}))], Err("context: unknown setting"));
}

#[test]
fn a_patch_happens_whole_or_not_at_all() {
    check(
        &[(FULL, json!(false)), (SHORT, json!(true)), (CHECKPOINTS, json!(3))],
        Ok(&[FULL, SHORT, CHECKPOINTS]),
    );
    check(
        &[(CHECKPOINTS, json!(3)), (SHORT, json!(7))],
        Err("context.compress_enabled: 7 is not true or false"),
    );
    check(&[(CHECKPOINTS, json!(3)), ("x", json!(7))], Err("x: unknown setting"));
    check(&[], Ok(&[]));
}

#[test]
fn the_context_is_full_or_short_or_neither() {
    let both =
        "context.full_context_enabled: cannot be true together with context.compress_enabled";
    check(&[(SHORT, json!(true))], Err(both));
    check(&[(SHORT, json!(true)), (FULL, json!(true))], Err(both));
    check(&[(FULL, json!(false)), (SHORT, json!(true))], Ok(&[FULL, SHORT]));
    check(&[(FULL, json!(false)), (SHORT, json!(false))], Ok(&[FULL]));
}

#[test]
fn some_settings_belong_to_the_second_rules() {
    for key in ["dialog.strict_semantic_guard", "dialog.turn_profile_trace_enabled"] {
        assert_eq!(patch(true, &[(key, json!(true))]), Ok(vec![key]));
        assert_eq!(patch(false, &[(key, json!(true))]), Err(format!("{key}: unknown setting")));
    }
    let key = "characters.fact_generation.draft_mode";
    assert_eq!(patch(true, &[(key, json!("llm"))]), Ok(vec![key]));
    assert_eq!(
        patch(true, &[(key, json!("poet"))]),
        Err(format!("{key}: \"poet\" is not one of deterministic, llm"))
    );
    assert_eq!(settings(RuleSet::First).count(), 6);
    assert_eq!(settings(RuleSet::Second).count(), SETTINGS.len());
}

#[test]
fn the_whole_snapshot_must_be_right_after_a_patch() {
    let (store, id) = first_with(|document| {
        document["settings_snapshot"]["rollback"]["max_checkpoints"] = json!(99);
    });
    let mut campaign = open(&store, &id);
    let error = campaign.patch_settings(&[(FULL.to_owned(), json!(false))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "setting rollback.max_checkpoints: 99 is not an integer from 0 to 10"
    );
    let both = [(FULL.to_owned(), json!(false)), (CHECKPOINTS.to_owned(), json!(2))];
    assert_eq!(campaign.patch_settings(&both).unwrap(), [FULL, CHECKPOINTS]);
}

#[test]
fn the_revision_counts_patches_that_changed_something_and_rows_have_it() {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    for (value, revision) in [(1, 1), (1, 1), (2, 2), (0, 3)] {
        campaign.patch_settings(&[(CHECKPOINTS.to_owned(), json!(value))]).unwrap();
        let row = play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row;
        assert_eq!(row.text_at(&["settings_revision"]).unwrap(), revision.to_string());
    }
}

#[test]
fn settings_that_the_document_lacks_have_their_defaults() {
    let (store, id) = first_with(|document| document["settings_snapshot"] = json!({}));
    let campaign = open(&store, &id);
    let found = campaign.campaign().settings().unwrap();
    let shown: Vec<(&str, Value)> =
        found.into_iter().map(|(setting, value)| (setting.key, value)).collect();
    let expect = [
        (FULL, json!(true)),
        (SHORT, json!(false)),
        ("rules.hp_zero_ends_game", json!(true)),
        (CHECKPOINTS, json!(0)),
        ("dialog.auto_type_enabled", json!(true)),
        ("dialog.conflict_text_checks_enabled", json!(true)),
    ];
    assert_eq!(shown, expect);
}
