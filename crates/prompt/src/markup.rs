//! Renders Markdown as HTML, and sanitizes HTML.
//!
//! The output of models and other programs is not trusted: scripts, styles, event handlers, frames and links to
//! anything but the web and mail are removed, from stored and from generated HTML.

use std::sync::LazyLock;

use pulldown_cmark::{
    CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};

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

/// Leaves the tags that a text within a page can have: no pictures, and no headings that compete with those of the page.
static PAGE_CLEANER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let schemes = ["http", "https", "mailto"].into_iter().collect();
    let mut builder = ammonia::Builder::default();
    builder.url_schemes(schemes).rm_tags(["img", "map", "area", "h1", "h2", "h3", "hgroup"]);
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

/// The extensions of Markdown that are rendered.
const EXTENSIONS: Options = Options::ENABLE_STRIKETHROUGH
    .union(Options::ENABLE_TABLES)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES);

/// Renders Markdown as safe HTML without losing words: HTML in it is shown as text, a picture becomes a link, line
/// breaks are kept, bare URLs become links, and headings are below those of a page. Every block has its own text
/// direction. Nothing in it is fetched.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(
///     markup::markdown_to_inert_html("Use *Vec<String>*."),
///     "<p dir=\"auto\">Use <em>Vec&lt;String&gt;</em>.</p>\n"
/// );
/// assert_eq!(
///     markup::markdown_to_inert_html("<script>x</script>"),
///     "<p dir=\"auto\">&lt;script&gt;x&lt;/script&gt;</p>\n"
/// );
/// ```
#[must_use]
pub fn markdown_to_inert_html(markdown: &str) -> String {
    let Some(html) = render_inert(markdown) else {
        return format!("<pre dir=\"auto\">{}</pre>\n", escape_html(markdown));
    };
    // The sanitizer removes styles, and pages allow none in the text.
    let html = html.replace("style=\"text-align: ", "align=\"");
    with_directions(&sanitize_html(&html))
}

/// Same as [`markdown_to_inert_html`], as XHTML, which is also XML.
///
/// ```
/// use everturn_prompt::markup;
///
/// assert_eq!(
///     markup::markdown_to_inert_xhtml("a\nb [c](javascript:d) & <e>"),
///     "<p dir=\"auto\">a<br />\nb c &amp; &lt;e&gt;</p>\n"
/// );
/// ```
#[must_use]
pub fn markdown_to_inert_xhtml(markdown: &str) -> String {
    match render_inert(markdown) {
        Some(html) => with_directions(&html),
        None => format!("<pre dir=\"auto\">{}</pre>\n", escape_html(markdown)),
    }
}

/// Returns the safe form of a formatted text if it says more than the plain text: the same words, with emphasis, lists,
/// tables or links.
///
/// ```
/// use everturn_prompt::markup;
///
/// let formatted = "<p>She <em onclick='x()'>smiled</em>. <3</p>";
/// let safe = "<p dir=\"auto\">She <em>smiled</em>. &lt;3</p>";
/// assert_eq!(markup::richer_html(formatted, "She smiled. <3").as_deref(), Some(safe));
/// assert_eq!(markup::richer_html("<p>She smiled.</p>", "She smiled."), None);
/// assert_eq!(markup::richer_html("<p><b>Send money</b></p>", "She smiled."), None);
/// ```
#[must_use]
pub fn richer_html(formatted: &str, text: &str) -> Option<String> {
    if formatted.len() > LONGEST || text.len() > LONGEST {
        return None;
    }
    let words = |text: &str| text.split_whitespace().collect::<String>();
    let safe = PAGE_CLEANER.clean(formatted).to_string();
    let tags =
        ["<em", "<i>", "<strong", "<b>", "<s>", "<del", "<u>", "<ul", "<ol", "<table", "<a "];
    let tags = tags.iter().chain(["<blockquote", "<code", "<pre", "<sup", "<sub", "<mark"].iter());
    let says_more = tags.into_iter().any(|tag| safe.contains(tag));
    (says_more && words(&html_to_text(formatted)) == words(text)).then(|| with_directions(&safe))
}

/// Renders Markdown as XHTML in which only our own tags remain; `None` if it is too long or too deep.
fn render_inert(markdown: &str) -> Option<String> {
    if markdown.len() > LONGEST || is_too_deep(Parser::new_ext(markdown, EXTENSIONS)) {
        return None;
    }
    let mut out = String::new();
    let mut inert = InertMarkdown::default();
    let events = TextMergeStream::new(Parser::new_ext(markdown, EXTENSIONS));
    pulldown_cmark::html::push_html(&mut out, events.flat_map(|event| inert.convert(event)));
    Some(out)
}

