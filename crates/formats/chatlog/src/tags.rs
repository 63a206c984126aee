//! Tags with which a narrator changes tools: `<tool:update id="…" value="…" reason="…">` and `<tool:add …>`.
//!
//! [`tags`] parses a text into [`ToolTag`] and [`InvalidTag`] values.

use std::ops::Range;

/// The action of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagAction {
    /// Sets the value of a component.
    Update,
    /// Adds an element to a list.
    Add,
}

/// A valid tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTag {
    /// Its position in the text.
    pub span: Range<usize>,
    /// Its action.
    pub action: TagAction,
    /// The id of the component.
    pub id: String,
    /// The value.
    pub value: String,
    /// The reason, if given.
    pub reason: Option<String>,
    /// The tool that the component belongs to, if given.
    pub tool: Option<String>,
}

/// An invalid tag. It stays in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidTag {
    /// The offset of its start.
    pub at: usize,
    /// What is wrong with it.
    pub reason: String,
}

const START: &str = "<tool:";

/// All tags in a text, in order.
///
/// Attributes may come in any order, with either kind of quotes or, if they have no spaces, without; the end may be `>`
/// or `/>`. A value is required, but may be empty.
///
/// ```
/// use everturn_chatlog::{TagAction, tags};
///
/// let found = tags("The bell tolls. <tool:update value='3' id=\"bell\">");
/// let tag = found[0].as_ref().unwrap();
/// assert_eq!((tag.action, tag.id.as_str(), tag.value.as_str()), (TagAction::Update, "bell", "3"));
/// assert!(tags("<tool:update id='bell'>")[0].is_err());
/// ```
#[must_use]
pub fn tags(text: &str) -> Vec<Result<ToolTag, InvalidTag>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = find_start(text, at) {
        let parsed = parse(text, start);
        at = match &parsed {
            Ok(tag) => tag.span.end,
            Err(_) => start + START.len(),
        };
        found.push(parsed);
    }
    found
}

fn find_start(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    let starts = |window: &[u8]| window.eq_ignore_ascii_case(START.as_bytes());
    rest.windows(START.len()).position(starts).map(|at| from + at)
}

/// The position in a text while a tag is parsed.
struct TagCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> TagCursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn eat(&mut self, token: &str) -> bool {
        let is = self.rest().starts_with(token);
        if is {
            self.at += token.len();
        }
        is
    }

    fn value(&mut self) -> Result<String, String> {
        for quote in ["\"", "'"] {
            if self.eat(quote) {
                let rest = self.rest();
                let end = rest.find(quote).ok_or("a quote is not closed")?;
                self.at += end + quote.len();
                return Ok(unescaped(rest.get(..end).unwrap_or_default()));
            }
        }
        let bare = self.take(|c| !c.is_whitespace() && !matches!(c, '>' | '"' | '\'' | '='));
        // The end of a self-closing tag is not part of a value.
        if bare.ends_with('/') && self.rest().starts_with('>') {
            self.at -= 1;
            return Ok(unescaped(bare.trim_end_matches('/')));
        }
        Ok(unescaped(bare))
    }
}

