//! The dialog type of a turn's text: [`DialogType`].

use super::error::RulesError;

/// The types of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DialogType {
    /// A description of the scene and of events. The default.
    SceneDescription,
    /// A question to the player about the next action.
    ActionPrompt,
    /// The outcome of an action.
    ResolutionSummary,
    /// An explanation of the rules.
    RuleExplanation,
}

impl DialogType {
    /// All types.
    pub const ALL: [DialogType; 4] = [
        DialogType::SceneDescription,
        DialogType::ActionPrompt,
        DialogType::ResolutionSummary,
        DialogType::RuleExplanation,
    ];

    /// Returns the name used in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DialogType::SceneDescription => "scene_description",
            DialogType::ActionPrompt => "action_prompt",
            DialogType::ResolutionSummary => "resolution_summary",
            DialogType::RuleExplanation => "rule_explanation",
        }
    }

    /// Parses the type, ignoring case and surrounding whitespace.
    #[must_use]
    pub fn parse(text: &str) -> Option<DialogType> {
        let name = text.trim().to_lowercase();
        DialogType::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The origin of a dialog type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogSource {
    /// The narrator named it.
    Model,
    /// The narrator named none, or an unknown one.
    Fallback,
}

impl DialogSource {
    /// Returns the name used in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DialogSource::Model => "model",
            DialogSource::Fallback => "fallback",
        }
    }
}

/// Resolves the dialog type given by the narrator. With `strict`, it may be missing, but an unknown type is an error.
pub(crate) fn resolve(
    given: Option<&str>,
    strict: bool,
) -> Result<(DialogType, DialogSource), RulesError> {
    let given = given.unwrap_or_default();
    match DialogType::parse(given) {
        Some(kind) => Ok((kind, DialogSource::Model)),
        None if strict && !given.trim().is_empty() => {
            Err(RulesError::DialogType { given: given.to_owned() })
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
