//! Hostile texts through every exporter.

use everturn::format;
use everturn::model::{MarkKind, NewMark};
use everturn::names::FilePath;
use everturn::store::{AppendAt, Durability, Step};
use everturn_export::controls::{is_bidi_control, is_direction_mark};
use everturn_export::{ExportFormat, ExportOptions, ExportPart, ExportStyle};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::support::{Session, pdf_text, place, session, told};

/// Texts that a browser, a viewer or a terminal must not act upon. Code that runs calls `ran`, shows a dialog, or
/// sends a request to the listener.
pub(crate) fn corpus(listener: &str) -> Vec<String> {
    let mut texts: Vec<String> = [
        "<script>ran(1); alert(1)</script>",
        "</p></div></article></main><script>ran(2)</script>",
        "<img src=x onerror=\"ran(3)\">",
        "<img src=\"LISTENER/img.png\">",
        "![picture](LISTENER/md.png)",
        "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9InJhbig0KSI+PC9zdmc+)",
        "<svg onload=\"ran(5)\"><script>ran(5)</script><use href=\"LISTENER/u.svg#a\"/></svg>",
        "<svg><style><img title=\"</style><img src=x onerror=ran(6)>\"></svg>",
        "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=ran(7)&gt;\">",
        "<style>@import url(LISTENER/css); body { background: url(LISTENER/bg) }</style>",
        "<p style=\"background:url(LISTENER/attr);position:fixed;inset:0\">cover</p>",
        "<iframe src=\"LISTENER/frame\" srcdoc=\"<script>parent.ran(8)</script>\"></iframe>",
        "<object data=\"LISTENER/object\"></object><embed src=\"LISTENER/embed\">",
        "<link rel=stylesheet href=\"LISTENER/link\"><base href=\"LISTENER/\">",
        "<meta http-equiv=refresh content=\"0;url=LISTENER/refresh\">",
        "<form action=\"LISTENER/form\"><input autofocus onfocus=ran(9)><button>go</button></form>",
        "<a href=\"javascript:ran(10)\">click</a> [click](javascript:ran(10)) <javascript:ran(10)>",
        "[click](JaVaScRiPt&colon;ran(11)) [click](java\tscript:ran(11)) [a](\u{1}javascript:ran(11))",
        "[d](data:text/html,<script>ran(12)</script>) [v](vbscript:ran(12)) [f](file:///etc/passwd)",
        "<details open ontoggle=ran(13)><summary>x</summary></details>",
        "<video autoplay src=\"LISTENER/v\" onloadstart=ran(14)></video><audio src=\"LISTENER/a\">",
        "<body onload=ran(15)><html onclick=ran(15)>",
        "<template><script>ran(16)</script></template><noscript><p title=\"</noscript><img src=x onerror=ran(16)>\">",
        "`</code><script>ran(17)</script>` and ```</pre><script>ran(17)</script>",
        "\"><script>ran(18)</script> '><script>ran(18)</script> --><script>ran(18)</script>",
        "<!-- a comment --><![CDATA[<script>ran(19)</script>]]><?php ran(19) ?>",
        "{{ 7 * 7 }} ${ran(20)} <%= ran(20) %> {% include '/etc/passwd' %}",
        "# Not a chapter\n\n## Nor this\n\nNor this\n========\n\nNor\n---",
        "```\na fence that is never closed\n\n# x",
        "[ref]: LISTENER/ref \"x\"\n[^1]: a note\n\n[ref] [^1]",
        "---\ntitle: \"another\"\n---\n\n- [ ] task\n\n</details></details>",
        "| a | b |\n|---|---|\n| <script>ran(21)</script> | [x](javascript:ran(21)) |",
        "\u{202e}txt.exe\u{202c} \u{2066}isolated\u{2069} \u{200f}rtl\u{200e}",
        "\u{1b}[31mred\u{1b}]0;title\u{7}\u{1b}]8;;LISTENER\u{1b}\\link\u{9b}2J\u{8}\u{7f}\0",
        "&lt;script&gt;ran(22)&lt;/script&gt; &#60;script&#62;ran(22)&#60;/script&#62;",
        "\u{ff1c}script\u{ff1e}ran(23)\u{ff1c}/script\u{ff1e} \u{2028}\u{2029}\u{feff}\u{fffe}",
        "<ScRiPt\u{0}>ran(24)</sCrIpT ><script/src=\"LISTENER/s.js\">",
        "<a id=filter name=filter href=\"#e-1\">x</a><input id=theme-dark checked>",
        "a\r\nb\rc\u{85}d",
    ]
    .iter()
    .map(|text| text.replace("LISTENER", listener))
    .collect();
    texts.push("> ".repeat(3000) + "deep");
    texts.push("<div>".repeat(3000));
    texts.push("- ".repeat(3000));
    texts.push("*_".repeat(3000));
    texts.push("[".repeat(3000));
    texts
}

