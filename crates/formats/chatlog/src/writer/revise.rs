//! Edits and regenerates messages, and switches between their versions.

use jiff::Timestamp;

use super::{ChangeOutcome, ChatWriter, snapshot_values};
use crate::error::ChatError;
use crate::journal::JournalOp;
use crate::log::Message;
use crate::message::{ContentEdit, choose_version, edit, regenerate};
use crate::survey::ListKind;
use crate::tags::tags;
use crate::tools::{Tool, ToolState};
use everturn_json::finding::{Finding, FindingCode};
use everturn_value::delta::Delta;
use everturn_value::tree::JsonTree;

impl ChatWriter {
    /// Replaces the text of a message. The old text is kept in its `edit_history`.
    ///
    /// Tags in the new text are not applied: they stay in the text, and are reported.
    pub fn edit(
        &mut self,
        number: u64,
        words: &str,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let new = ContentEdit { text: Some(words.to_owned()), ..ContentEdit::default() };
        self.edit_content(number, &new, now)
    }

    /// Changes the text, the attachments and the actions of a message. The old content is kept in its `edit_history`.
    pub fn edit_content(
        &mut self,
        number: u64,
        new: &ContentEdit,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let message = self.log.message(number)?;
        let edits = edit(&message.tree, new, &now.to_string())?;
        let words = new.text.as_deref().unwrap_or_default();
        let findings = self.tags_left(&message, words);
        self.revise(&message, edits, Vec::new(), findings, now)
    }

    /// Regenerates a message. The old version is kept in its `regeneration_history`.
    ///
    /// If it is the last message, the tools return to their states before it, and the tags in the new text are applied.
    pub fn regenerate(
        &mut self,
        number: u64,
        words: &str,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let at = now.to_string();
        let message = self.log.message(number)?;
        if number < self.log.len() {
            let edits = regenerate(&message.tree, words, None, &at)?;
            let findings = self.tags_left(&message, words);
            return self.revise(&message, edits, Vec::new(), findings, now);
        }
        let id = message.id().unwrap_or_default();
        let states = self.states_after(number)?;
        let place = message.place;
        let new = JsonTree::from_value(&serde_json::json!({
            "id": id, "type": message.tree.string_at(&["type"]), "content": {"text": words},
        }));
        let new = new.unwrap_or_else(|_| JsonTree::null());
        let told = self.apply_tags(new, place, Some(number), &at)?;
        let words = told.message.string_at(&["content", "text"]).unwrap_or_default();
        let edits = regenerate(&message.tree, &words, states, &at)?;
        let snapshots = snapshot_values(&told.snapshots);
        let mut changed = self.revise(&message, edits, told.snapshots, told.findings, now)?;
        changed.snapshots = snapshots;
        changed.fired = told.fired;
        Ok(changed)
    }

    /// Switches a message to an earlier version, counted from 1, oldest first. The current version takes its place in
    /// the history. If the message is the last one, the tools get the states that go with the chosen version.
    pub fn choose(
        &mut self,
        number: u64,
        which: u64,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let at = now.to_string();
        let message = self.log.message(number)?;
        let is_last = number == self.log.len();
        let states = if is_last { self.states_after(number)? } else { None };
        let choice = choose_version(&message.tree, which, states, &at)?;
        let mut more = Vec::new();
        if let Some(tools) = choice.tools.filter(|_| is_last) {
            let noted = |tool: &Tool| {
                let state = tools.value_at(&[tool.id.as_str()]);
                Ok(state.map(|state| ToolState::parse(&state)))
            };
            let id = message.id().unwrap_or_default();
            let cause = "an earlier version was selected";
            more = self.set_tool_states(&noted, (&id, message.place), cause, &at)?;
        }
        self.revise(&message, choice.edits, more, Vec::new(), now)
    }

    /// The states of all tools after a message, if there are any.
    fn states_after(&self, number: u64) -> Result<Option<JsonTree>, ChatError> {
        let (states, _) = self.log.states(number)?;
        Ok(states.len_at::<&str>(&[]).filter(|count| *count > 0).map(|_| states))
    }

    fn tags_left(&self, message: &Message, words: &str) -> Vec<Finding> {
        let narrates = message.tree.string_at(&["type"]).as_deref() == Some("narrator");
        let count = if narrates { tags(words).len() } else { 0 };
        let id = message.id().unwrap_or_default();
        let finding = |count: usize| {
            Finding::new(
                &self.log.files.document,
                FindingCode::OddTag,
                format!(
                    "in message {id}: {count} tool tags are not applied, because other messages follow"
                ),
            )
        };
        (count > 0).then(|| finding(count)).into_iter().collect()
    }

    fn revise(
        &mut self,
        message: &Message,
        edits: Vec<Delta>,
        more: Vec<JournalOp>,
        findings: Vec<Finding>,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let (list, place) = (ListKind::Messages, message.place);
        let mut ops = vec![JournalOp::Edit { list, place, id: message.id(), message: None, edits }];
        ops.extend(more);
        self.write(ops, Vec::new(), &now.to_string())?;
        let id = message.id().unwrap_or_default();
        let deferred_error = self.fold_if_due();
        Ok(ChangeOutcome {
            number: message.number,
            id,
            findings,
            deferred_error,
            ..ChangeOutcome::default()
        })
    }
}
