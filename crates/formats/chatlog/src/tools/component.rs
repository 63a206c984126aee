//! A component of a tool: the type of its value, how it is shown, and its triggers.
//!
//! A [`Component`] has a [`ComponentKind`]; a change of it may fire a `Trigger`, which is reported as a
//! [`FiredTrigger`].

use everturn_value::tree::{JsonTree, ValueKind};

/// The type of a component's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentKind {
    /// A number.
    Numeric,
    /// A text.
    Text,
    /// A number on a scale.
    Progress,
    /// On or off.
    Toggle,
    /// A list of texts.
    List,
    /// A table.
    Grid,
    /// Any value.
    Custom,
    /// An unknown type, as named in the definition.
    Other(String),
}

impl ComponentKind {
    fn parse(name: &str) -> ComponentKind {
        match name {
            "numeric" => ComponentKind::Numeric,
            "text" => ComponentKind::Text,
            "progress" => ComponentKind::Progress,
            "toggle" => ComponentKind::Toggle,
            "list" => ComponentKind::List,
            "grid" => ComponentKind::Grid,
            "custom" => ComponentKind::Custom,
            other => ComponentKind::Other(other.to_owned()),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, ComponentKind::Numeric | ComponentKind::Progress)
    }
}

/// A trigger that a change has fired. The caller decides what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiredTrigger {
    /// The tool.
    pub tool: String,
    /// The component.
    pub component: String,
    /// The action in the definition.
    pub action: String,
    /// The target of the action, if given.
    pub target: Option<String>,
    /// The message of the trigger.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TriggerCondition {
    /// On every change.
    Always,
    More,
    Less,
    /// When the value comes into this relation to a number.
    Reaches(Comparison, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Comparison {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Comparison::Above => value > bound,
            Comparison::AtLeast => value >= bound,
            Comparison::Below => value < bound,
            Comparison::AtMost => value <= bound,
            Comparison::Equal => (value - bound).abs() < f64::EPSILON * bound.abs().max(1.0),
        }
    }
}

#[derive(Debug, Clone)]
struct Trigger {
    when: TriggerCondition,
    action: String,
    target: Option<String>,
    message: String,
}

impl Trigger {
    fn new(entry: &JsonTree, when: TriggerCondition) -> Trigger {
        let text = |key: &str| entry.string_at(&[key]);
        let action = text("action").unwrap_or_default();
        Trigger {
            when,
            action,
            target: text("target"),
            message: text("message").unwrap_or_default(),
        }
    }

    /// `{threshold, condition: above|below|equal, …}`
    fn of_threshold(entry: &JsonTree) -> Option<Trigger> {
        let bound = plain(&entry.value_at(&["threshold"])?);
        bound.parse::<f64>().ok()?;
        let relation = match entry.string_at(&["condition"])?.as_str() {
            "above" => Comparison::Above,
            "below" => Comparison::Below,
            "equal" => Comparison::Equal,
            _ => return None,
        };
        Some(Trigger::new(entry, TriggerCondition::Reaches(relation, bound)))
    }

    /// `{condition, …}`, where the condition is missing, `increase`, `decrease`, or a comparison such as `> 5`.
    fn of_change(entry: &JsonTree) -> Option<Trigger> {
        let condition = entry.string_at(&["condition"]).unwrap_or_default();
        let condition = condition.trim().trim_start_matches("value").trim();
        let when = match condition {
            "" | "any" | "always" | "change" => TriggerCondition::Always,
            "increase" | "increased" => TriggerCondition::More,
            "decrease" | "decreased" => TriggerCondition::Less,
            _ => {
                let signs = [
                    (">=", Comparison::AtLeast),
                    ("<=", Comparison::AtMost),
                    ("==", Comparison::Equal),
                    (">", Comparison::Above),
                    ("<", Comparison::Below),
                ];
                let (sign, relation) =
                    signs.iter().find(|(sign, _)| condition.starts_with(sign))?;
                let bound = condition.strip_prefix(sign)?.trim();
                bound.parse::<f64>().ok()?;
                TriggerCondition::Reaches(*relation, bound.to_owned())
            }
        };
        Some(Trigger::new(entry, when))
    }