/// Sessions in which every text is one of these: messages, speakers, marks, tools and states.
pub(crate) fn sessions(listener: &str) -> Vec<Session> {
    let texts = corpus(listener);
    let said: Vec<&str> = texts.iter().map(String::as_str).collect();
    let text = |text: &str| serde_json::to_string(text).unwrap();
    let turns: Vec<String> = texts
        .iter()
        .map(|it| {
            let it = text(it);
            format!(
                r#"{{"actor": {it}, "events": [{{"type": "x", "description": {it}}}],
                    "deltas": [{{"scope": "world", "deltas": [{{"op": "set", "path": [{it}], "value": {it}}}]}}]}}"#
            )
        })
        .collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let kinds = [MarkKind::Chapter, MarkKind::Scene, MarkKind::Bookmark, MarkKind::Event];
    let mark = |(at, it): (usize, &String)| NewMark {
        kind: kinds[at % kinds.len()].clone(),
        name: it.clone(),
        description: it.clone(),
        turn: Some(at as u64 + 1),
        entry: None,
    };
    // Names of marks are limited in length.
    let marks = texts.iter().enumerate().filter(|(_, it)| it.len() < 10_000).map(mark);
    let marks: Vec<NewMark> = marks.collect();
    let title = serde_json::json!({"player": {"name": texts[1]}}).to_string();
    let game = session("game", "hostile", &title, &turns, &marks);
    let calls: Vec<String> = texts
        .iter()
        .enumerate()
        .flat_map(|(at, it)| {
            let call = serde_json::json!({"role": "assistant", "content": it, "name": it, "tool_calls": [
                {"id": format!("c{at}"), "type": "function", "function": {"name": it, "arguments": it}}]});
            let thought = serde_json::json!({"role": "reasoning", "content": it});
            let answer = serde_json::json!({"role": "tool", "tool_call_id": format!("c{at}"), "tool_name": it, "content": it});
            [thought, call, answer].map(|value| value.to_string())
        })
        .collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    vec![told(&said), game, session("codelia", "hostile", "{}", &calls, &[])]
}

/// Options for a complete export.
fn everything(format: ExportFormat) -> ExportOptions {
    let mut choices = ExportOptions::defaults_for(format, ExportStyle::Rich);
    for part in ExportPart::ALL {
        choices.set(*part, true);
    }
    choices
}

#[test]
fn text_drives_no_terminal_and_turns_no_words_around() {
    for session in sessions("http://127.0.0.1:9") {
        for format in [ExportFormat::Text, ExportFormat::Markdown, ExportFormat::Html] {
            let made = session.export(format, &everything(format));
            // The paragraphs of a page are isolated from each other, so it may have the marks that their text needs.
            let is_fine = |c: char| format == ExportFormat::Html && is_direction_mark(c);
            let odd = made.find(|c: char| {
                (c.is_control() && !matches!(c, '\n' | '\t')) || (is_bidi_control(c) && !is_fine(c))
            });
            assert_eq!(odd.and_then(|at| made.get(at..at + 4)), None, "{format:?}");
            assert!(made.contains("‹U+202E›txt.exe"), "{format:?}");
            assert!(made.contains("‹U+001B›[31mred"), "{format:?}");
        }
    }
}

/// Returns the structure of a Markdown document, apart from text: headings, HTML, and links and images.
fn structure(markdown: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let body = markdown.splitn(3, "---\n").nth(2).unwrap();
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let parser = Parser::new_ext(body, options);
    assert_eq!(parser.reference_definitions().iter().count(), 0);
    let (mut headings, mut html, mut links) = (Vec::new(), Vec::new(), Vec::new());
    let mut heading: Option<String> = None;
    for event in parser {
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some(format!("{level} ")),
            Event::End(TagEnd::Heading(_)) => headings.extend(heading.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Html(text) | Event::InlineHtml(text) => html.push(text.trim().to_owned()),
            Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
            Event::Start(Tag::Image { dest_url, .. }) => links.push(format!("picture {dest_url}")),
            Event::Start(Tag::FootnoteDefinition(name)) => links.push(format!("note {name}")),
            _ => {}
        }
    }
    (headings, html, links)
}

