//! Endpoints that are busy, down or slow, or that drop the connection.

use super::*;

#[test]
fn a_busy_endpoint_is_asked_again_when_it_says_so() {
    let busy = |headers| failing(429, headers, r#"{"error": {"message": "slow down"}}"#);
    let outcome = play(vec![busy("Retry-After: 7\r\n"), busy(""), fine(ANSWER)]);
    assert_eq!(outcome.text(), TEXT);
    assert_eq!(outcome.slept, [Duration::from_secs(7), Duration::from_secs(1)]);
    assert!(
        outcome.shown.contains("is busy (429): slow down; retrying in 7 s"),
        "{}",
        outcome.shown
    );
    let patient = play(vec![busy("Retry-After: 3600\r\n")]);
    assert!(patient.error().1 && patient.slept.is_empty());
    assert!(patient.error().0.ends_with("it asks to wait 3600 s"), "{}", patient.error().0);
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
    assert!(error.ends_with("reports a server error (504)") && passing, "{error}");
    assert!(error.contains("nothing was written, so the input can be sent again"), "{error}");
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
    let endpoint = crate::narrator::client::EndpointClient::new(&config);
    assert!(!format!("{config:?} {endpoint:?}").contains(SECRET));
}

#[test]
fn errors_that_a_retry_cannot_fix_are_reported_at_once() {
    for (status, expect) in [
        (404, "does not have this address or model (404): no model"),
        (400, "refused the request (400): no model"),
        (302, "redirects; use the final address (302): no model"),
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
    // Rejected options stay dropped for the next turn.
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
        ServerStep::Reset,
        ServerStep::CutOff(String::new()),
        ServerStep::CutOff(first),
        ServerStep::CutOff(whole(ANSWER).chars().take(40).collect()),
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
    let early = ServerStep::Reply(200, head, event(r#"{"assistant_text": "A"#));
    let outcome = play(vec![early, fine(ANSWER)]);
    assert!(outcome.shown.contains("ended early"), "{}", outcome.shown);
    assert_eq!(outcome.text(), TEXT);
    let enough = play(vec![ServerStep::Reply(200, head, event(ANSWER))]);
    assert_eq!(enough.text(), TEXT);
    let complaint = "data: {\"error\": {\"message\": \"out of memory\"}}\n\n".to_owned();
    let failing = play(vec![ServerStep::Reply(200, head, complaint), fine(ANSWER)]);
    assert!(failing.shown.contains("reported an error: out of memory"), "{}", failing.shown);
}

#[test]
fn an_endpoint_that_is_down_is_said_to_be() {
    let server = ScriptedServer::start(Vec::new());
    let url = server.url.clone();
    server.finish();
    let outcome = play_with(Vec::new(), &["look"], |config| config.url = url, |_| {});
    let (error, passing) = outcome.error();
    assert!(error.contains("is the endpoint running?") && passing, "{error}");
    assert_eq!(outcome.slept.len(), 3);
}

#[test]
fn an_answer_has_to_come_in_time() {
    for step in [ServerStep::Silent, ServerStep::Drip] {
        let start = Instant::now();
        let outcome = play_with(
            vec![step],
            &["look"],
            |config| config.timeout = Duration::from_millis(400),
            |_| {},
        );
        let (error, passing) = outcome.error();
        assert!(error.contains("sent nothing for 0.4 seconds") && passing, "{error}");
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!((outcome.requests.len(), outcome.rows), (1, 0));
    }
}

#[test]
fn an_answer_may_take_longer_than_the_timeout_as_long_as_it_arrives() {
    let pieces = ANSWER.chars().map(String::from).collect();
    let start = Instant::now();
    let slow = |config: &mut EndpointConfig| config.timeout = Duration::from_millis(600);
    let outcome = play_with(vec![ServerStep::Slow(pieces)], &["look"], slow, |_| {});
    assert_eq!(outcome.text(), TEXT);
    assert!(start.elapsed() > Duration::from_millis(700), "{:?}", start.elapsed());
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let outcome = play(vec![ServerStep::Flood]);
    let (error, passing) = outcome.error();
    assert!(error.ends_with("is too long") && !passing, "{error}");
    let line =
        play(vec![ServerStep::Reply(200, "", format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20)))]);
    assert!(line.error().0.ends_with("is too long"), "{}", line.error().0);
}

#[test]
fn a_truncated_answer_says_how_to_fix_it() {
    let body = json!({"choices": [{"message": {"content": "{\"assistant_text\": \"A to"}, "finish_reason": "length"}]});
    let outcome = play(vec![ServerStep::Reply(200, "", body.to_string())]);
    let (error, passing) = outcome.error();
    assert!(
        error.ends_with("cut off after 1024 tokens; allow more with --max-tokens") && !passing,
        "{error}"
    );
}
