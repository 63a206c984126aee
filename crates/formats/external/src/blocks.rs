//! Text, times and counts of message content, in the forms that several programs share.

use jiff::Timestamp;

use everturn_value::outline::{number_at, text_at, text_of};
use everturn_value::tree::{JsonTree, ValueKind};

/// The time at `path`, written as RFC 3339.
pub(super) fn time_at(tree: &JsonTree, path: &[&str]) -> Option<Timestamp> {
    text_at(tree, path)?.trim().parse().ok()
}

/// Converts a number of seconds or milliseconds to a time. No session in milliseconds is from before 2001.
pub(super) fn time_of(number: i64) -> Option<Timestamp> {
    if number.abs() > 10_000_000_000 {
        Timestamp::from_millisecond(number).ok()
    } else {
        Timestamp::from_second(number).ok()
    }
}

/// The time at `path`, in any of the supported forms.
pub(super) fn any_time_at(tree: &JsonTree, path: &[&str]) -> Option<Timestamp> {
    time_at(tree, path).or_else(|| time_of(number_at(tree, path)?))
}

/// The count at `path`; 0 if it is missing.
pub(super) fn count_at(tree: &JsonTree, path: &[&str]) -> u64 {
    number_at(tree, path).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// The price at `path`.
pub(super) fn price_at(tree: &JsonTree, path: &[&str]) -> Option<f64> {
    tree.text_at(path)?.parse().ok().filter(|price: &f64| price.is_finite())
}

/// The text of content that is a string, a block with a text, or an array of those. Other blocks are shown by name.
pub(super) fn content_text(content: &JsonTree) -> String {
    match content.kind() {
        ValueKind::String => text_of(content).unwrap_or_default(),
        ValueKind::Array => {
            let texts = content.children().into_iter().map(|(_, block)| block_text(&block));
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        ValueKind::Object => block_text(content),
        ValueKind::Null => String::new(),
        _ => content.to_line(),
    }
}

/// The text of one block.
pub(super) fn block_text(block: &JsonTree) -> String {
    if block.kind() == ValueKind::String {
        return text_of(block).unwrap_or_default();
    }
    let text = ["text", "thinking", "content"].into_iter().find_map(|key| text_at(block, &[key]));
    text.unwrap_or_else(|| match text_at(block, &["type"]) {
        Some(kind) => format!("[{kind}]"),
        None if block.kind() == ValueKind::Object && block.len_at::<&str>(&[]) == Some(0) => {
            String::new()
        }
        None => block.to_line(),
    })
}

/// Reassembles a text that was split into its characters, each under its number.
pub(super) fn spread_text(tree: &JsonTree) -> Option<String> {
    let mut text = String::new();
    let mut count = 0_usize;
    for (key, value) in tree.children() {
        if key != count.to_string() {
            break;
        }
        text.push_str(&text_of(&value).filter(|piece| piece.chars().count() <= 2)?);
        count += 1;
    }
    (tree.kind() == ValueKind::Object && count > 0).then_some(text)
}
