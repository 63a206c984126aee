//! Long campaigns: summaries of ranges of turns, and lorebooks.

use super::*;

#[test]
fn turns_that_leave_the_prompt_are_summarized_and_the_summary_is_told() {
    let mut steps: Vec<ServerStep> = (0..41).map(|_| fine(ANSWER)).collect();
    // After the answer to the 41st input, 40 turns have no summary.
    steps.push(fine("<think>Hm.</think>Mira found the crown of ash."));
    steps.push(fine(ANSWER));
    let inputs: Vec<String> = (1..=42).map(|number| format!("I look for sign {number}.")).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let outcome = play_with(steps, &inputs, |config| config.context_tokens = 60_000, |_| {});
    assert_eq!(outcome.rows, 42);
    let bodies = outcome.bodies();
    assert_eq!(bodies.len(), 43);
    let asked = bodies[41]["messages"].to_string();
    assert!(asked.contains("sign 1.") && asked.contains("sign 20.") && !asked.contains("sign 21."));
    assert_eq!(bodies[41].get("response_format"), None);
    let last = bodies[42]["messages"].to_string();
    assert!(last.contains("Turns 1 to 20: Mira found the crown of ash."), "{last}");
    assert!(!last.contains("Hm."), "{last}");
}

#[test]
fn a_summary_that_fails_does_not_stop_the_game() {
    let mut steps: Vec<ServerStep> = (0..41).map(|_| fine(ANSWER)).collect();
    steps.push(failing(400, "", "no"));
    let inputs: Vec<&str> = (0..41).map(|_| "I look.").collect();
    let outcome = play_with(steps, &inputs, |config| config.context_tokens = 60_000, |_| {});
    assert_eq!(outcome.rows, 41);
    assert!(outcome.shown.contains("could not be summarized"), "{}", outcome.shown);
}
