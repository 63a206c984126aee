//! [`Endpoint`]: a model behind an endpoint as a narrator, with retries where they may help.

use std::time::Duration;

use everturn::campaign::{
    DocumentChange, Narrator, NarratorError, NarratorOutput, NarratorRequest,
};
use everturn::tree::JsonTree;
use serde_json::{Map, Value, json};

use super::answer;
use super::client::{EndpointClient, RequestFailure};
use super::config::EndpointConfig;
use super::memory::{self, Summary};
use super::partial::PartialAnswer;
use super::prompt;
use super::reasoning::{ReasoningFilter, without_reasoning};
use super::{NarrationEvent, NarrationListener};
use crate::output::escape_controls;

/// How often a failing endpoint is retried, and the delays between attempts.
pub(super) struct RetryPolicy {
    pub(super) tries: u32,
    /// The first delay; each further one is twice as long.
    pub(super) first: Duration,
    /// The maximum delay. An endpoint that asks for a longer one is not retried.
    pub(super) most: Duration,
    /// The sleep function.
    pub(super) sleep: Box<dyn FnMut(Duration)>,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            tries: 4,
            first: Duration::from_millis(500),
            most: Duration::from_secs(30),
            sleep: Box::new(std::thread::sleep),
        }
    }
}

impl RetryPolicy {
    /// Returns the delay after a number of attempts; `None` if there is no further attempt.
    fn wait(&self, tried: u32, wanted: Option<Duration>) -> Option<Duration> {
        let own = self.first.saturating_mul(1 << tried.saturating_sub(1).min(16)).min(self.most);
        let wait = wanted.map_or(own, |wanted| wanted.max(own));
        (tried < self.tries && wait <= self.most).then_some(wait)
    }
}

/// Optional parts of a request that some endpoints do not support.
const OPTIONAL: &[&str] = &["response_format", "stream", "temperature", "max_tokens"];

/// A model behind an endpoint.
pub(super) struct Endpoint {
    client: EndpointClient,
    config: EndpointConfig,
    listener: NarrationListener,
    pace: RetryPolicy,
    /// The optional parts that this endpoint has rejected.
    left_out: Vec<&'static str>,
}

impl Endpoint {
    pub(super) fn new(
        config: EndpointConfig,
        listener: NarrationListener,
        pace: RetryPolicy,
    ) -> Endpoint {
        Endpoint {
            client: EndpointClient::new(&config),
            config,
            listener,
            pace,
            left_out: Vec::new(),
        }
    }

    fn body(&self, messages: &[Value]) -> Value {
        let mut body = Map::new();
        let mut put = |key: &str, value: Value| {
            if !self.left_out.contains(&key) {
                body.insert(key.to_owned(), value);
            }
        };
        put("model", self.config.model.as_str().into());
        put("messages", messages.into());
        put("stream", true.into());
        put("response_format", json!({"type": "json_object"}));
        put("max_tokens", self.config.max_tokens.into());
        if let Some(temperature) = self.config.temperature {
            put("temperature", temperature.into());
        }
        if self.left_out.contains(&"max_tokens") {
            put("max_completion_tokens", self.config.max_tokens.into());
        }
        body.into()
    }

    /// Drops the optional part that an endpoint complains about. Returns whether there was one.
    fn drop_rejected_option(&mut self, complaint: &str) -> bool {
        let named = OPTIONAL
            .iter()
            .find(|part| complaint.contains(**part) && !self.left_out.contains(*part));
        self.left_out.extend(named);
        named.is_some()
    }

    /// Requests one answer, and parses it.
    fn request_once(&mut self, messages: &[Value]) -> Result<NarratorOutput, RequestFailure> {
        let body = self.body(messages);
        let (mut partial, mut shown) = (PartialAnswer::default(), String::new());
        let mut filter = ReasoningFilter::default();
        let listener = &mut self.listener;
        let mut arrived = |piece: &str| {
            let text = partial.feed(&filter.feed(piece));
            if !text.is_empty() {
                listener(NarrationEvent::Text(&escape_controls(&text)));
                shown.push_str(&text);
            }
        };
        let content = self.client.ask(&body, &mut arrived);
        let output = content.and_then(|content| {
            let host = self.client.host();
            let found = match answer::output(&content.text) {
                // The text is asked for after the calls.
                Err(_) if !content.calls.is_empty() && content.is_whole => {
                    Ok(NarratorOutput::default())
                }
                found => found,
            };
            let found = found.map(|mut output| {
                answer::add_calls(&mut output, &content.calls);
                output
            });
            found.map_err(|error| match (content.is_cut, content.is_whole) {
                (true, _) => RequestFailure::Final {
                    reason: format!(
                        "the answer was cut off after {} tokens; allow more with --max-tokens",
                        self.config.max_tokens
                    ),
                },
                (_, false) => RequestFailure::Later {
                    reason: format!("the connection to {host} ended early"),
                    wait: None,
                },
                _ => RequestFailure::Later { reason: error.reason, wait: Some(Duration::ZERO) },
            })
        });
        match &output {
            Ok(output) => {
                // The text shown while it arrived may be shorter than the answer, or come from another object.
                let rest = output.text.strip_prefix(shown.as_str());
                if rest.is_none() {
                    listener(NarrationEvent::Again);
                }
                let rest = rest.unwrap_or(&output.text);
                if !rest.is_empty() {
                    listener(NarrationEvent::Text(&escape_controls(rest)));
                }
            }
            Err(_) if !shown.is_empty() => listener(NarrationEvent::Again),
            Err(_) => {}
        }
        output
    }

