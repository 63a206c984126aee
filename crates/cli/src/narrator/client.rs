//! [`EndpointClient`]: sends a request to a `chat/completions` endpoint, and reads the response as it arrives.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

use super::config::EndpointConfig;
use super::key::ApiKey;

/// The maximum size of a response, including everything around the text.
const MOST_BYTES: u64 = 4 << 20;

/// The maximum size of the text of a response.
const MOST_TEXT: usize = 256 << 10;

/// The maximum size of an error response.
const MOST_COMPLAINT: u64 = 16 << 10;

/// How many characters of it are shown.
const SHOWN_COMPLAINT: usize = 300;

/// The connection timeout, if the timeout of the endpoint is longer.
const CONNECT: Duration = Duration::from_secs(15);

/// Why a request has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestFailure {
    /// A temporary failure: the endpoint is busy or unreachable. It may have said how long to wait.
    Later { reason: String, wait: Option<Duration> },
    /// A timeout, which would occur again.
    Slow { reason: String },
    /// The request was rejected, perhaps because of an optional part.
    Refused { reason: String },
    /// A retry would not help.
    Final { reason: String },
}

/// The response of an endpoint.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct ResponseContent {
    pub(super) text: String,
    /// The tool calls that are not in the text: `{"id": …, "function": {"name": …, "arguments": …}}`.
    pub(super) calls: Vec<Value>,
    /// Whether the end of the response was received.
    pub(super) is_whole: bool,
    /// Whether the model was stopped because the response was too long.
    pub(super) is_cut: bool,
}

/// A connection to an endpoint.
#[derive(Debug)]
pub(super) struct EndpointClient {
    agent: Agent,
    url: String,
    host: String,
    key: Option<ApiKey>,
    timeout: Duration,
}

impl EndpointClient {
    pub(super) fn new(config: &EndpointConfig) -> EndpointClient {
        let host = host_of(&config.url).to_owned();
        let mut agent = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect must not send the key to another host.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT.min(config.timeout)))
            .timeout_recv_response(Some(config.timeout))
            .timeout_per_read(Some(config.timeout))
            .timeout_per_write(Some(config.timeout))
            .user_agent(concat!("everturn/", env!("CARGO_PKG_VERSION")));
        if is_local_host(&host) {
            agent = agent.proxy(None);
        }
        EndpointClient {
            agent: agent.build().new_agent(),
            url: config.url.clone(),
            host,
            key: config.key.clone(),
            timeout: config.timeout,
        }
    }

    /// The host that requests go to.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request, and passes each piece of the text to `arrived` as it arrives.
    pub(super) fn ask(
        &self,
        body: &Value,
        arrived: &mut dyn FnMut(&str),
    ) -> Result<ResponseContent, RequestFailure> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("Authorization", key.header());
        }
        let answer = request.send(body.to_string()).map_err(|error| self.failed(&error))?;
        let status = answer.status().as_u16();
        let wait = answer.headers().get("Retry-After").and_then(|wait| wait.to_str().ok());
        let wait = wait.and_then(|wait| wait.trim().parse::<u64>().ok()).map(Duration::from_secs);
        let body = answer.into_body().into_reader();
        if status == 200 {
            let alive = Cell::new(Instant::now());
            let body = WatchedBody { body, alive: &alive, idle: self.timeout };
            return read(body.take(MOST_BYTES), &alive, arrived).map_err(|stop| self.stopped(stop));
        }
        let mut complaint = Vec::new();
        // The status is enough to report the error; its message may be missing.
        if body.take(MOST_COMPLAINT).read_to_end(&mut complaint).is_err() {
            complaint.clear();
        }
        Err(self.refused(status, &String::from_utf8_lossy(&complaint), wait))
    }

    fn refused(&self, status: u16, body: &str, wait: Option<Duration>) -> RequestFailure {
        let host = &self.host;
        let said = self.quoted(&complaint(body));
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let reason = |what: &str| format!("{host} {what} ({status}){said}");
        match status {
            408 | 425 | 429 => RequestFailure::Later { reason: reason("is busy"), wait },
            500..=599 => RequestFailure::Later { reason: reason("reports a server error"), wait },
            401 | 403 => RequestFailure::Final { reason: reason("does not accept the key") },
            404 => RequestFailure::Final { reason: reason("does not have this address or model") },
            300..=399 => {
                RequestFailure::Final { reason: reason("redirects; use the final address") }
            }
            _ => RequestFailure::Refused { reason: reason("refused the request") },
        }
    }

    /// Returns text of the endpoint in a form that is safe to show.
    fn quoted(&self, text: &str) -> String {
        // The key is removed before the text is truncated, so that no part of it remains.
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text));
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(SHOWN_COMPLAINT).collect();
        crate::output::escape_controls(&short)
    }

    fn failed(&self, error: &ureq::Error) -> RequestFailure {
        let host = &self.host;
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                RequestFailure::Later {
                    reason: format!("{host} cannot be reached: connection timed out"),
                    wait: None,
                }
            }
            ureq::Error::Timeout(_) => self.too_slow(),
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => self.too_slow(),
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let reason = format!("cannot connect to {host}; is the endpoint running?");
                RequestFailure::Later { reason, wait: None }
            }
            // Certificate errors are reported this way.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                let reason = format!("{host} is not trusted: {}", self.quoted(&error.to_string()));
                RequestFailure::Final { reason }
            }
            ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::Protocol(_) => {
                let reason =
                    format!("the connection to {host} failed: {}", self.quoted(&error.to_string()));
                RequestFailure::Later { reason, wait: None }
            }
            ureq::Error::HostNotFound => {
                RequestFailure::Later { reason: format!("unknown host {host}"), wait: None }
            }
            other => {
                let reason =
                    format!("request to {host} failed: {}", self.quoted(&other.to_string()));
                RequestFailure::Final { reason }
            }
        }
    }

    fn too_slow(&self) -> RequestFailure {
        let (host, seconds) = (&self.host, self.timeout.as_secs_f64());
        let reason = format!(
            "{host} sent nothing for {seconds} seconds; wait longer with --narrator-timeout"
        );
        RequestFailure::Slow { reason }
    }

    fn stopped(&self, stop: StreamFailure) -> RequestFailure {
        let host = &self.host;
        match stop {
            StreamFailure::Read(error) => {
                let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
                match inner {
                    Some(inner) => self.failed(inner),
                    None => self.failed(&ureq::Error::Io(error)),
                }
            }
            StreamFailure::Said(said) => {
                let reason = format!("{host} reported an error: {}", self.quoted(&said));
                RequestFailure::Later { reason, wait: None }
            }
            StreamFailure::TooLong => {
                RequestFailure::Final { reason: format!("the answer of {host} is too long") }
            }
            StreamFailure::Garbled => {
                let reason = format!("the answer of {host} is incomplete");
                RequestFailure::Later { reason, wait: None }
            }
            StreamFailure::NoAnswer => RequestFailure::Final {
                reason: format!(
                    "{host} did not answer like a chat/completions endpoint; is the address right?"
                ),
            },
        }
    }
}