fn check_markdown(session: &Session, headings: usize) {
    let made = session.export(ExportFormat::Markdown, &everything(ExportFormat::Markdown));
    let (found, html, links) = structure(&made);
    assert_eq!(found.len(), headings, "{found:#?}");
    for tag in &html {
        let ours = matches!(tag.as_str(), "<details>" | "</details>")
            || (tag.starts_with("<summary>")
                && tag.ends_with("</summary>")
                && tag.matches('<').count() == 2);
        assert!(ours, "{tag}");
    }
    let count = |name: &str| html.iter().filter(|tag| tag.as_str() == name).count();
    assert_eq!(count("<details>"), count("</details>"));
    for link in links {
        let harmless = ["http:", "https:", "mailto:"].iter().any(|scheme| link.starts_with(scheme));
        assert!(harmless || !link.contains(':'), "{link}");
    }
}

#[test]
fn markdown_keeps_its_structure_whatever_is_said() {
    let sessions = sessions("http://127.0.0.1:9");
    // The title and the state at the end; then the chapters and scenes of the game.
    let names = corpus("").into_iter().enumerate().filter(|(_, it)| it.len() < 10_000);
    let marks = names.filter(|(at, _)| at % 4 < 2).count();
    check_markdown(&sessions[0], 1);
    check_markdown(&sessions[1], 2 + marks);
    check_markdown(&sessions[2], 1);
}

#[test]
fn markdown_made_of_pieces_of_markdown_keeps_its_structure() {
    const PIECES: &[&str] = &[
        "# ",
        "## ",
        "===\n",
        "---\n",
        "```",
        "~~~",
        "`",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<b>",
        "</details>",
        "<details>",
        "<script>",
        "[a]: /x\n",
        "[a]",
        "[^1]: y\n",
        "[^1]",
        "![p](q)",
        "[l](javascript:x)",
        "<http://x>",
        "<data:x>",
        "| a |\n|---|\n",
        "\\",
        "*",
        "**",
        "word",
        " ",
        "&lt;",
        "<?",
        "<![CDATA[",
        "]]>",
    ];
    let mut seed = 1u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let texts: Vec<String> = (0..600)
        .map(|_| (0..next(24) + 1).map(|_| PIECES[next(PIECES.len())]).collect::<String>() + "x")
        .collect();
    for texts in texts.chunks(60) {
        let said: Vec<&str> = texts.iter().map(String::as_str).collect();
        check_markdown(&told(&said), 1);
    }
}

/// Returns the tags of a page, with their attributes.
fn tags(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let tail = &rest[start + 1..];
        let end = tail.find('>').unwrap_or(tail.len());
        found.push(&tail[..end]);
        rest = &tail[end..];
    }
    found
}

#[test]
#[expect(clippy::too_many_lines, reason = "the list of tags is long")]
fn a_page_has_no_tags_but_ours() {
    const FINE: &[&str] = &[
        "article",
        "header",
        "span",
        "b",
        "i",
        "a",
        "time",
        "div",
        "p",
        "br",
        "em",
        "strong",
        "del",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "blockquote",
        "hr",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "details",
        "summary",
        "section",
        "footer",
        "main",
        "bdi",
        "sup",
    ];
    for session in sessions("http://127.0.0.1:9") {
        let page = session.export(ExportFormat::Html, &everything(ExportFormat::Html));
        let (head, body) = page.split_once("<main>").unwrap();
        let (body, tail) = body.rsplit_once("<script>").unwrap();
        assert_eq!(head.matches("<script").count() + tail.matches("<script").count(), 0);
        for tag in tags(body) {
            let mut words = tag.trim_start_matches('/').split(' ');
            let name = words.next().unwrap();
            assert!(FINE.contains(&name), "<{tag}>");
            for word in words.filter(|word| word.contains('=')) {
                let (attribute, value) = word.split_once('=').unwrap();
                match attribute {
                    "class" | "id" | "datetime" | "aria-hidden" | "aria-label" | "rel"
                    | "title" | "start" | "align" | "dir" => {}
                    "href" => {
                        let fine = ["\"#", "\"http:", "\"https:", "\"mailto:"];
                        let scheme =
                            value.trim_start_matches('"').split_once(':').map_or("", |it| it.0);
                        let relative = scheme.is_empty()
                            || scheme.contains(|c: char| {
                                !c.is_ascii_alphanumeric() && !"+-.".contains(c)
                            });
                        assert!(
                            relative || fine.iter().any(|start| value.starts_with(start)),
                            "<{tag}>"
                        );
                    }
                    _ => panic!("<{tag}> has {attribute}"),
                }
            }
        }
        let ids: Vec<&str> =
            body.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "every place has a name of its own");
    }
}

