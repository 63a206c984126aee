//! Plays turns of a campaign with a narrator behind a real connection.

mod memory;
mod server;
mod trouble;

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

use self::server::{ScriptedServer, ServerStep, event};
use super::config::{EndpointConfig, NarratorArgs, NarratorKind};
use super::endpoint::{Endpoint, RetryPolicy};
use super::key::ApiKey;
use super::{NarrationEvent, NarrationListener};
use crate::error::Error;

const SECRET: &str = "sk-very-secret-0123456789";

/// The result of some turns.
#[derive(Debug)]
struct RunOutcome {
    /// The row of each turn, or the error and whether it is transient.
    turns: Vec<Result<Value, (String, bool)>>,
    /// The output shown to the player; `~` marks a restart, and remarks are in brackets.
    shown: String,
    slept: Vec<Duration>,
    requests: Vec<String>,
    /// The number of rows in the log.
    rows: usize,
}

impl RunOutcome {
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

fn config(url: &str) -> EndpointConfig {
    let args = NarratorArgs {
        narrator: Some(NarratorKind::Openai),
        narrator_url: Some(url.to_owned()),
        model: Some("test-model".to_owned()),
        narrator_timeout: Some(15.0),
        ..NarratorArgs::default()
    };
    EndpointConfig {
        key: Some(ApiKey::parse(SECRET, "a test").unwrap()),
        ..EndpointConfig::of(&args).unwrap()
    }
}

/// Plays these inputs against a server.
fn play_with(
    steps: Vec<ServerStep>,
    inputs: &[&str],
    change: impl FnOnce(&mut EndpointConfig),
    mut more: impl FnMut(&NarrationEvent<'_>) + 'static,
) -> RunOutcome {
    let server = ScriptedServer::start(steps);
    let mut config = config(&server.url);
    change(&mut config);
    let (shown, slept) = (Rc::new(RefCell::new(String::new())), Rc::new(RefCell::new(Vec::new())));
    let (screen, clock) = (Rc::clone(&shown), Rc::clone(&slept));
    let listener: NarrationListener = Box::new(move |it| {
        match it {
            NarrationEvent::Text(text) => screen.borrow_mut().push_str(text),
            NarrationEvent::Again => screen.borrow_mut().push('~'),
            NarrationEvent::Remark(warning) => {
                screen.borrow_mut().push_str(&format!("[{warning}]"));
            }
        }
        more(&it);
    });
    let sleep = Box::new(move |wait| clock.borrow_mut().push(wait));
    let pace = RetryPolicy { sleep, ..RetryPolicy::default() };
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
    let outcome = RunOutcome { turns, shown, slept, requests: server.finish(), rows };
    // The key is sent in a header, and nowhere else.
    let said = format!("{:?} {}", outcome.turns, outcome.shown);
    assert!(!said.contains(SECRET), "{said}");
    outcome
}

fn play(steps: Vec<ServerStep>) -> RunOutcome {
    play_with(steps, &["I look around."], |_| {}, |_| {})
}

const ANSWER: &str = r#"{"assistant_text": "A torch \u2014 and \"silence\".", "dialog_type": "action_prompt", "tool_calls": []}"#;
const TEXT: &str = "A torch — and \"silence\".";

fn pieces(text: &str, size: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// A complete response, not streamed.
fn whole(content: &str) -> String {
    json!({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]})
        .to_string()
}

fn fine(content: &str) -> ServerStep {
    ServerStep::Reply(200, "Content-Type: application/json\r\n", whole(content))
}

fn failing(status: u16, headers: &'static str, body: &str) -> ServerStep {
    ServerStep::Reply(status, headers, body.to_owned())
}

#[test]
fn a_stream_becomes_a_turn_and_is_shown_as_it_arrives() {
    for size in [1, 5, 1000] {
        let outcome = play(vec![ServerStep::Stream(pieces(ANSWER, size))]);
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
    let step = ServerStep::Gated(first.to_owned(), gate, rest.to_owned());
    let open_it = move |shown: &NarrationEvent<'_>| {
        if matches!(shown, NarrationEvent::Text(_)) {
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
    let outcome = play(vec![ServerStep::Stream(pieces(&answer, 9))]);
    assert_eq!(outcome.row()["state_summary"]["positions"]["pc_001"], "area_002");
    assert_eq!(outcome.row()["assistant_structured"]["tool_calls"][0]["id"], "call_001");
}

#[test]
fn an_answer_that_contradicts_the_state_is_asked_for_again() {
    let wrong = r#"{"assistant_text": "You move on."}"#;
    let outcome = play(vec![ServerStep::Stream(pieces(wrong, 4)), fine(ANSWER)]);
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
        for step in [fine(&content), ServerStep::Stream(pieces(&content, 3))] {
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
fn reasoning_is_never_shown_or_stored() {
    for reasoning in [
        r#"<think>{"assistant_text": "draft"}</think>"#,
        "<thinking>They look. {\"assistant_text\": \"no\"}</thinking>\n",
    ] {
        let content = format!("{reasoning}{ANSWER}");
        for step in [fine(&content), ServerStep::Stream(pieces(&content, 3))] {
            let outcome = play(vec![step]);
            assert_eq!((outcome.text(), outcome.shown.as_str()), (TEXT, TEXT), "{content}");
        }
    }
}

#[test]
fn native_tool_calls_are_made_and_the_text_is_asked_for() {
    let args = r#"{"actor_id": "pc_001", "from_area_id": "area_001", "to_area_id": "area_002"}"#;
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "move", "arguments": args}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let whole = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let (first, rest) = args.split_at(20);
    let piece = |function: Value| {
        let delta = json!({"tool_calls": [{"index": 0, "function": function}]});
        format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}))
    };
    let stream = piece(json!({"name": "move", "arguments": first}))
        + &piece(json!({"arguments": rest}))
        + "data: [DONE]\n\n";
    for body in [whole.to_string(), stream] {
        let calls = ServerStep::Reply(200, "Content-Type: application/json\r\n", body);
        let outcome = play(vec![calls, fine(r#"{"assistant_text": "You move on."}"#)]);
        assert_eq!(outcome.text(), "You move on.");
        assert_eq!(outcome.row()["state_summary"]["positions"]["pc_001"], "area_002");
        let asked = outcome.bodies()[1]["messages"].to_string();
        assert!(asked.contains("These calls are noted"), "{asked}");
    }
}

#[test]
fn broken_json_is_asked_for_again_and_then_given_up() {
    let broken = r#"{"assistant_text": "A tor"#;
    let outcome = play(vec![ServerStep::Stream(pieces(broken, 4)), fine(ANSWER)]);
    assert_eq!(outcome.text(), TEXT);
    let expect = format!("A tor~[the model returned invalid JSON; retrying in 0.5 s]{TEXT}");
    assert_eq!(outcome.shown, expect);
    let given_up = play((0..4).map(|_| fine(broken)).collect());
    let (error, passing) = given_up.error();
    assert!(error.ends_with("the model returned invalid JSON") && passing, "{error}");
    assert_eq!(given_up.rows, 0);
}

#[test]
fn wrong_content_types_are_seen_through() {
    let as_text = ServerStep::Reply(200, "Content-Type: text/plain\r\n", whole(ANSWER));
    assert_eq!(play(vec![as_text]).text(), TEXT);
    let stream = event(ANSWER) + "data: [DONE]\n\n";
    let as_json = ServerStep::Reply(200, "Content-Type: application/json\r\n", stream);
    assert_eq!(play(vec![as_json]).text(), TEXT);
    for page in ["<html>It works!</html>", "[1]", r#"{"models": []}"#] {
        let outcome =
            play(vec![ServerStep::Reply(200, "Content-Type: text/html\r\n", page.to_owned())]);
        assert!(outcome.error().0.ends_with("is the address right?"), "{}", outcome.error().0);
    }
}

#[test]
fn control_characters_are_stored_as_they_came_and_never_shown() {
    let answer = r#"{"assistant_text": "red \u001b[31m and \u0007 bell"}"#;
    for step in [fine(answer), ServerStep::Stream(pieces(answer, 2))] {
        let outcome = play(vec![step]);
        assert_eq!(outcome.text(), "red \u{1b}[31m and \u{7} bell");
        assert_eq!(outcome.shown, "red \\u{1b}[31m and \\u{7} bell");
    }
}