/// Returns the host and port of a URL.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns whether a host is this machine, for which no proxy is needed.
pub(super) fn is_local_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address: Option<std::net::IpAddr> = name.parse().ok();
    name.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}

/// Returns the error message of an endpoint: the message in its JSON, or the whole text.
fn complaint(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        // An HTML page is not a message.
        return if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() };
    };
    let error = value.get("error").unwrap_or(&value);
    let message = error.get("message").or_else(|| value.get("detail")).unwrap_or(error);
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

/// Why a response was not read to its end.
#[derive(Debug)]
enum StreamFailure {
    Read(io::Error),
    /// The endpoint reported an error.
    Said(String),
    TooLong,
    /// It began as a valid response, but is malformed.
    Garbled,
    NoAnswer,
}

/// A body that fails if no data has arrived for some time. Comments, which keep a connection open, are not data.
struct WatchedBody<'a, R> {
    body: R,
    /// When the last data arrived.
    alive: &'a Cell<Instant>,
    idle: Duration,
}

impl<R: Read> Read for WatchedBody<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        if length > 0 && self.alive.get().elapsed() > self.idle {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(length)
    }
}

/// Reads a response, which is a stream of events or one JSON document, whatever its content type says.
fn read(
    body: impl Read,
    alive: &Cell<Instant>,
    arrived: &mut dyn FnMut(&str),
) -> Result<ResponseContent, StreamFailure> {
    let mut body = BufReader::new(body);
    let (mut content, mut whole) = (ResponseContent::default(), Vec::new());
    let (mut is_stream, mut total) = (false, 0_u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = body.read_until(b'\n', &mut line).map_err(StreamFailure::Read)?;
        total += length as u64;
        if total >= MOST_BYTES {
            return Err(StreamFailure::TooLong);
        }
        if length == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if let Some(data) = text.strip_prefix("data:") {
            is_stream = true;
            if data.trim() == "[DONE]" {
                content.is_whole = true;
                return Ok(content);
            }
            event(data, &mut content, arrived)?;
            alive.set(Instant::now());
        } else if !is_stream {
            whole.extend_from_slice(&line);
        }
    }
    if is_stream {
        return Ok(content);
    }
    let document = String::from_utf8_lossy(&whole);
    // Comments and event names may precede the first data.
    let document = document.trim();
    event(document, &mut content, arrived).map(|()| ResponseContent { is_whole: true, ..content })
}

