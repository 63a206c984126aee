//! Renders Markdown as HTML, and sanitizes HTML.
//!
//! The output of models and other programs is not trusted: scripts, styles, event handlers, frames and links to
//! anything but the web and mail are removed, from stored and from generated HTML.

use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

/// The maximum nesting of quotes and lists; a deeper text is not rendered as Markdown.
const DEEPEST: usize = 48;

/// The maximum length of a text that is rendered as Markdown.
const LONGEST: usize = 1 << 20;

static CLEANER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let schemes = ["http", "https", "mailto"].into_iter().collect();
    let mut builder = ammonia::Builder::default();
    builder.url_schemes(schemes);
    builder
});

/// Leaves only the tags that separate lines.
static TEXT_CLEANER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut builder = ammonia::Builder::default();
    builder.tags(["p", "br"].into_iter().collect());
    builder
});

/// Renders Markdown as safe HTML.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(markup::markdown_to_html("It is *cold*.\n\nVery."), "<p>It is <em>cold</em>.</p>\n<p>Very.</p>\n");
/// assert_eq!(markup::markdown_to_html("<script>alert(1)</script>ok"), "ok");
/// ```
#[must_use]
pub fn markdown_to_html(markdown: &str) -> String {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, Parser::new_ext(markdown, options));
    sanitize_html(&out)
}

/// Removes everything harmful from HTML.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(markup::sanitize_html("<p onclick='x()'>a <b>b</b></p>"), "<p>a <b>b</b></p>");
/// ```
#[must_use]
pub fn sanitize_html(html: &str) -> String {
    CLEANER.clean(html).to_string()
}

/// The text of HTML, with a line for each block. It is not sanitized HTML, but plain text.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(markup::html_to_text("<p>It is <em>cold</em>.</p><p>R&amp;D <3</p>"), "It is cold.\n\nR&D <3");
/// assert_eq!(markup::html_to_text("a<br>b<script>x()</script>"), "a\nb");
/// ```
#[must_use]
pub fn html_to_text(html: &str) -> String {
    let clean = TEXT_CLEANER.clean(html).to_string();
    let marked = clean.replace("</p>", "\n\n").replace("<br>", "\n").replace("<p>", "");
    let text = marked.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}");
    text.replace("&quot;", "\"").replace("&amp;", "&").trim().to_owned()
}

/// Renders Markdown as safe HTML without losing words: HTML in it is shown as text, a picture becomes a link, and line
/// breaks are kept. Nothing in it is fetched.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(markup::markdown_to_inert_html("Use *Vec<String>*."), "<p>Use <em>Vec&lt;String&gt;</em>.</p>\n");
/// assert_eq!(markup::markdown_to_inert_html("<script>x</script>"), "<p>&lt;script&gt;x&lt;/script&gt;</p>\n");
/// ```
#[must_use]
pub fn markdown_to_inert_html(markdown: &str) -> String {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    if markdown.len() > LONGEST || is_too_deep(Parser::new_ext(markdown, options)) {
        return format!("<pre>{}</pre>\n", escape_html(markdown));
    }
    let mut out = String::new();
    let events = Parser::new_ext(markdown, options).map(as_text);
    pulldown_cmark::html::push_html(&mut out, events);
    sanitize_html(&out)
}

/// Escapes text for HTML, between tags and in quoted attributes.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(markup::escape_html("<a b=\"'\">&"), "&lt;a b=&quot;&#39;&quot;&gt;&amp;");
/// ```
#[must_use]
pub fn escape_html(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            plain => shown.push(plain),
        }
    }
    shown
}

fn is_too_deep(events: Parser<'_>) -> bool {
    let mut depth = 0usize;
    for event in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
    }
    false
}

/// Replaces HTML, pictures and line breaks.
fn as_text(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::Image { dest_url, title, .. }) => {
            let (link_type, id) = (LinkType::Inline, CowStr::Borrowed(""));
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_fetched_and_no_word_is_lost() {
        for (text, expect) in [
            (
                "![a map](https://example.org/m.png)",
                "<p><a href=\"https://example.org/m.png\" rel=\"noopener noreferrer\">a map</a></p>\n",
            ),
            ("![x](data:image/svg+xml,y)", "<p><a rel=\"noopener noreferrer\">x</a></p>\n"),
            ("<img src=x onerror=y>", "<p>&lt;img src=x onerror=y&gt;</p>\n"),
            ("<style>\np{}\n</style>", "<p>&lt;style&gt;\np{}\n&lt;/style&gt;</p>\n"),
            ("one\ntwo", "<p>one<br>\ntwo</p>\n"),
        ] {
            assert_eq!(markdown_to_inert_html(text), expect, "{text}");
        }
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_shown_as_it_is() {
        let deep = "> ".repeat(5000) + "<b>";
        assert_eq!(
            markdown_to_inert_html(&deep),
            format!("<pre>{}&lt;b&gt;</pre>\n", "&gt; ".repeat(5000))
        );
        let long = "*a* ".repeat(300_000);
        assert_eq!(markdown_to_inert_html(&long), format!("<pre>{long}</pre>\n"));
    }

    #[test]
    fn nothing_that_runs_is_left() {
        for (bad, expect) in [
            ("<img src=x onerror=alert(1)>", "<img src=\"x\">"),
            ("<a href='javascript:alert(1)'>x</a>", "<a rel=\"noopener noreferrer\">x</a>"),
            ("<a href=\"data:text/html,x\">x</a>", "<a rel=\"noopener noreferrer\">x</a>"),
            ("<style>p{}</style><p style='x'>y</p>", "<p>y</p>"),
            ("<iframe src='https://example.org'></iframe>z", "z"),
            ("<p>a<!-- b --></p>", "<p>a</p>"),
        ] {
            assert_eq!(sanitize_html(bad), expect, "{bad}");
        }
        assert_eq!(
            markdown_to_html("[x](javascript:alert(1))"),
            "<p><a rel=\"noopener noreferrer\">x</a></p>\n"
        );
        assert_eq!(markdown_to_html("1 < 2 & \"3\""), "<p>1 &lt; 2 &amp; \"3\"</p>\n");
    }
}