    fn fires(&self, before: Option<f64>, after: Option<f64>) -> bool {
        match (&self.when, before, after) {
            (TriggerCondition::Always, _, _) => true,
            (TriggerCondition::More, Some(before), Some(after)) => after > before,
            (TriggerCondition::Less, Some(before), Some(after)) => after < before,
            (TriggerCondition::Reaches(relation, bound), before, Some(after)) => {
                let bound = bound.parse().unwrap_or(f64::NAN);
                relation.holds(after, bound)
                    && !before.is_some_and(|value| relation.holds(value, bound))
            }
            _ => false,
        }
    }
}

/// A component of a tool.
#[derive(Debug, Clone)]
pub struct Component {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub kind: ComponentKind,
    /// Its initial value.
    pub default: JsonTree,
    format: Option<String>,
    min: Option<String>,
    max: Option<String>,
    triggers: Vec<Trigger>,
}

/// A value in readable form.
fn plain(value: &JsonTree) -> String {
    value.string_at::<&str>(&[]).unwrap_or_else(|| value.to_line())
}

fn number(value: &JsonTree) -> Option<f64> {
    plain(value).trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn text(value: &str) -> JsonTree {
    JsonTree::from_value(value).unwrap_or_else(|_| JsonTree::null())
}

impl Component {
    /// The components of a definition.
    pub(crate) fn all(definition: &JsonTree) -> Vec<Component> {
        let list = definition
            .value_at(&["components"])
            .or_else(|| definition.value_at(&["tool", "components"]));
        let list = list.map(|list| list.children()).unwrap_or_default();
        list.iter().filter_map(|(_, entry)| Component::parse(entry)).collect()
    }

    fn parse(entry: &JsonTree) -> Option<Component> {
        let id = entry.string_at(&["id"])?;
        let kind = ComponentKind::parse(&entry.string_at(&["type"]).unwrap_or_default());
        let default =
            entry.value_at(&["default_value"]).or_else(|| entry.value_at(&["current_value"]));
        let default = default.filter(|value| !value.is_null()).unwrap_or_else(|| match &kind {
            ComponentKind::List => JsonTree::parse("[]").unwrap_or_else(|_| JsonTree::null()),
            ComponentKind::Toggle => JsonTree::parse("false").unwrap_or_else(|_| JsonTree::null()),
            kind if kind.is_number() => JsonTree::parse("0").unwrap_or_else(|_| JsonTree::null()),
            ComponentKind::Text => text(""),
            _ => JsonTree::null(),
        });
        let bound = |key: &str| {
            let bound = plain(&entry.value_at(&["display", key])?);
            bound.parse::<f64>().ok().map(|_| bound)
        };
        let list = |key: &str| {
            let list = entry.value_at(&["triggers", key]).map(|list| list.children());
            list.unwrap_or_default()
        };
        let changes = list("on_change");
        let thresholds = list("on_threshold");
        let triggers = changes.iter().filter_map(|(_, entry)| Trigger::of_change(entry));
        let triggers =
            triggers.chain(thresholds.iter().filter_map(|(_, entry)| Trigger::of_threshold(entry)));
        Some(Component {
            name: entry.string_at(&["name"]).unwrap_or_else(|| id.clone()),
            kind,
            default,
            format: entry.string_at(&["display", "format"]),
            min: bound("min"),
            max: bound("max"),
            triggers: triggers.collect(),
            id,
        })
    }

    /// A component that is known only by its value.
    pub(crate) fn guessed(id: &str, value: &JsonTree) -> Component {
        let kind = match value.kind() {
            ValueKind::Array => ComponentKind::List,
            ValueKind::Number => ComponentKind::Numeric,
            ValueKind::Bool => ComponentKind::Toggle,
            ValueKind::Object => ComponentKind::Custom,
            ValueKind::String | ValueKind::Null => ComponentKind::Text,
        };
        Component {
            id: id.to_owned(),
            name: id.to_owned(),
            kind,
            default: JsonTree::null(),
            format: None,
            min: None,
            max: None,
            triggers: Vec::new(),
        }
    }

    /// A value in the display format of the definition.
    #[must_use]
    pub fn shown(&self, value: &JsonTree) -> String {
        let format = self.format.as_deref().unwrap_or("{value}");
        let bound = |bound: &Option<String>| bound.clone().unwrap_or_default();
        format
            .replace("{min}", &bound(&self.min))
            .replace("{max}", &bound(&self.max))
            .replace("{value}", &plain(value))
    }

    /// Parses a text as a value. A former string stays a string, because numbers are often stored as strings.
    pub(crate) fn value_of(&self, given: &str, before: &JsonTree) -> Result<JsonTree, String> {
        let was_text = before.kind() == ValueKind::String
            || (before.is_null() && self.default.kind() == ValueKind::String);
        match &self.kind {
            kind if kind.is_number() => {
                let given = given.trim();
                let number = given.parse::<f64>().ok().filter(|number| number.is_finite());
                let number = number.ok_or_else(|| format!("{given:?} is not a number"))?;
                match JsonTree::parse(given) {
                    _ if was_text => Ok(text(given)),
                    Ok(tree) if tree.kind() == ValueKind::Number => Ok(tree),
                    _ => JsonTree::from_value(&number).map_err(|error| error.to_string()),
                }
            }
            ComponentKind::Toggle => {
                let on = match given.trim().to_ascii_lowercase().as_str() {
                    "true" | "on" | "yes" | "1" => true,
                    "false" | "off" | "no" | "0" => false,
                    _ => return Err(format!("{given:?} is neither on nor off")),
                };
                if was_text {
                    Ok(text(given.trim()))
                } else {
                    JsonTree::from_value(&on).map_err(|e| e.to_string())
                }
            }
            ComponentKind::List => match JsonTree::parse(given) {
                Ok(tree) if tree.kind() == ValueKind::Array => Ok(tree),
                _ => Err("use tool:add to add an element, or give a JSON array".to_owned()),
            },
            ComponentKind::Text => Ok(text(given)),
            _ => Ok(match JsonTree::parse(given) {
                Ok(tree) if matches!(tree.kind(), ValueKind::Array | ValueKind::Object) => tree,
                _ => text(given),
            }),
        }
    }

    /// The list with a new element.
    pub(crate) fn with_element(&self, given: &str, before: &JsonTree) -> Result<JsonTree, String> {
        let list = match before.kind() {
            ValueKind::Array => before.clone(),
            ValueKind::Null if self.kind == ComponentKind::List => self.default.clone(),
            _ => return Err("elements can be added to list components only".to_owned()),
        };
        let elements = list.children();
        let mut texts: Vec<String> =
            elements.iter().map(|(_, element)| element.to_line()).collect();
        texts.push(text(given).to_line());
        JsonTree::parse(format!("[{}]", texts.join(","))).map_err(|bad| bad.to_string())
    }

    /// The warning for a value that is out of range.
    pub(crate) fn outside(&self, value: &JsonTree) -> Option<String> {
        let number = number(value).filter(|_| self.kind.is_number())?;
        let bound =
            |bound: &Option<String>| bound.as_ref().and_then(|bound| bound.parse::<f64>().ok());
        let low = bound(&self.min).is_some_and(|min| number < min);
        let high = bound(&self.max).is_some_and(|max| number > max);
        (low || high).then(|| format!("{} is out of range", plain(value)))
    }

    /// The triggers that a change fires.
    pub(crate) fn fires(
        &self,
        tool: &str,
        before: &JsonTree,
        after: &JsonTree,
    ) -> Vec<FiredTrigger> {
        if before.is_same(after) {
            return Vec::new();
        }
        let (before, after) = (number(before), number(after));
        let fired = self.triggers.iter().filter(|trigger| trigger.fires(before, after));
        fired
            .map(|trigger| FiredTrigger {
                tool: tool.to_owned(),
                component: self.id.clone(),
                action: trigger.action.clone(),
                target: trigger.target.clone(),
                message: trigger.message.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> JsonTree {
        JsonTree::parse(text).unwrap()
    }

    fn component(text: &str) -> Component {
        Component::parse(&tree(text)).unwrap()
    }

    fn check(kind: &str, before: &str, given: &str, expect: Result<&str, &str>) {
        let component = component(&format!(r#"{{"id":"a","type":"{kind}"}}"#));
        let got = component.value_of(given, &tree(before)).map(|value| value.to_line());
        assert_eq!(got.as_deref().map_err(String::as_str), expect, "{kind} {before} {given}");
    }

    #[test]
    fn values_have_the_kind_of_their_component() {
        check("numeric", "1", "2", Ok("2"));
        check("numeric", "\"1\"", "2", Ok("\"2\""));
        check("numeric", "1", "+2.50", Ok("2.5"));
        check("numeric", "1", "two", Err("\"two\" is not a number"));
        check("progress", "1", "inf", Err("\"inf\" is not a number"));
        check("toggle", "false", "on", Ok("true"));
        check("toggle", "\"no\"", "yes", Ok("\"yes\""));
        check("toggle", "false", "maybe", Err("\"maybe\" is neither on nor off"));
        check("text", "\"x\"", "[1]", Ok("\"[1]\""));
        check("grid", "null", "[[1,2],[3,4]]", Ok("[[1,2],[3,4]]"));
        check("custom", "null", "word", Ok("\"word\""));
        check("list", "[]", "[\"a\"]", Ok("[\"a\"]"));
        check("list", "[]", "a", Err("use tool:add to add an element, or give a JSON array"));
    }

    #[test]
    fn values_are_shown_as_the_definition_says() {
        let shown = component(
            r#"{"id":"a","type":"progress","display":{"format":"{value} of {max}","min":0,"max":"10"}}"#,
        );
        assert_eq!(shown.shown(&tree("\"7\"")), "7 of 10");
        assert_eq!(shown.outside(&tree("\"11\"")).as_deref(), Some("11 is out of range"));
        let free = component(r#"{"id":"a","type":"numeric","display":{"max":"unlimited"}}"#);
        assert_eq!((free.shown(&tree("3")), free.outside(&tree("1e9"))), ("3".to_owned(), None));
    }

    #[test]
    fn a_threshold_fires_when_it_is_crossed_and_not_while_it_is_passed() {
        let gauge = component(
            r#"{"id":"a","type":"numeric","triggers":{
                "on_threshold":[{"threshold":"10","condition":"above","action":"warn","message":"hot"},
                    {"threshold":0,"condition":"equal","message":"zero"}],
                "on_change":[{"condition":"decrease","message":"less"},{"condition":"value >= 20","message":"much"},
                    {"condition":"who knows","message":"never"}]}}"#,
        );
        let fires = |before: &str, after: &str| {
            let fired = gauge.fires("t", &tree(before), &tree(after));
            fired.into_iter().map(|fired| fired.message).collect::<Vec<_>>()
        };
        assert_eq!(fires("9", "11"), ["hot"]);
        assert_eq!(fires("\"9\"", "\"25\""), ["much", "hot"]);
        assert_eq!(fires("11", "12"), [""; 0]);
        assert_eq!(fires("12", "0"), ["less", "zero"]);
        assert_eq!(fires("12", "12.0"), [""; 0]);
    }
}