/// Gives every block of rendered text its own direction.
fn with_directions(html: &str) -> String {
    let mut html = html.to_owned();
    for tag in ["p", "ul", "ol", "li", "blockquote", "h4", "h5", "h6", "td", "th"] {
        // Tags with attributes come first, because the replacement has one.
        for end in [" ", ">"] {
            let (plain, directed) = (format!("<{tag}{end}"), format!("<{tag} dir=\"auto\"{end}"));
            if html.contains(&plain) {
                html = html.replace(&plain, &directed);
            }
        }
    }
    html
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

/// Converts events so that they render as inert text.
#[derive(Default)]
struct InertMarkdown {
    /// Whether the text is code, or belongs to a link.
    in_code: bool,
    in_link: bool,
    /// Whether each open link is rendered as one.
    links: Vec<bool>,
}

impl InertMarkdown {
    fn convert<'e>(&mut self, event: Event<'e>) -> Vec<Event<'e>> {
        vec![match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            Event::SoftBreak => Event::HardBreak,
            Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
                level: inner_level(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            }),
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(inner_level(level))),
            Event::Start(
                Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. },
            ) => {
                return self.open_link(dest_url, title);
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                self.in_link = self.links.len() > 1;
                return match self.links.pop() {
                    Some(true) => vec![Event::End(TagEnd::Link)],
                    _ => Vec::new(),
                };
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.in_code = true;
                Event::Start(Tag::CodeBlock(kind))
            }
            Event::End(TagEnd::CodeBlock) => {
                self.in_code = false;
                Event::End(TagEnd::CodeBlock)
            }
            Event::TaskListMarker(is_done) => {
                Event::Text(CowStr::Borrowed(if is_done { "☑ " } else { "☐ " }))
            }
            // Anchors would be the same in every text of a page.
            Event::FootnoteReference(name) => {
                Event::InlineHtml(CowStr::from(format!("<sup>[{}]</sup>", escape_html(&name))))
            }
            Event::Start(Tag::FootnoteDefinition(name)) => {
                let open = format!("<blockquote><sup>[{}]</sup>\n", escape_html(&name));
                Event::Html(CowStr::from(open))
            }
            Event::End(TagEnd::FootnoteDefinition) => {
                Event::Html(CowStr::Borrowed("</blockquote>\n"))
            }
            Event::Text(text) if !self.in_code && !self.in_link => return link_urls(&text),
            other => other,
        }]
    }

    /// Opens a link. Targets that are not on the web are not linked.
    fn open_link<'e>(&mut self, dest_url: CowStr<'e>, title: CowStr<'e>) -> Vec<Event<'e>> {
        let is_link = is_web_url(&dest_url) && !self.links.contains(&true);
        self.links.push(is_link);
        self.in_link = true;
        if !is_link {
            return Vec::new();
        }
        let (link_type, id) = (LinkType::Inline, CowStr::Borrowed(""));
        vec![Event::Start(Tag::Link { link_type, dest_url, title, id })]
    }
}

