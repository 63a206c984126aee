//! Applies the tags of messages to tools.

use std::collections::HashMap;

use jiff::Timestamp;

use super::{ChangeOutcome, ChatWriter, snapshot_values};
use crate::error::ChatError;
use crate::journal::JournalOp;
use crate::message::text_of;
use crate::survey::ListKind;
use crate::tags::{TagAction, ToolTag, tags, without};
use crate::tools::{
    ComponentChange as ToolChange, FiredTrigger, Tool, ToolState, carry_out, tools_of,
};
use everturn_json::finding::{Finding, FindingCode};
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::tree::JsonTree;

/// A message after its tags were applied, with their results.
pub(super) struct AppliedTags {
    pub(super) message: JsonTree,
    pub(super) snapshots: Vec<JournalOp>,
    pub(super) fired: Vec<FiredTrigger>,
    pub(super) findings: Vec<Finding>,
}

/// Tools while they are being changed.
struct ToolUpdates {
    tools: Vec<Tool>,
    states: HashMap<String, ToolState>,
    changes: Vec<(String, Vec<ToolChange>)>,
}

impl ToolUpdates {
    /// The tool that has a component: the one named in the tag, or the first that has it.
    fn tool_with(&self, tag: &ToolTag) -> Result<&Tool, String> {
        let has = |tool: &&Tool| {
            let noted = self.states.get(&tool.id).is_some_and(|state| state.get(&tag.id).is_some());
            noted || tool.component(&tag.id).is_some()
        };
        let asked = |tool: &&Tool| tag.tool.as_ref().is_none_or(|id| *id == tool.id);
        let found = self.tools.iter().filter(asked).find(has);
        found.ok_or_else(|| match &tag.tool {
            Some(tool) => format!("the tool {tool:?} has no component {:?}", tag.id),
            None => format!("no tool has a component {:?}", tag.id),
        })
    }

    fn carry_out(&mut self, tag: &ToolTag) -> Result<(Vec<FiredTrigger>, Option<String>), String> {
        let tool = self.tool_with(tag)?.clone();
        let Some(state) = self.states.get_mut(&tool.id) else { return Ok((Vec::new(), None)) };
        let outcome = carry_out(&tool, state, tag)?;
        let before = state.get(&tag.id).cloned().unwrap_or_else(JsonTree::null);
        if before.is_same(&outcome.value) {
            return Ok((Vec::new(), outcome.odd));
        }
        state.set(&tag.id, outcome.value.clone());
        let change = ToolChange {
            component: tag.id.clone(),
            before,
            after: outcome.value,
            cause: tag.reason.clone(),
        };
        match self.changes.iter_mut().find(|(id, _)| *id == tool.id) {
            Some((_, changes)) => changes.push(change),
            None => self.changes.push((tool.id, vec![change])),
        }
        Ok((outcome.fired, outcome.odd))
    }
}

impl ToolUpdates {
    /// Sets the states of tools.
    fn set_states(
        &mut self,
        to: &dyn Fn(&Tool) -> Result<Option<ToolState>, ChatError>,
        cause: &str,
    ) -> Result<(), ChatError> {
        for tool in &self.tools {
            let Some(wanted) = to(tool)? else { continue };
            let Some(state) = self.states.get_mut(&tool.id) else { continue };
            let mut changes = Vec::new();
            for (component, after) in wanted.values {
                let before = state.get(&component).cloned().unwrap_or_else(JsonTree::null);
                if !before.is_same(&after) {
                    state.set(&component, after.clone());
                    changes.push(ToolChange {
                        component,
                        before,
                        after,
                        cause: Some(cause.to_owned()),
                    });
                }
            }
            if !changes.is_empty() {
                self.changes.push((tool.id.clone(), changes));
            }
        }
        Ok(())
    }
}

impl ChatWriter {
    fn load_tools(
        &self,
        number: u64,
        findings: &mut Vec<Finding>,
    ) -> Result<ToolUpdates, ChatError> {
        let tools = tools_of(&self.log, findings)?;
        let mut states = HashMap::new();
        for tool in &tools {
            states.insert(tool.id.clone(), self.log.tool_state(tool, number)?);
        }
        Ok(ToolUpdates { tools, states, changes: Vec::new() })
    }

    fn tag_finding(&self, id: &str, what: &str) -> Finding {
        Finding::new(
            &self.log.files.document,
            FindingCode::OddTag,
            format!("in message {id}: {what}"),
        )
    }