#[test]
fn a_message_of_ten_megabytes_is_exported_whole() {
    let pieces = ["All work and no play. ", "<b>*x*</b> ", "# a\n", "> ", "word"];
    let part = (10 << 20) / pieces.len();
    let long: String = pieces.iter().map(|piece| piece.repeat(part / piece.len())).collect();
    let session = told(&["Before.", &format!("{long}the end"), "After."]);
    // It would be thousands of pages, which takes long; PDF is tested with less.
    for format in ExportFormat::ALL.iter().filter(|format| **format != ExportFormat::Pdf) {
        let made = session.rich(*format);
        assert!(made.len() >= long.len(), "{format:?}");
        assert!(made.replace(['\n', ' '], "").contains("theend"), "{format:?}");
        assert!(made.contains("After."), "{format:?}");
    }
}

#[test]
fn pages_show_hostile_texts_and_do_nothing() {
    for session in sessions("http://127.0.0.1:9") {
        let choices = everything(ExportFormat::Pdf);
        let (pdf, report) = session.bytes(ExportFormat::Pdf, &choices, None, None).unwrap();
        assert!(report.pages.unwrap() > 10);
        assert_eq!(pdf_text(&pdf, "pdfinfo", &["-js", "-"]).trim(), "");
        assert!(!pdf_text(&pdf, "pdfinfo", &["-url", "-"]).contains("127.0.0.1"));
        let text = pdf_text(&pdf, "pdftotext", &["-", "-"]);
        for words in ["<script>ran(1)", "‹U+202E›txt.exe", "‹U+001B›[31mred"] {
            assert!(text.replace('\n', "").contains(words), "{words}");
        }
    }
}

#[test]
fn a_long_message_fills_pages() {
    let long = "All work and no play makes a long book. ".repeat(5000) + "The end.";
    let (text, report) = told(&["Before.", &long, "After."])
        .try_export(ExportFormat::Pdf, &everything(ExportFormat::Pdf), None, None)
        .unwrap();
    assert!(report.pages.unwrap() > 50);
    assert!(text.contains("The end.") && text.contains("After."));
}

#[test]
fn bytes_that_are_no_text_cost_only_their_line() {
    let session =
        session("codelia", "one", "{}", &[r#"{"role": "user", "content": "Before."}"#], &[]);
    let file = FilePath::parse("sessions/messages/one.jsonl").unwrap();
    let writer = session.store.lock(std::slice::from_ref(&file)).unwrap();
    let mut lines = b"{\"role\": \"user\", \"content\": \"bad \xff\xfe\xc3 bytes\"}\n".to_vec();
    lines.extend(b"{\"role\": \"user\", \"content\": \"\\ud800 half\"}\n{\"role\": \"user\", \"content\": \"After.\"}\n");
    writer
        .commit(vec![Step::Append { file, at: AppendAt::End, lines }], Durability::Synced)
        .unwrap();
    writer.release().unwrap();
    let layout = format::find("codelia").unwrap();
    let store = &session.store;
    assert!(
        layout.capabilities().editing.unwrap().edit(store, &place(store, "codelia", "one")).is_ok()
    );
    let session = Session::open(store, "codelia", "one");
    for format in ExportFormat::ALL {
        let usual = ExportOptions::defaults_for(*format, ExportStyle::Rich);
        let (made, report) = session.try_export(*format, &usual, None, None).unwrap();
        assert!(made.contains("Before.") && made.contains("After."), "{format:?}");
        assert!(!report.findings.is_empty(), "{format:?}");
    }
}