/// Returns whether a link leads to the web or to mail, and is spelled as URLs are.
fn is_web_url(url: &str) -> bool {
    let scheme = ["http://", "https://", "mailto:"].iter().find(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let Some(rest) = scheme.and_then(|scheme| url.get(scheme.len()..)) else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:@_+%".contains(&byte);
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "[]{}|\\^`\"<>".contains(c);
    let escapes = |part: &str| {
        part.get(..2).is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    !host.is_empty()
        && host.bytes().all(is_host)
        && !rest.contains(is_odd)
        && rest.split('%').skip(1).all(escapes)
}

/// Returns the level of a heading below those of a page, which has three.
fn inner_level(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H4,
        HeadingLevel::H2 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Splits a text at the URLs in it, which become links.
fn link_urls<'e>(text: &str) -> Vec<Event<'e>> {
    let mut events = Vec::new();
    let mut end = 0;
    let plain = |range: std::ops::Range<usize>| {
        let words = text.get(range).filter(|words| !words.is_empty())?;
        Some(Event::Text(CowStr::from(words.to_owned())))
    };
    while let Some((start, length)) = next_url(text, end) {
        events.extend(plain(end..start));
        end = start + length;
        let url = text.get(start..end).unwrap_or_default();
        let (link_type, dest_url) = (LinkType::Autolink, CowStr::from(url.to_owned()));
        let (title, id) = (CowStr::Borrowed(""), CowStr::Borrowed(""));
        events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
        events.push(Event::Text(CowStr::from(url.to_owned())));
        events.push(Event::End(TagEnd::Link));
    }
    events.extend(plain(end..text.len()));
    events
}

/// Finds the next URL in a text: its start and its length.
fn next_url(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut from = from;
    loop {
        let part = text.get(from..)?;
        let found = ["https://", "http://"]
            .iter()
            .filter_map(|scheme| part.find(scheme).map(|at| (from + at, scheme.len())));
        let (start, scheme) = found.min()?;
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let tail = text.get(start..)?;
        let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>\"`{}|\\^".contains(c);
        let mut url = tail.get(..tail.find(is_end).unwrap_or(tail.len())).unwrap_or_default();
        loop {
            let unbalanced =
                url.ends_with(')') && url.matches(')').count() > url.matches('(').count();
            let is_stop = url
                .ends_with(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', ']', '…'])
                || url.ends_with(['。', '、', '」', '』', '）', '’', '”', '»'])
                || unbalanced;
            let Some(last) = url.chars().next_back().filter(|_| is_stop) else { break };
            url = url.get(..url.len() - last.len_utf8()).unwrap_or_default();
        }
        if is_web_url(url) && !before.is_some_and(char::is_alphanumeric) {
            return Some((start, url.len()));
        }
        from = start + scheme;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let html = markdown_to_inert_html(text).replace(" dir=\"auto\"", "");
        assert_eq!(html.replace(" rel=\"noopener noreferrer\"", ""), expect, "{text}");
    }

    #[test]
    fn nothing_is_fetched_and_no_word_is_lost() {
        check(
            "![a map](https://example.org/m.png)",
            "<p><a href=\"https://example.org/m.png\">a map</a></p>\n",
        );
        check("![x](data:image/svg+xml,y)", "<p>x</p>\n");
        check("[![a](https://a.b/c)](https://d.e)", "<p><a href=\"https://d.e\">a</a></p>\n");
        check("<img src=x onerror=y>", "<p>&lt;img src=x onerror=y&gt;</p>\n");
        check("<style>\np{}\n</style>", "<p>&lt;style&gt;\np{}\n&lt;/style&gt;</p>\n");
        check("one\ntwo", "<p>one<br>\ntwo</p>\n");
    }

    #[test]
    fn headings_tasks_notes_and_columns_fit_into_a_page() {
        check("# a\n### b", "<h4>a</h4>\n<h6>b</h6>\n");
        check("- [x] a\n- [ ] b", "<ul>\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>\n");
        check(
            "a[^1] ~~b~~\n\n[^1]: c",
            "<p>a<sup>[1]</sup> <del>b</del></p>\n<blockquote><sup>[1]</sup>\n<p>c</p>\n</blockquote>\n",
        );
        let table = markdown_to_inert_html("|a|\n|-:|\n|b|");
        assert!(table.contains("<td dir=\"auto\" align=\"right\">b</td>"), "{table}");
    }

    #[test]
    fn bare_urls_become_links() {
        let link = |url: &str| format!("<a href=\"{url}\">{url}</a>");
        for (text, url, after) in [
            ("https://example.org/a_b_c.", "https://example.org/a_b_c", "."),
            ("http://example.org/(x)", "http://example.org/(x)", ""),
            ("https://example.org/x), so", "https://example.org/x", "), so"),
            ("https://example.org/日本、", "https://example.org/日本", "、"),
        ] {
            let shown = url.replace("日本", "%E6%97%A5%E6%9C%AC");
            let expect = format!("<p>See {}{after}</p>\n", link(&shown));
            check(
                &format!("See {text}"),
                &expect.replace(&format!(">{shown}<"), &format!(">{url}<")),
            );
        }
        check("`https://example.org`", "<p><code>https://example.org</code></p>\n");
        check("xhttps://example.org https://", "<p>xhttps://example.org https://</p>\n");
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_shown_as_it_is() {
        let deep = "> ".repeat(5000) + "<b>";
        check(&deep, &format!("<pre>{}&lt;b&gt;</pre>\n", "&gt; ".repeat(5000)));
        let long = "*a* ".repeat(300_000);
        check(&long, &format!("<pre>{long}</pre>\n"));
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
