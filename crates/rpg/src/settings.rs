//! Settings: [`SETTINGS`] lists every [`Setting`] with its [`SettingKind`]; `patch` changes them.

use serde_json::{Value, json};

use super::document_view::CampaignView;
use super::draft::CampaignDraft;
use super::error::RulesError;
use super::generation::{Generation, RuleSet};

/// The possible values of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// `true` or `false`, without conversion from other values.
    Bool,
    /// An integer in a range, both ends included.
    Int {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// One of these strings.
    OneOf(&'static [&'static str]),
}

/// A default value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingDefault {
    Bool(bool),
    Int(i64),
    Text(&'static str),
}

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its key, with dots between the levels.
    pub key: &'static str,
    /// Its possible values.
    pub kind: SettingKind,
    default: SettingDefault,
    /// Whether the first rules have it, too.
    from_the_first: bool,
}

/// The switch of the text check. The first rules of the upstream program do not have it and always check the text:
/// under them it is on unless a campaign says otherwise, and new campaigns do not contain it.
pub(crate) const TEXT_CHECKS: &str = "dialog.conflict_text_checks_enabled";

/// The maximum number of checkpoints of a campaign.
pub const MOST_CHECKPOINTS: i64 = 10;

const fn switch(key: &'static str, default: bool, from_the_first: bool) -> Setting {
    Setting { key, kind: SettingKind::Bool, default: SettingDefault::Bool(default), from_the_first }
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    switch("context.full_context_enabled", true, true),
    switch("context.compress_enabled", false, true),
    switch("rules.hp_zero_ends_game", true, true),
    Setting {
        key: "rollback.max_checkpoints",
        kind: SettingKind::Int { min: 0, max: MOST_CHECKPOINTS },
        default: SettingDefault::Int(0),
        from_the_first: true,
    },
    switch("dialog.auto_type_enabled", true, true),
    switch("dialog.strict_semantic_guard", false, false),
    switch(TEXT_CHECKS, false, false),
    switch("dialog.turn_profile_trace_enabled", false, false),
    Setting {
        key: "characters.fact_generation.draft_mode",
        kind: SettingKind::OneOf(&["deterministic", "llm"]),
        default: SettingDefault::Text("deterministic"),
        from_the_first: false,
    },
];

/// Settings of which at most one may be on.
const EXCLUSIVE: [&str; 2] = ["context.full_context_enabled", "context.compress_enabled"];

impl Setting {
    /// Returns its default value.
    #[must_use]
    pub fn default_value(&self) -> Value {
        match self.default {
            SettingDefault::Bool(value) => value.into(),
            SettingDefault::Int(value) => value.into(),
            SettingDefault::Text(value) => value.into(),
        }
    }

    /// Returns whether campaigns with these rules have it.
    #[must_use]
    pub fn is_known_to(&self, rules: RuleSet) -> bool {
        self.is_in_new(rules) || self.key == TEXT_CHECKS
    }

    /// Returns whether new campaigns with these rules contain it.
    pub(crate) fn is_in_new(&self, rules: RuleSet) -> bool {
        self.from_the_first || rules == RuleSet::Second
    }

    fn refuse(&self, value: &Value) -> Option<String> {
        let fits = match (self.kind, value) {
            (SettingKind::Bool, Value::Bool(_)) => true,
            (SettingKind::Int { min, max }, value) => {
                value.as_i64().is_some_and(|value| (min..=max).contains(&value))
            }
            (SettingKind::OneOf(words), Value::String(word)) => words.contains(&word.as_str()),
            _ => false,
        };
        let wanted = match self.kind {
            SettingKind::Bool => "true or false".to_owned(),
            SettingKind::Int { min, max } => format!("an integer from {min} to {max}"),
            SettingKind::OneOf(words) => format!("one of {}", words.join(", ")),
        };
        (!fits).then(|| format!("{value} is not {wanted}"))
    }

    fn path(&self) -> Vec<&'static str> {
        std::iter::once("settings_snapshot").chain(self.key.split('.')).collect()
    }
}

