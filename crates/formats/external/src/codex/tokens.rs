//! Token usage of Codex: a record per answer, and in earlier versions sums that are repeated.

use everturn_session::model::{SessionUsage, TokenUsage};
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;
use jiff::Timestamp;

use crate::blocks::count_at;
use crate::record::TextHash;
use crate::survey::is_object;

/// Token usage. Each sum counts everything so far, and is repeated.
#[derive(Default)]
pub(super) struct CodexTokens {
    model: String,
    before: TokenUsage,
    pub(super) usage: SessionUsage,
    /// Whether the file has a record of every answer, which makes the sums superfluous.
    has_records: bool,
    /// The thread id, then a hash of it and of all counts so far. A branch starts with those of the session it was
    /// forked from, so that the same answer is recognised in both.
    chain: String,
}

impl CodexTokens {
    /// Starts the chain with the first session that the history was copied from.
    pub(super) fn begin(&mut self, payload: &JsonTree) {
        let thread = text_at(payload, &["forked_from_id"]).or_else(|| text_at(payload, &["id"]));
        self.chain = thread.unwrap_or_else(|| std::mem::take(&mut self.chain));
    }

    pub(super) fn note(&mut self, kind: &str, payload: &JsonTree, time: Option<Timestamp>) {
        if kind == "turn_context"
            && let Some(model) = text_at(payload, &["model"])
        {
            self.model = model;
        }
        if kind == "token_usage_record" {
            return self.note_record(payload, time);
        }
        let is_count = text_at(payload, &["type"]).as_deref() == Some("token_count");
        let total = payload.value_at(&["info", "total_token_usage"]).filter(is_object);
        let Some(total) = total.filter(|_| kind == "event_msg" && is_count) else { return };
        let now = counted(&total, 0);
        if now == self.before || self.has_records {
            return;
        }
        // A sum smaller than the previous one has started again from zero.
        let before = if now.total_tokens() < self.before.total_tokens() {
            TokenUsage::default()
        } else {
            self.before
        };
        let more = TokenUsage {
            answers: 1,
            input: now.input.saturating_sub(before.input),
            output: now.output.saturating_sub(before.output),
            cache_read: now.cache_read.saturating_sub(before.cache_read),
            cache_write: 0,
            reasoning: now.reasoning.saturating_sub(before.reasoning),
            cost: None,
        };
        let model = self.model_name();
        let link = format!("{} {now:?}", self.chain);
        match self.chain.is_empty() {
            // The thread is unknown.
            true => self.usage.add_usage(&model, &more, time),
            false => {
                let id = TextHash::of(&link).number();
                self.usage.add_usage_once(id, &model, &more, time);
                self.chain = format!("{id:x}");
            }
        }
        self.before = now;
    }

    /// Starts a file: whether it has records of answers is not known yet.
    pub(super) fn begin_file(&mut self) {
        self.has_records = false;
        self.before = TokenUsage::default();
    }

    fn model_name(&self) -> String {
        if self.model.is_empty() { "unknown".to_owned() } else { self.model.clone() }
    }

    /// Counts the record of an answer. A fork does not repeat it.
    fn note_record(&mut self, payload: &JsonTree, time: Option<Timestamp>) {
        self.has_records = true;
        let Some(usage) = payload.value_at(&["usage"]).filter(is_object) else { return };
        let spent = counted(&usage, 1);
        let ids = ["thread_id", "turn_id", "response_id"];
        let ids: Vec<String> = ids.iter().filter_map(|key| text_at(payload, &[key])).collect();
        let model = self.model_name();
        match ids.len() {
            3 => {
                let id = TextHash::of(&ids.join(" ")).number();
                self.usage.add_usage_once(id, &model, &spent, time);
            }
            _ => self.usage.add_usage(&model, &spent, time),
        }
    }
}

/// The counts of an object. Cached tokens are part of the input.
fn counted(counts: &JsonTree, answers: u64) -> TokenUsage {
    let cached = count_at(counts, &["cached_input_tokens"]);
    TokenUsage {
        answers,
        input: count_at(counts, &["input_tokens"]).saturating_sub(cached),
        output: count_at(counts, &["output_tokens"]),
        cache_read: cached,
        cache_write: 0,
        reasoning: count_at(counts, &["reasoning_output_tokens"]),
        cost: None,
    }
}
