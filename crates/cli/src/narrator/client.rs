//! One request to a `chat/completions` endpoint, and its answer as it arrives.

use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use super::config::EndpointConfig;
use super::key::ApiKey;

/// The most bytes of an answer, with everything around the text.
const MOST_BYTES: u64 = 4 << 20;

/// The most bytes of the text of an answer.
const MOST_TEXT: usize = 256 << 10;

/// The most bytes that are read of an answer that says what is wrong.
const MOST_COMPLAINT: u64 = 16 << 10;

/// How many characters of it are shown.
const SHOWN_COMPLAINT: usize = 300;

/// How long a connection may take, if the whole answer may take longer.
const CONNECT: Duration = Duration::from_secs(15);

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestFailure {
    /// Later it may work: the endpoint is busy or not there. It may have said how long to wait.
    Later { reason: String, wait: Option<Duration> },
    /// It took too long, and would again.
    Slow { reason: String },
    /// The request was not understood: perhaps because of a part that could be left out.
    Refused { reason: String },
    /// Asking again would not help.
    Final { reason: String },
}

/// What an endpoint answered.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ResponseContent {
    pub(super) text: String,
    /// Whether it was told that this is all of it.
    pub(super) is_whole: bool,
    /// Whether the model was stopped because the answer got too long.
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
            // A key must not go where nobody meant it to.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT.min(config.timeout)))
            .timeout_global(Some(config.timeout))
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

    /// Whom the requests go to.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request, and gives each piece of the text to `arrived` when it is there.
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
            return read(body.take(MOST_BYTES), arrived).map_err(|stop| self.stopped(stop));
        }
        let mut complaint = Vec::new();
        // What is wrong is known by the status; the words that come with it may be missing.
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
            500..=599 => RequestFailure::Later { reason: reason("is in trouble"), wait },
            401 | 403 => RequestFailure::Final { reason: reason("does not accept the key") },
            404 => RequestFailure::Final { reason: reason("knows no such address or model") },
            300..=399 => {
                RequestFailure::Final { reason: reason("sends elsewhere; name the right address") }
            }
            _ => RequestFailure::Refused { reason: reason("refused the request") },
        }
    }

    /// Words of the endpoint, fit to be shown.
    fn quoted(&self, text: &str) -> String {
        // The key goes before the text is cut, so that no half of it stays.
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
                    reason: format!("{host} cannot be reached in time"),
                    wait: None,
                }
            }
            ureq::Error::Timeout(_) => self.too_slow(),
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => self.too_slow(),
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let reason = format!("nothing answers at {host}; is the endpoint running?");
                RequestFailure::Later { reason, wait: None }
            }
            // So is told what is wrong with a certificate.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                let reason =
                    format!("{host} is not to be trusted: {}", self.quoted(&error.to_string()));
                RequestFailure::Final { reason }
            }
            ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::Protocol(_) => {
                let reason =
                    format!("the connection to {host} broke: {}", self.quoted(&error.to_string()));
                RequestFailure::Later { reason, wait: None }
            }
            ureq::Error::HostNotFound => RequestFailure::Later {
                reason: format!("no host of the name {host} is known"),
                wait: None,
            },
            other => {
                let reason = format!("{host} cannot be asked: {}", self.quoted(&other.to_string()));
                RequestFailure::Final { reason }
            }
        }
    }

    fn too_slow(&self) -> RequestFailure {
        let (host, seconds) = (&self.host, self.timeout.as_secs_f64());
        RequestFailure::Slow { reason: format!("{host} did not answer within {seconds} seconds") }
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
                let reason = format!("{host} gave up: {}", self.quoted(&said));
                RequestFailure::Later { reason, wait: None }
            }
            StreamFailure::TooLong => RequestFailure::Final {
                reason: format!("the answer of {host} is longer than any story"),
            },
            StreamFailure::Garbled => {
                let reason = format!("the answer of {host} is not whole");
                RequestFailure::Later { reason, wait: None }
            }
            StreamFailure::NoAnswer => RequestFailure::Final {
                reason: format!(
                    "{host} did not answer as a chat/completions endpoint does; is the address right?"
                ),
            },
        }
    }
}

/// The host in an address, with its port.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Whether a host is this machine, for which no proxy is needed.
pub(super) fn is_local_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address: Option<std::net::IpAddr> = name.parse().ok();
    name.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}

/// What an endpoint says is wrong: the message in its JSON, or whatever it says.
fn complaint(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        // A page for people is no message.
        return if body.trim_start().starts_with('<') { String::new() } else { body.to_owned() };
    };
    let error = value.get("error").unwrap_or(&value);
    let message = error.get("message").or_else(|| value.get("detail")).unwrap_or(error);
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

/// Why an answer that had begun was not read to its end.
#[derive(Debug)]
enum StreamFailure {
    Read(io::Error),
    /// The endpoint said that something is wrong.
    Said(String),
    TooLong,
    /// It began as an answer does, and makes no sense.
    Garbled,
    NoAnswer,
}

/// Reads an answer: a stream of events, or one JSON document, whatever it is said to be.
fn read(body: impl Read, arrived: &mut dyn FnMut(&str)) -> Result<ResponseContent, StreamFailure> {
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
        } else if !is_stream {
            whole.extend_from_slice(&line);
        }
    }
    if is_stream {
        return Ok(content);
    }
    let document = String::from_utf8_lossy(&whole);
    // Comments and names of events may come before the first data.
    let document = document.trim();
    event(document, &mut content, arrived).map(|()| ResponseContent { is_whole: true, ..content })
}

/// One piece of an answer. The text may stand in `delta` or in `message`.
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
    // The last event of a stream may have no choice, but figures.
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
    match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => (content.is_whole, content.is_cut) = (true, true),
        Some(_) => content.is_whole = true,
        None => {}
    }
    Ok(())
}

/// The text of a message, which may come in parts.
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
