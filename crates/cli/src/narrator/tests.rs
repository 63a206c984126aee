//! Turns of a campaign whose narrator is asked over a real connection.

mod server;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use everturn::campaign::{
    Campaign, CampaignError, CampaignWriter, NewCampaign, Submission, create,
};
use everturn::store::{MemoryStore, Store};
use serde_json::{Value, json};

use self::server::{Server, Step, event};
use super::config::{Config, NarratorArgs, Who};
use super::endpoint::{Endpoint, Pace};
use super::key::Key;
use super::{Listener, Shown};
use crate::error::Error;

const SECRET: &str = "sk-very-secret-0123456789";

/// What came of some turns.
#[derive(Debug)]
struct Outcome {
    /// The row of each turn, or what went wrong and whether it may pass.
    turns: Vec<Result<Value, (String, bool)>>,
    /// What the player was shown; `~` stands for beginning anew, and remarks are in brackets.
    shown: String,
    slept: Vec<Duration>,
    requests: Vec<String>,
    /// How many rows the log has.
    rows: usize,
}

impl Outcome {
    #[track_caller]
    fn row(&self) -> &Value {
        match self.turns.as_slice() {
            [Ok(row)] => row,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn text(&self) -> &str {
        self.row()["assistant_text"].as_str().unwrap()
    }

    #[track_caller]
    fn error(&self) -> (&str, bool) {
        match self.turns.as_slice() {
            [Err((error, passing))] => (error, *passing),
            other => panic!("{other:?}"),
        }
    }

    /// The bodies of the requests.
    fn bodies(&self) -> Vec<Value> {
        let body = |request: &String| {
            serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
        };
        self.requests.iter().map(body).collect()
    }
}

fn config(url: &str) -> Config {
    let args = NarratorArgs {
        narrator: Some(Who::Openai),
        narrator_url: Some(url.to_owned()),
        model: Some("test-model".to_owned()),
        narrator_timeout: Some(15.0),
        ..NarratorArgs::default()
    };
    Config { key: Some(Key::parse(SECRET, "a test").unwrap()), ..Config::of(&args).unwrap() }
}

/// Plays these inputs against a server.
fn play_with(
    steps: Vec<Step>,
    inputs: &[&str],
    change: impl FnOnce(&mut Config),
    mut more: impl FnMut(&Shown<'_>) + 'static,
) -> Outcome {
    let server = Server::start(steps);
    let mut config = config(&server.url);
    change(&mut config);
    let (shown, slept) = (Rc::new(RefCell::new(String::new())), Rc::new(RefCell::new(Vec::new())));
    let (screen, clock) = (Rc::clone(&shown), Rc::clone(&slept));
    let listener: Listener = Box::new(move |it| {
        match it {
            Shown::Text(text) => screen.borrow_mut().push_str(text),
            Shown::Again => screen.borrow_mut().push('~'),
            Shown::Remark(remark) => screen.borrow_mut().push_str(&format!("[{remark}]")),
        }
        more(&it);
    });
    let sleep = Box::new(move |wait| clock.borrow_mut().push(wait));
    let pace = Pace { sleep, ..Pace::default() };
    let mut narrator = Endpoint::new(config, listener, pace);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let now = "2026-01-14T16:05:00Z".parse().unwrap();
    let id = create(&store, &NewCampaign::default(), now).unwrap();
    let mut campaign = CampaignWriter::open(Arc::clone(&store), &id).unwrap();
    let mut turns = Vec::new();
    for input in inputs {
        turns.push(match campaign.submit(&Submission::new(input), &mut narrator, now) {
            Ok(played) => Ok(played.row.to_value().unwrap()),
            Err(error) => {
                let passing = matches!(&error, CampaignError::Narrator(it) if it.passing);
                let shown = format!("{error:?}");
                assert!(!shown.contains(SECRET), "{shown}");
                Err((Error::from(error).to_string(), passing))
            }
        });
    }
    let rows = usize::try_from(Campaign::open(store, &id).unwrap().turn()).unwrap();
    let (shown, slept) = (shown.take(), slept.take());
    let outcome = Outcome { turns, shown, slept, requests: server.finish(), rows };
    // The key goes out in a header, and nowhere else.
    let said = format!("{:?} {}", outcome.turns, outcome.shown);
    assert!(!said.contains(SECRET), "{said}");
    outcome
}

fn play(steps: Vec<Step>) -> Outcome {
    play_with(steps, &["I look around."], |_| {}, |_| {})
}

const ANSWER: &str = r#"{"assistant_text": "A torch \u2014 and \"silence\".", "dialog_type": "action_prompt", "tool_calls": []}"#;
const TEXT: &str = "A torch — and \"silence\".";

fn pieces(text: &str, size: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// A whole answer, not streamed.
fn whole(content: &str) -> String {
    json!({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]})
        .to_string()
}

fn fine(content: &str) -> Step {
    Step::Reply(200, "Content-Type: application/json\r\n", whole(content))
}

fn failing(status: u16, headers: &'static str, body: &str) -> Step {
    Step::Reply(status, headers, body.to_owned())
}

#[test]
fn a_stream_becomes_a_turn_and_is_shown_as_it_arrives() {
    for size in [1, 5, 1000] {
        let outcome = play(vec![Step::Stream(pieces(ANSWER, size))]);
        assert_eq!(outcome.text(), TEXT);
        assert_eq!(outcome.shown, TEXT);
        assert_eq!(outcome.row()["dialog_type"], "action_prompt");
        assert_eq!(outcome.row()["dialog_type_source"], "model");
    }
}

#[test]
fn the_text_is_shown_before_the_answer_is_complete() {
    let (open, gate) = channel();
    let (first, rest) = ANSWER.split_at(30);
    let step = Step::Gated(first.to_owned(), gate, rest.to_owned());
    let open_it = move |shown: &Shown<'_>| {
        if matches!(shown, Shown::Text(_)) {
            open.send(()).ok();
        }
    };
    let outcome = play_with(vec![step], &["look"], |_| {}, open_it);
    assert_eq!((outcome.text(), outcome.shown.as_str()), (TEXT, TEXT));
}

#[test]
fn the_request_says_what_it_should_and_has_the_key() {
    let outcome = play_with(
        vec![fine(ANSWER)],
        &["I look."],
        |config| config.temperature = Some(0.5),
        |_| {},
    );
    let request = &outcome.requests[0];
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(
        request.to_lowercase().contains(&format!("authorization: bearer {SECRET}\r\n")),
        "{request}"
    );
    let body = &outcome.bodies()[0];
    assert_eq!(body["model"], "test-model");
    assert_eq!(body["stream"], true);
    assert_eq!(body["max_tokens"], 1024);
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    assert_eq!(body["messages"][0]["role"], "system");
    assert!(!body.to_string().contains(SECRET));
    let without = play_with(vec![fine(ANSWER)], &["I look."], |config| config.key = None, |_| {});
    assert!(!without.requests[0].to_lowercase().contains("authorization"));
}

#[test]
fn tools_are_called_and_checked() {
    let call = r#"{"tool": "move", "args": {"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}}"#;
    let answer = format!(r#"{{"assistant_text": "You move on.", "tool_calls": [{call}]}}"#);
    let outcome = play(vec![Step::Stream(pieces(&answer, 9))]);
    assert_eq!(outcome.row()["state_summary"]["positions"]["pc_001"], "area_002");
    assert_eq!(outcome.row()["assistant_structured"]["tool_calls"][0]["id"], "call_001");
}

#[test]
fn an_answer_that_contradicts_the_state_is_asked_for_again() {
    let wrong = r#"{"assistant_text": "You move on."}"#;
    let outcome = play(vec![Step::Stream(pieces(wrong, 4)), fine(ANSWER)]);
    assert_eq!(outcome.text(), TEXT);
    assert_eq!(outcome.shown, format!("You move on.~{TEXT}"));
    assert_eq!(outcome.row()["conflict_report"]["retries"], 1);
    let asked = outcome.bodies()[1]["messages"].to_string();
    assert!(asked.contains("state_mismatch"), "{asked}");
}

#[test]
fn answers_are_found_in_whatever_surrounds_them() {
    for content in [
        ANSWER.to_owned(),
        format!("```json\n{ANSWER}\n```"),
        format!("<think>What {{now}}?</think>\nHere it is: {ANSWER} Enjoy!"),
        format!(r#"{{"answer": {ANSWER}}}"#),
    ] {
        for step in [fine(&content), Step::Stream(pieces(&content, 3))] {
            let outcome = play(vec![step]);
            assert_eq!(outcome.text(), TEXT, "{content}");
            let counts = outcome.shown.rsplit('~').next().unwrap();
            assert_eq!(counts, TEXT, "{content}");
        }
    }
    let prose = play(vec![fine("You stand in the dark.")]);
    assert_eq!(
        (prose.text(), prose.shown.as_str()),
        ("You stand in the dark.", "You stand in the dark.")
    );
    assert_eq!(prose.row()["dialog_type_source"], "fallback");
}

#[test]
fn broken_json_is_asked_for_again_and_then_given_up() {
    let broken = r#"{"assistant_text": "A tor"#;
    let outcome = play(vec![Step::Stream(pieces(broken, 4)), fine(ANSWER)]);
    assert_eq!(outcome.text(), TEXT);
    let expect =
        format!("A tor~[the model answered with broken JSON; asking again in 0.5 s]{TEXT}");
    assert_eq!(outcome.shown, expect);
    let given_up = play((0..4).map(|_| fine(broken)).collect());
    let (error, passing) = given_up.error();
    assert!(error.ends_with("the model answered with broken JSON") && passing, "{error}");
    assert_eq!(given_up.rows, 0);
}

#[test]
fn a_busy_endpoint_is_asked_again_when_it_says_so() {
    let busy = |headers| failing(429, headers, r#"{"error": {"message": "slow down"}}"#);
    let outcome = play(vec![busy("Retry-After: 7\r\n"), busy(""), fine(ANSWER)]);
    assert_eq!(outcome.text(), TEXT);
    assert_eq!(outcome.slept, [Duration::from_secs(7), Duration::from_secs(1)]);
    assert!(
        outcome.shown.contains("is busy (429): slow down; asking again in 7 s"),
        "{}",
        outcome.shown
    );
    let patient = play(vec![busy("Retry-After: 3600\r\n")]);
    assert!(patient.error().1 && patient.slept.is_empty());
    let dated = play(vec![busy("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"), fine(ANSWER)]);
    assert_eq!((dated.text(), dated.slept.len()), (TEXT, 1));
}

#[test]
fn an_endpoint_in_trouble_is_asked_so_often_and_no_more() {
    let trouble = |status| failing(status, "Content-Type: text/html\r\n", "<html>nginx</html>");
    let outcome = play(vec![trouble(500), trouble(503), fine(ANSWER)]);
    assert_eq!((outcome.text(), outcome.slept.len()), (TEXT, 2));
    let down = play(vec![trouble(500), trouble(502), trouble(503), trouble(504)]);
    let (error, passing) = down.error();
    assert!(error.ends_with("is in trouble (504)") && passing, "{error}");
    assert!(error.contains("nothing was written, and the input can be sent again"), "{error}");
    assert_eq!((down.requests.len(), down.slept.len(), down.rows), (4, 3, 0));
}

#[test]
fn after_a_failure_the_same_input_can_be_sent_again() {
    let trouble = || failing(500, "", "");
    let steps = vec![trouble(), trouble(), trouble(), trouble(), fine(ANSWER)];
    let outcome = play_with(steps, &["I look.", "I look."], |_| {}, |_| {});
    assert!(outcome.turns[0].is_err());
    assert_eq!(outcome.turns[1].as_ref().unwrap()["turn_id"], "turn_0001");
    assert_eq!(outcome.rows, 1);
}

#[test]
fn a_refused_key_is_said_and_never_shown() {
    let body =
        format!(r#"{{"error": {{"message": "Incorrect API key provided: {SECRET}\u001b[31m"}}}}"#);
    let outcome = play(vec![failing(401, "", &body)]);
    let (error, passing) = outcome.error();
    assert!(
        error.contains("does not accept the key (401): Incorrect API key provided: [key]"),
        "{error}"
    );
    assert!(!error.contains('\u{1b}') && !passing);
    let config = config("http://localhost:1/v1");
    let endpoint = super::client::Client::new(&config);
    assert!(!format!("{config:?} {endpoint:?}").contains(SECRET));
}

#[test]
fn what_asking_again_would_not_mend_is_said_at_once() {
    for (status, expect) in [
        (404, "knows no such address or model (404): no model"),
        (400, "refused the request (400): no model"),
        (302, "sends elsewhere; name the right address (302): no model"),
    ] {
        let step = failing(status, "Location: http://localhost:1/\r\n", r#"{"error": "no model"}"#);
        let outcome = play(vec![step]);
        let (error, passing) = outcome.error();
        assert!(error.ends_with(expect) && !passing, "{error}");
        assert_eq!(outcome.requests.len(), 1);
    }
}

#[test]
fn parts_of_a_request_that_are_not_understood_are_left_out() {
    let no = |part: &str| {
        failing(400, "", &format!(r#"{{"error": {{"message": "unknown field: {part}"}}}}"#))
    };
    let steps = vec![no("response_format"), no("max_tokens"), fine(ANSWER), fine(ANSWER)];
    let outcome = play_with(steps, &["one", "two"], |_| {}, |_| {});
    let bodies = outcome.bodies();
    assert!(outcome.turns.iter().all(Result::is_ok));
    assert!(
        bodies[0].get("response_format").is_some() && bodies[1].get("response_format").is_none()
    );
    assert!(bodies[1].get("max_completion_tokens").is_none());
    // What was learned is kept for the next turn.
    for body in &bodies[2..] {
        assert!(body.get("max_tokens").is_none() && body.get("response_format").is_none());
        assert_eq!(body["max_completion_tokens"], 1024);
    }
    assert!(outcome.slept.is_empty());
}

#[test]
fn a_connection_that_breaks_is_made_again() {
    let first = event(r#"{"assistant_text": "A torch and then"#);
    for broken in [
        Step::Reset,
        Step::CutOff(String::new()),
        Step::CutOff(first),
        Step::CutOff(whole(ANSWER).chars().take(40).collect()),
    ] {
        let outcome = play(vec![broken, fine(ANSWER)]);
        assert_eq!(outcome.text(), TEXT);
        assert_eq!(outcome.slept.len(), 1, "{}", outcome.shown);
        assert!(outcome.shown.ends_with(&format!("s]{TEXT}")), "{}", outcome.shown);
        let remade = outcome.shown.starts_with("A torch and then~[");
        assert_eq!(remade, outcome.shown.contains("A torch and then"), "{}", outcome.shown);
    }
}

#[test]
fn a_stream_that_ends_early_is_no_answer_unless_it_is_whole() {
    let head = "Content-Type: text/event-stream\r\n";
    let early = Step::Reply(200, head, event(r#"{"assistant_text": "A"#));
    let outcome = play(vec![early, fine(ANSWER)]);
    assert!(outcome.shown.contains("ended early"), "{}", outcome.shown);
    assert_eq!(outcome.text(), TEXT);
    let enough = play(vec![Step::Reply(200, head, event(ANSWER))]);
    assert_eq!(enough.text(), TEXT);
    let complaint = "data: {\"error\": {\"message\": \"out of memory\"}}\n\n".to_owned();
    let failing = play(vec![Step::Reply(200, head, complaint), fine(ANSWER)]);
    assert!(failing.shown.contains("gave up: out of memory"), "{}", failing.shown);
}

#[test]
fn an_endpoint_that_is_down_is_said_to_be() {
    let server = Server::start(Vec::new());
    let url = server.url.clone();
    server.finish();
    let outcome = play_with(Vec::new(), &["look"], |config| config.url = url, |_| {});
    let (error, passing) = outcome.error();
    assert!(error.contains("is the endpoint running?") && passing, "{error}");
    assert_eq!(outcome.slept.len(), 3);
}

#[test]
fn an_answer_has_to_come_in_time() {
    for step in [Step::Silent, Step::Drip] {
        let start = Instant::now();
        let outcome = play_with(
            vec![step],
            &["look"],
            |config| config.timeout = Duration::from_millis(400),
            |_| {},
        );
        let (error, passing) = outcome.error();
        assert!(error.ends_with("did not answer within 0.4 seconds") && passing, "{error}");
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!((outcome.requests.len(), outcome.rows), (1, 0));
    }
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let outcome = play(vec![Step::Flood]);
    let (error, passing) = outcome.error();
    assert!(error.ends_with("is longer than any story") && !passing, "{error}");
    let line = play(vec![Step::Reply(200, "", format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20)))]);
    assert!(line.error().0.ends_with("is longer than any story"), "{}", line.error().0);
}

#[test]
fn an_answer_that_was_cut_off_by_its_length_says_how_to_mend_it() {
    let body = json!({"choices": [{"message": {"content": "{\"assistant_text\": \"A to"}, "finish_reason": "length"}]});
    let outcome = play(vec![Step::Reply(200, "", body.to_string())]);
    let (error, passing) = outcome.error();
    assert!(
        error.ends_with("cut off after 1024 tokens; allow more with --max-tokens") && !passing,
        "{error}"
    );
}

#[test]
fn wrong_content_types_are_seen_through() {
    let as_text = Step::Reply(200, "Content-Type: text/plain\r\n", whole(ANSWER));
    assert_eq!(play(vec![as_text]).text(), TEXT);
    let stream = event(ANSWER) + "data: [DONE]\n\n";
    let as_json = Step::Reply(200, "Content-Type: application/json\r\n", stream);
    assert_eq!(play(vec![as_json]).text(), TEXT);
    for page in ["<html>It works!</html>", "[1]", r#"{"models": []}"#] {
        let outcome = play(vec![Step::Reply(200, "Content-Type: text/html\r\n", page.to_owned())]);
        assert!(outcome.error().0.ends_with("is the address right?"), "{}", outcome.error().0);
    }
}

#[test]
fn control_characters_are_stored_as_they_came_and_never_shown() {
    let answer = r#"{"assistant_text": "red \u001b[31m and \u0007 bell"}"#;
    for step in [fine(answer), Step::Stream(pieces(answer, 2))] {
        let outcome = play(vec![step]);
        assert_eq!(outcome.text(), "red \u{1b}[31m and \u{7} bell");
        assert_eq!(outcome.shown, "red \\u{1b}[31m and \\u{7} bell");
    }
}