/// Decodes the character references in a value.
fn unescaped(value: &str) -> String {
    let named = [("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">")];
    let text = named.iter().fold(value.to_owned(), |text, (name, sign)| text.replace(name, sign));
    text.replace("&amp;", "&")
}

fn parse(text: &str, start: usize) -> Result<ToolTag, InvalidTag> {
    let odd = |reason: String| InvalidTag { at: start, reason };
    let mut cursor = TagCursor { text, at: start + START.len() };
    let name = cursor.take(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let action = match name.to_ascii_lowercase().as_str() {
        "update" => TagAction::Update,
        "add" => TagAction::Add,
        _ => return Err(odd(format!("unknown tool action {name:?}"))),
    };
    let mut attributes: Vec<(String, String)> = Vec::new();
    loop {
        let space = cursor.take(char::is_whitespace);
        if cursor.eat("/>") || cursor.eat(">") {
            break;
        }
        let key = cursor.take(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if key.is_empty() || space.is_empty() {
            let what = cursor.rest().chars().next();
            return Err(odd(match what {
                Some(sign) => format!("unexpected {sign:?}"),
                None => "the tag is not closed".to_owned(),
            }));
        }
        cursor.take(char::is_whitespace);
        if !cursor.eat("=") {
            return Err(odd(format!("{key} has no value")));
        }
        cursor.take(char::is_whitespace);
        let value = cursor.value().map_err(odd)?;
        let key = key.to_ascii_lowercase();
        if attributes.iter().any(|(known, _)| *known == key) {
            return Err(odd(format!("duplicate attribute {key}")));
        }
        attributes.push((key, value));
    }
    let closing = format!("</tool:{name}>");
    cursor.eat(&closing);
    let mut take = |key: &str| {
        let at = attributes.iter().position(|(known, _)| known == key)?;
        Some(attributes.swap_remove(at).1)
    };
    let id = take("id").filter(|id| !id.trim().is_empty());
    let id = id.ok_or_else(|| odd("it has no id".to_owned()))?;
    let value = take("value").ok_or_else(|| odd("it has no value".to_owned()))?;
    let (reason, tool) = (take("reason"), take("tool"));
    Ok(ToolTag { span: start..cursor.at, action, id, value, reason, tool })
}

/// A text without some ranges; a line with nothing else is removed with them.
pub(crate) fn without(text: &str, spans: &[Range<usize>]) -> String {
    if spans.is_empty() {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let mut rest = String::new();
        let mut from = start;
        for span in spans.iter().filter(|span| span.start < end && span.end > start) {
            rest.push_str(text.get(from..span.start.max(from)).unwrap_or_default());
            from = span.end.min(end).max(from);
        }
        let touched = from != start || spans.iter().any(|span| span.contains(&start));
        rest.push_str(text.get(from..end).unwrap_or_default());
        if !(touched && rest.trim().is_empty()) {
            let line_end = if line.ends_with('\n') { "\n" } else { "" };
            match touched {
                true => out.push_str(&format!("{}{line_end}", rest.trim_end())),
                false => out.push_str(&rest),
            }
        }
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<(TagAction, &str, &str, Option<&str>), &str>) {
        let found = tags(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let got = match &found[0] {
            Ok(tag) => Ok((tag.action, tag.id.as_str(), tag.value.as_str(), tag.reason.as_deref())),
            Err(odd) => Err(odd.reason.as_str()),
        };
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn attributes_come_in_any_order_and_any_quotes() {
        use TagAction::{Add, Update};
        check(
            r#"<tool:update id="a" value="1" reason="why">"#,
            Ok((Update, "a", "1", Some("why"))),
        );
        check("<tool:add reason='it''s'value='x' id=a/>", Err("unexpected '\\''"));
        check("<tool:add  value = 'x y' \n id = b />", Ok((Add, "b", "x y", None)));
        check("<TOOL:Update ID=a VALUE=1>", Ok((Update, "a", "1", None)));
        check(r#"<tool:update id="a" value="">"#, Ok((Update, "a", "", None)));
        check(r#"<tool:update id="a" value="a > b">"#, Ok((Update, "a", "a > b", None)));
        check("<tool:update id='a' value='&quot;&amp;lt;'>", Ok((Update, "a", "\"&lt;", None)));
        check("<tool:update id=a value=1></tool:update>", Ok((Update, "a", "1", None)));
        check("<tool:update id=a value=5/>", Ok((Update, "a", "5", None)));
    }

    #[test]
    fn tags_that_are_not_understood_say_why() {
        check("<tool:update id='a'>", Err("it has no value"));
        check("<tool:update value='a'>", Err("it has no id"));
        check("<tool:update id='' value='a'>", Err("it has no id"));
        check("<tool:update id='a' id='b' value='c'>", Err("duplicate attribute id"));
        check("<tool:remove id='a'>", Err("unknown tool action \"remove\""));
        check("<tool:update id='a' value='b", Err("a quote is not closed"));
        check("<tool:update id=a value=b", Err("the tag is not closed"));
        check("<tool:update id value=b>", Err("id has no value"));
        check("<tool:", Err("unknown tool action \"\""));
    }

    #[test]
    fn a_line_that_had_only_tags_is_gone_with_them() {
        let text = "One.\n<tool:add id=a value=b> <tool:add id=a value=c>\nTwo <tool:add id=a value=d>\n\nThree.";
        let spans: Vec<Range<usize>> =
            tags(text).into_iter().map(|tag| tag.unwrap().span).collect();
        assert_eq!(without(text, &spans), "One.\nTwo\n\nThree.");
        assert_eq!(without(text, &spans[..0]), text);
        let over = "A <tool:add id=a\n value=b> B";
        let spans: Vec<Range<usize>> =
            tags(over).into_iter().map(|tag| tag.unwrap().span).collect();
        assert_eq!(without(over, &spans), "A\n B");
    }
}