    /// Summarizes the turns that will soon leave the prompt, if there are enough of them. Without a summary the game goes
    /// on; the next turn tries again.
    fn summarize(&mut self, request: &NarratorRequest<'_>) -> Option<DocumentChange> {
        let rows = memory::due(request)?;
        let (from, to) = (memory::turn_of(rows.first()?)?, memory::turn_of(rows.last()?)?);
        let mut body = self.body(&memory::messages(rows));
        if let Some(fields) = body.as_object_mut() {
            fields.remove("response_format");
        }
        let content = match self.client.ask(&body, &mut |_| {}) {
            Ok(content) => content,
            Err(_) => {
                (self.listener)(NarrationEvent::Remark("the last turns could not be summarized"));
                return None;
            }
        };
        let text = without_reasoning(&content.text).trim().to_owned();
        if text.is_empty() || !content.is_whole {
            return None;
        }
        let mut all = memory::summaries(request.campaign);
        all.push(Summary { from, to, text });
        let path = memory::PATH.map(str::to_owned).to_vec();
        Some(DocumentChange { path, value: memory::to_value(&all) })
    }
}

impl Narrator for Endpoint {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        if request.retry > 0 {
            (self.listener)(NarrationEvent::Again);
        }
        let most = self.config.context_tokens.saturating_sub(self.config.max_tokens);
        let mut messages = prompt::messages(request, usize::try_from(most).unwrap_or(usize::MAX));
        let mut tried = 0;
        // The calls of an answer without text.
        let mut calls: Option<Vec<JsonTree>> = None;
        loop {
            tried += 1;
            let failure = match self.request_once(&messages) {
                Ok(output)
                    if output.text.is_empty()
                        && !output.tool_calls.is_empty()
                        && calls.is_none() =>
                {
                    messages.extend(prompt::ask_for_text(&output));
                    calls = Some(output.tool_calls);
                    continue;
                }
                Ok(mut output) => {
                    output.tool_calls.splice(0..0, calls.unwrap_or_default());
                    // An answer that contradicts the state would take its summary with it.
                    if request.retry == 0 {
                        output.changes.extend(self.summarize(request));
                    }
                    return Ok(output);
                }
                Err(failure) => failure,
            };
            match failure {
                RequestFailure::Later { reason, wait } => match self.pace.wait(tried, wait) {
                    Some(wait) => {
                        let seconds = wait.as_secs_f64();
                        let warning = format!("{reason}; retrying in {seconds} s");
                        (self.listener)(NarrationEvent::Remark(&warning));
                        (self.pace.sleep)(wait);
                    }
                    None => {
                        let wait = wait.filter(|wait| *wait > self.pace.most);
                        let wait =
                            wait.map(|wait| format!("; it asks to wait {} s", wait.as_secs()));
                        let reason = format!("{reason}{}", wait.unwrap_or_default());
                        return Err(NarratorError::passing(reason));
                    }
                },
                RequestFailure::Refused { reason } if self.drop_rejected_option(&reason) => {
                    tried -= 1;
                }
                RequestFailure::Slow { reason } => return Err(NarratorError::passing(reason)),
                RequestFailure::Refused { reason } | RequestFailure::Final { reason } => {
                    return Err(NarratorError::new(reason));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let pace = RetryPolicy::default();
        let seconds = |tried, wanted| pace.wait(tried, wanted).map(|wait| wait.as_secs_f64());
        assert_eq!(
            [1, 2, 3, 4].map(|tried| seconds(tried, None)),
            [Some(0.5), Some(1.0), Some(2.0), None]
        );
        assert_eq!(seconds(1, Some(Duration::from_secs(7))), Some(7.0));
        assert_eq!(seconds(1, Some(Duration::from_secs(31))), None);
        assert_eq!(seconds(u32::MAX, None), None);
    }
}
