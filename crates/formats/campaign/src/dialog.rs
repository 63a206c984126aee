//! What kind of text a turn has.

use super::error::CampaignError;

/// The kinds of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DialogType {
    /// What is there, and what happens. The default.
    SceneDescription,
    /// The player is asked what to do.
    ActionPrompt,
    /// What came of something.
    ResolutionSummary,
    /// The rules are explained.
    RuleExplanation,
}

impl DialogType {
    /// Every kind there is.
    pub const ALL: [DialogType; 4] = [
        DialogType::SceneDescription,
        DialogType::ActionPrompt,
        DialogType::ResolutionSummary,
        DialogType::RuleExplanation,
    ];

    /// The name that the log has.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DialogType::SceneDescription => "scene_description",
            DialogType::ActionPrompt => "action_prompt",
            DialogType::ResolutionSummary => "resolution_summary",
            DialogType::RuleExplanation => "rule_explanation",
        }
    }

    /// The kind that a narrator means, whatever the case and the space around it.
    #[must_use]
    pub fn parse(text: &str) -> Option<DialogType> {
        let name = text.trim().to_lowercase();
        DialogType::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Who has decided on the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DialogSource {
    Model,
    Fallback,
}

impl DialogSource {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            DialogSource::Model => "model",
            DialogSource::Fallback => "fallback",
        }
    }
}

/// The kind of a text, from what the narrator said of it. With `strict`, it may say nothing, but must not
/// name what nobody knows.
pub(crate) fn resolve(
    given: Option<&str>,
    strict: bool,
) -> Result<(DialogType, DialogSource), CampaignError> {
    let given = given.unwrap_or_default();
    match DialogType::parse(given) {
        Some(kind) => Ok((kind, DialogSource::Model)),
        None if strict && !given.trim().is_empty() => {
            Err(CampaignError::DialogType { given: given.to_owned() })
        }
        None => Ok((DialogType::SceneDescription, DialogSource::Fallback)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: Option<&str>, strict: bool, expect: Option<(&str, &str)>) {
        let found = resolve(given, strict).ok();
        let found = found.map(|(kind, source)| (kind.as_str(), source.as_str()));
        assert_eq!(found, expect, "{given:?}, strict {strict}");
    }

    #[test]
    fn the_narrators_word_counts_if_it_is_known() {
        for kind in DialogType::ALL {
            check(Some(kind.as_str()), true, Some((kind.as_str(), "model")));
        }
        check(Some("  Action_Prompt\n"), false, Some(("action_prompt", "model")));
        check(Some("poem"), false, Some(("scene_description", "fallback")));
        check(Some("poem"), true, None);
        check(Some(" "), true, Some(("scene_description", "fallback")));
        check(None, true, Some(("scene_description", "fallback")));
    }
}
