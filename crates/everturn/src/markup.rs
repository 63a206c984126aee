//! Markdown as HTML, and HTML that is safe to show.
//!
//! Whatever a model or another program wrote is distrusted: scripts, styles, event handlers, frames and links to
//! anything but the web and mail are taken out, whether the HTML was stored or made here.

use pulldown_cmark::{Options, Parser};

/// The HTML of a Markdown text, safe to show.
///
/// ```
/// use everturn::markup;
///
/// assert_eq!(markup::html("It is *cold*.\n\nVery."), "<p>It is <em>cold</em>.</p>\n<p>Very.</p>\n");
/// assert_eq!(markup::html("<script>alert(1)</script>ok"), "ok");
/// ```
#[must_use]
pub fn html(markdown: &str) -> String {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, Parser::new_ext(markdown, options));
    clean(&out)
}

/// HTML without what could do harm.
///
/// ```
/// use everturn::markup;
///
/// assert_eq!(markup::clean("<p onclick='x()'>a <b>b</b></p>"), "<p>a <b>b</b></p>");
/// ```
#[must_use]
pub fn clean(html: &str) -> String {
    let schemes = ["http", "https", "mailto"].into_iter().collect();
    ammonia::Builder::default().url_schemes(schemes).clean(html).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(clean(bad), expect, "{bad}");
        }
        assert_eq!(
            html("[x](javascript:alert(1))"),
            "<p><a rel=\"noopener noreferrer\">x</a></p>\n"
        );
        assert_eq!(html("1 < 2 & \"3\""), "<p>1 &lt; 2 &amp; \"3\"</p>\n");
    }
}