/// Handles one event. The text may be in `delta` or in `message`.
fn event(
    data: &str,
    content: &mut ResponseContent,
    arrived: &mut dyn FnMut(&str),
) -> Result<(), StreamFailure> {
    let Ok(value) = serde_json::from_str::<Value>(data) else {
        let begins_well = data.trim_start().starts_with('{') || data.trim().is_empty();
        return Err(if begins_well { StreamFailure::Garbled } else { StreamFailure::NoAnswer });
    };
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(StreamFailure::Said(complaint(
            &serde_json::json!({"error": error}).to_string(),
        )));
    }
    let Some(choices) = value.get("choices").and_then(Value::as_array) else {
        return Err(StreamFailure::NoAnswer);
    };
    // The last event of a stream may have usage figures instead of choices.
    let Some(choice) = choices.first() else { return Ok(()) };
    let message = choice.get("delta").or_else(|| choice.get("message"));
    let piece = message.and_then(|message| message.get("content")).map(words).unwrap_or_default();
    if let Some(refusal) = message.and_then(|it| it.get("refusal")).and_then(Value::as_str) {
        return Err(StreamFailure::Said(refusal.to_owned()));
    }
    if content.text.len() + piece.len() > MOST_TEXT {
        return Err(StreamFailure::TooLong);
    }
    if !piece.is_empty() {
        content.text.push_str(&piece);
        arrived(&piece);
    }
    let calls = message.and_then(|message| message.get("tool_calls")).and_then(Value::as_array);
    for (at, call) in calls.into_iter().flatten().enumerate() {
        add_call(&mut content.calls, call, at)?;
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => (content.is_whole, content.is_cut) = (true, true),
        Some(_) => content.is_whole = true,
        None => {}
    }
    Ok(())
}

/// The maximum number of tool calls in an answer, and the maximum size of their arguments.
const MOST_CALLS: usize = 64;

/// Adds a tool call, or a piece of one: a stream sends the arguments in pieces.
fn add_call(calls: &mut Vec<Value>, piece: &Value, at: usize) -> Result<(), StreamFailure> {
    let at = piece
        .get("index")
        .and_then(Value::as_u64)
        .map_or(at, |index| usize::try_from(index).unwrap_or(usize::MAX));
    if at >= MOST_CALLS {
        return Err(StreamFailure::TooLong);
    }
    while calls.len() <= at {
        calls.push(serde_json::json!({"function": {"name": "", "arguments": ""}}));
    }
    let Some(call) = calls.get_mut(at) else { return Ok(()) };
    if let (Some(id @ Value::String(_)), Value::Object(fields)) = (piece.get("id"), &mut *call) {
        fields.insert("id".to_owned(), id.clone());
    }
    for key in ["name", "arguments"] {
        let more = match piece.get("function").and_then(|function| function.get(key)) {
            Some(Value::String(more)) => more.clone(),
            // Some endpoints send an object.
            Some(more @ Value::Object(_)) => more.to_string(),
            _ => continue,
        };
        if let Some(Value::String(text)) = call.pointer_mut(&format!("/function/{key}")) {
            if text.len() + more.len() > MOST_TEXT {
                return Err(StreamFailure::TooLong);
            }
            text.push_str(&more);
        }
    }
    Ok(())
}

/// Returns the text of a message, which may consist of parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_on_this_machine_are_known() {
        for (url, host, here) in [
            ("http://localhost:11434/v1", "localhost:11434", true),
            ("http://127.0.0.1:8080/v1", "127.0.0.1:8080", true),
            ("http://[::1]:8080/v1", "[::1]:8080", true),
            ("https://api.example.org/v1", "api.example.org", false),
            ("http://192.168.1.4:8000", "192.168.1.4:8000", false),
        ] {
            assert_eq!((host_of(url), is_local_host(host)), (host, here), "{url}");
        }
    }

    #[test]
    fn complaints_are_found_in_what_endpoints_say() {
        for (body, expect) in [
            (r#"{"error": {"message": "no such model", "type": "x"}}"#, "no such model"),
            (r#"{"error": "model 'x' not found"}"#, "model 'x' not found"),
            (r#"{"detail": "Not Found"}"#, "Not Found"),
            (r#"{"message": "overloaded"}"#, "overloaded"),
            ("plain words", "plain words"),
            ("<html><body>502</body></html>", ""),
            ("", ""),
        ] {
            assert_eq!(complaint(body), expect, "{body}");
        }
    }
}