    /// Applies the tags of a narrator's message for a place. If the message is regenerated, the tools are first reset
    /// to their states after the message before it.
    pub(super) fn apply_tags(
        &self,
        message: JsonTree,
        place: u64,
        anew: Option<u64>,
        at: &str,
    ) -> Result<AppliedTags, ChatError> {
        let mut told =
            AppliedTags { message, snapshots: Vec::new(), fired: Vec::new(), findings: Vec::new() };
        let narrates = told.message.string_at(&["type"]).as_deref() == Some("narrator");
        let words = text_of(&told.message);
        let found = if narrates { tags(&words) } else { Vec::new() };
        if found.is_empty() && anew.is_none() {
            return Ok(told);
        }
        let id = told.message.string_at(&["id"]).unwrap_or_default();
        let mut bench = self.load_tools(self.log.len(), &mut told.findings)?;
        if let Some(number) = anew {
            let before = |tool: &Tool| self.log.tool_state(tool, number - 1).map(Some);
            bench.set_states(&before, "the message was regenerated")?;
        }
        let mut done = Vec::new();
        for tag in found {
            let tag = match tag {
                Ok(tag) => tag,
                Err(odd) => {
                    let what = format!("invalid tool tag: {}", odd.reason);
                    told.findings.push(self.tag_finding(&id, &what));
                    continue;
                }
            };
            match bench.carry_out(&tag) {
                Ok((fired, odd)) => {
                    let odd = odd.map(|odd| format!("component {}: {odd}", tag.id));
                    told.findings.extend(odd.map(|odd| self.tag_finding(&id, &odd)));
                    told.fired.extend(fired);
                    done.push(tag.span);
                }
                Err(reason) => {
                    let what = format!("a tool tag cannot be applied: {reason}");
                    told.findings.push(self.tag_finding(&id, &what));
                }
            }
        }
        if !done.is_empty() {
            let rest = without(&words, &done);
            let rest = JsonTree::from_value(&rest).unwrap_or_else(|_| JsonTree::null());
            let edit = Delta::set(DeltaPath::array(["content", "text"]), rest);
            let failed =
                |error: everturn_value::delta::DeltaError| ChatError::input(error.to_string());
            edit.apply(&mut told.message).map_err(failed)?;
        }
        told.snapshots = self.snapshots(&bench, &id, place, at)?;
        Ok(told)
    }

    /// The snapshots that record the changes.
    fn snapshots(
        &self,
        bench: &ToolUpdates,
        message: &str,
        place: u64,
        at: &str,
    ) -> Result<Vec<JournalOp>, ChatError> {
        let mut ops = Vec::new();
        let mut last = self.log.last_snapshot_place();
        let mut number = last;
        for (tool, changes) in &bench.changes {
            let Some(state) = bench.states.get(tool) else { continue };
            let id = self.free_id(ListKind::Snapshots, "snapshot", 4, number)?;
            // Two snapshots of one message must not get the same id.
            number =
                id.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(number + 1);
            last += 1;
            let quoted = |text: &str| JsonTree::from_value(text).map(|tree| tree.to_line());
            let texts = [quoted(&id), quoted(at), quoted(message), quoted(tool)];
            let [id, time, message, tool] = texts.map(Result::unwrap_or_default);
            let text = format!(
                "{{\"id\":{id},\"timestamp\":{time},\"message_id\":{message},\"tool_id\":{tool},\
                 \"state\":{},\"changes\":{}}}",
                state.to_text(),
                ToolChange::all_to_text(changes, state.shape)
            );
            let value = JsonTree::parse(text).map_err(|bad| ChatError::input(bad.to_string()))?;
            ops.push(JournalOp::Snapshot { place: last, message: place, value });
        }
        Ok(ops)
    }

    /// The snapshots that take tools from their states after the last message to other states.
    pub(super) fn set_tool_states(
        &self,
        to: &dyn Fn(&Tool) -> Result<Option<ToolState>, ChatError>,
        message: (&str, u64),
        cause: &str,
        at: &str,
    ) -> Result<Vec<JournalOp>, ChatError> {
        let mut bench = self.load_tools(self.log.len(), &mut Vec::new())?;
        bench.set_states(to, cause)?;
        self.snapshots(&bench, message.0, message.1, at)
    }

    /// Changes a component of a tool, as a tag would, and records it with the last message.
    pub fn update_tool(
        &mut self,
        tag: &ToolTag,
        now: Timestamp,
    ) -> Result<ChangeOutcome, ChatError> {
        let (at, number) = (now.to_string(), self.log.len());
        let id = match number {
            0 => String::new(),
            number => self.log.message(number)?.id().unwrap_or_default(),
        };
        let mut findings = Vec::new();
        let mut bench = self.load_tools(number, &mut findings)?;
        let (fired, odd) = bench.carry_out(tag).map_err(ChatError::input)?;
        let odd = odd.map(|odd| format!("component {}: {odd}", tag.id));
        findings.extend(odd.map(|odd| self.tag_finding(&id, &odd)));
        let ops = self.snapshots(&bench, &id, self.log.place_of(number)?, &at)?;
        let snapshots = snapshot_values(&ops);
        let made = snapshots.first().and_then(|snapshot| snapshot.string_at(&["id"]));
        if !ops.is_empty() {
            self.write(ops, Vec::new(), &at)?;
        }
        let id = made.unwrap_or_default();
        Ok(ChangeOutcome { number, id, fired, snapshots, findings, deferred_error: None })
    }
}

impl ToolTag {
    /// A change that does not come from a text.
    #[must_use]
    pub fn new(action: TagAction, component: &str, value: &str, reason: Option<&str>) -> ToolTag {
        let reason = reason.map(str::to_owned);
        ToolTag {
            span: 0..0,
            action,
            id: component.to_owned(),
            value: value.to_owned(),
            reason,
            tool: None,
        }
    }
}
