//! A session of OpenCode while it is being read.

use super::message::{add_usage, record_info};
use crate::blocks::any_time_at;
use crate::record::{EntryDraft, Parent, RecordInfo};
use crate::survey::{ScannedRecord, Survey, Surveyor, title};
use crate::thread_tree::{ForkPolicy, Placement};
use everturn_session::model::SessionUsage;
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;

/// A session while it is being read.
#[derive(Default)]
pub(super) struct OpenCodeConversation {
    last: Option<u32>,
    /// The end of the main line, if messages after it were reverted.
    tip: Option<Option<u32>>,
    usage: SessionUsage,
    named: Option<String>,
    parent: Option<String>,
    /// The record with the session info.
    info: Option<u32>,
    reverted: Option<String>,
    /// Whether only parts of the reverted message were reverted, and the message itself stays.
    keeps_reverted: bool,
}

impl OpenCodeConversation {
    /// Keeps the session info of the program.
    pub(super) fn begin(
        &mut self,
        surveyor: &mut Surveyor,
        seen: &ScannedRecord<'_>,
        info: &JsonTree,
    ) {
        let mut look = RecordInfo::from_drafts(vec![EntryDraft::bookkeeping("session", "")]);
        look.time = any_time_at(info, &["time", "created"]);
        let number = surveyor.add(seen, &look, Parent::Root);
        if let Some(node) = surveyor.node(number) {
            node.placement = Placement::Aside;
        }
        surveyor.survey.updated =
            surveyor.survey.updated.max(any_time_at(info, &["time", "updated"]));
        self.named = text_at(info, &["title"]).and_then(|text| title(&text));
        self.parent = text_at(info, &["parentID"]);
        self.info = Some(number);
        self.reverted = text_at(info, &["revert", "messageID"]);
        self.keeps_reverted = text_at(info, &["revert", "partID"]).is_some();
    }

    pub(super) fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let look = record_info(seen.tree);
        let parent = self.last.map_or(Parent::Root, Parent::Number);
        let number = surveyor.add(seen, &look, parent);
        if look.id.is_some() && look.id == self.reverted {
            self.tip = Some(if self.keeps_reverted { Some(number) } else { self.last });
        }
        self.last = Some(number);
        add_usage(&mut self.usage, seen.tree);
    }

    pub(super) fn finish(self, mut surveyor: Surveyor) -> Survey {
        surveyor.survey.usage = (!self.usage.models.is_empty()).then_some(self.usage);
        let tip = match self.tip {
            // Every message was reverted: only the session info is left.
            Some(None) => self.info,
            Some(tip) => tip,
            None => self.last,
        };
        if let Some(node) =
            tip.filter(|tip| Some(*tip) == self.info).and_then(|tip| surveyor.node(tip))
        {
            node.placement = Placement::Chained;
        }
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, tip);
        survey.title = self.named.or(survey.title);
        // Only helpers have a parent: a fork is a session of its own.
        survey.is_helper = self.parent.is_some();
        survey.parent = self.parent;
        survey
    }
}