/// Returns the settings of campaigns with these rules.
pub fn settings(rules: RuleSet) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| setting.is_known_to(rules))
}

/// Returns the default settings.
#[must_use]
pub fn default_settings(rules: RuleSet) -> Value {
    let mut all = json!({});
    for setting in settings(rules).filter(|setting| setting.is_in_new(rules)) {
        let mut place = &mut all;
        for level in setting.key.split('.') {
            if !place.is_object() {
                *place = json!({});
            }
            let Value::Object(fields) = place else { break };
            place = fields.entry(level).or_insert(Value::Null);
        }
        *place = setting.default_value();
    }
    all
}

impl CampaignView<'_> {
    /// Returns the value of a setting, or its default if the document has none.
    pub fn setting(self, setting: &Setting) -> Value {
        let stored = self.tree.value_at(&setting.path()).and_then(|tree| tree.to_value().ok());
        stored.unwrap_or_else(|| self.default_of(setting))
    }

    /// Returns the default of a setting in this generation.
    fn default_of(self, setting: &Setting) -> Value {
        match setting.key == TEXT_CHECKS && self.generation == Generation::First {
            true => true.into(),
            false => setting.default_value(),
        }
    }

    /// Returns whether a switch is on. A value that is not a boolean counts as the default.
    pub fn is_on(self, key: &str) -> bool {
        let setting = SETTINGS.iter().find(|setting| setting.key == key);
        setting.is_some_and(|setting| {
            self.setting(setting).as_bool().unwrap_or_else(|| self.default_of(setting) == true)
        })
    }

    /// Returns the maximum number of checkpoints.
    pub fn max_checkpoints(self) -> usize {
        let stored = self.integer(&["settings_snapshot", "rollback", "max_checkpoints"]);
        usize::try_from(stored.unwrap_or(0).clamp(0, MOST_CHECKPOINTS)).unwrap_or(0)
    }
}

/// Applies a patch to a draft atomically: an invalid patch changes nothing. Returns the changed keys; if there are any,
/// `settings_revision` is incremented.
pub fn patch(
    draft: &mut CampaignDraft,
    changes: &[(String, Value)],
) -> Result<Vec<&'static str>, RulesError> {
    let rules = draft.view().generation.rules();
    let refuse = |key: &str, reason: String| RulesError::Setting { key: key.to_owned(), reason };
    let mut wanted = Vec::new();
    for (key, value) in changes {
        let setting = settings(rules).find(|setting| setting.key == key);
        let setting = setting.ok_or_else(|| refuse(key, "unknown setting".to_owned()))?;
        if let Some(reason) = setting.refuse(value) {
            return Err(refuse(key, reason));
        }
        wanted.push((setting, value));
    }
    // The whole result is validated: a setting outside the patch may have been invalid before.
    let after = |setting: &Setting| {
        let given = wanted.iter().rev().find(|(other, _)| other.key == setting.key);
        given.map_or_else(|| draft.view().setting(setting), |(_, value)| (*value).clone())
    };
    for setting in settings(rules) {
        if let Some(reason) = setting.refuse(&after(setting)) {
            return Err(refuse(setting.key, reason));
        }
    }
    let on = SETTINGS.iter().filter(|setting| EXCLUSIVE.contains(&setting.key));
    if on.filter(|setting| after(setting) == true).count() > 1 {
        let [first, second] = EXCLUSIVE;
        return Err(refuse(first, format!("cannot be true together with {second}")));
    }
    let all = settings(rules).map(|setting| (setting, after(setting)));
    let different = all.filter(|(setting, value)| draft.view().setting(setting) != *value);
    let different: Vec<(&Setting, Value)> = different.collect();
    let mut changed = Vec::new();
    for (setting, value) in different {
        draft.set(&setting.path(), &value)?;
        changed.push(setting.key);
    }
    if !changed.is_empty() {
        let revision = draft.view().settings_revision().saturating_add(1);
        draft.set(&["settings_revision"], &revision)?;
    }
    Ok(changed)
}
