//! Writes one self-contained HTML file: no network, no external scripts, and nothing in the text ever runs.
//!
//! Texts go through `everturn::markup`, and everything else is escaped. A content security policy with the hashes of
//! the page's own style and script keeps a browser from running or fetching anything else, whatever the text contains.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use everturn::markup::{self, escape_html};
use everturn::model::{Attachment, Mark, MarkKind};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::error::ExportError;
use crate::facts::{format_clock, format_count, format_day, session_facts};
use crate::options::{ExportOptions, ExportStyle};
use crate::output::PieceWriter;
use crate::picture::{Picture, PictureFiles};
use crate::piece::{ExportPiece, Message, SpeakerRole, TurnChanges};
use crate::source::{SessionCover, SessionOutline, SpeakerStats};

const CSS: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The number of speaker colours.
const COLOURS: usize = 8;

/// How many characters of a tool's input are visible while it is collapsed.
const PREVIEW_LENGTH: usize = 72;

pub(crate) struct HtmlWriter<'c> {
    choices: &'c ExportOptions,
    pictures: Option<&'c dyn PictureFiles>,
    speakers: Vec<String>,
    /// The speaker of the last entry, unless a heading came after it.
    last_speaker: Option<String>,
    /// The day of the last entry.
    day: Option<String>,
    /// Whether a chapter is open.
    in_chapter: bool,
    /// The number of headings so far.
    headings: usize,
}

fn csp_hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

fn time_element(time: Timestamp, words: &str) -> String {
    format!("<time datetime=\"{time}\">{words}</time>")
}

/// Returns the anchor of a heading.
fn anchor(number: usize) -> String {
    format!("m-{number}")
}

/// Returns the beginning of a text on one line.
fn preview(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(PREVIEW_LENGTH).collect();
    let line = words.join(" ");
    match line.char_indices().nth(PREVIEW_LENGTH) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Formats paragraphs without Markdown; every line break is kept.
fn plain_paragraphs(text: &str) -> String {
    format!("<p dir=\"auto\">{}</p>", escape_html(text.trim()).replace('\n', "<br>\n"))
}

impl<'c> HtmlWriter<'c> {
    pub(crate) fn new(
        choices: &'c ExportOptions,
        pictures: Option<&'c dyn PictureFiles>,
    ) -> HtmlWriter<'c> {
        HtmlWriter {
            choices,
            pictures,
            speakers: Vec::new(),
            last_speaker: None,
            day: None,
            in_chapter: false,
            headings: 0,
        }
    }

    fn is_rich(&self) -> bool {
        self.choices.style != ExportStyle::Minimal
    }

    /// Returns the table of contents.
    fn contents(&self, outline: &SessionOutline) -> String {
        let rank = |mark: &Mark| match mark.kind {
            MarkKind::Chapter => "chapter",
            MarkKind::Scene => "scene",
            _ => "mark",
        };
        let shown = |mark: &Mark| self.is_rich() || rank(mark) != "mark";
        let lines = outline.headings.iter().enumerate().filter(|(_, mark)| shown(mark));
        let lines: Vec<String> = lines
            .map(|(at, mark)| {
                let (class, href) = (rank(mark), anchor(at));
                format!(
                    "<li class=\"{class}\" dir=\"auto\"><a href=\"#{href}\">{}</a></li>\n",
                    escape_html(&mark.name)
                )
            })
            .collect();
        match lines.is_empty() {
            true => String::new(),
            false => format!(
                "<nav class=\"contents\" aria-label=\"Contents\">\n<h2>Contents</h2>\n<ol>\n{}</ol>\n</nav>\n",
                lines.concat()
            ),
        }
    }

    fn colour(&self, speaker: &str) -> usize {
        let known = self.speakers.iter().position(|known| known == speaker);
        known.unwrap_or(self.speakers.len()) % COLOURS
    }

    fn heading(&mut self, mark: &Mark) -> String {
        let id = anchor(self.headings);
        self.headings += 1;
        self.last_speaker = None;
        let name = escape_html(&mark.name);
        let about = match mark.description.trim() {
            text if !text.is_empty() && self.is_rich() => {
                format!("<div class=\"about\">{}</div>\n", plain_paragraphs(text))
            }
            _ => String::new(),
        };
        let link =
            format!("<a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a>");
        match mark.kind {
            MarkKind::Chapter => {
                let close =
                    if std::mem::replace(&mut self.in_chapter, true) { "</section>\n" } else { "" };
                format!(
                    "{close}<section class=\"chapter\">\n<h2 id=\"{id}\" dir=\"auto\">{name} {link}</h2>\n{about}"
                )
            }
            MarkKind::Scene => format!("<h3 id=\"{id}\" dir=\"auto\">{name} {link}</h3>\n{about}"),
            _ if self.is_rich() => {
                let kind = escape_html(&mark.kind.to_string());
                format!(
                    "<p class=\"mark\" id=\"{id}\"><b>{kind}</b> <bdi>{name}</bdi> {link}</p>\n{about}"
                )
            }
            _ => String::new(),
        }
    }

    /// Returns a day separator if the day differs from that of the last entry.
    fn new_day(&mut self, time: Option<Timestamp>) -> String {
        let Some(time) = time.filter(|_| self.is_rich()) else { return String::new() };
        let words = format_day(time);
        if self.day.as_ref() == Some(&words) {
            return String::new();
        }
        let line = format!("<p class=\"day\">{}</p>\n", time_element(time, &words));
        self.day = Some(words);
        line
    }

    fn message(&mut self, said: &Message) -> String {
        let role = said.role();
        let id = format!("e-{}", said.seq);
        let (name, colour) = (escape_html(&said.speaker), self.colour(&said.speaker));
        let time = said.time.filter(|_| self.is_rich());
        let time = time
            .map(|time| format!("{} · ", time_element(time, &format_clock(time))))
            .unwrap_or_default();
        let turn = if self.is_rich() { format!("turn {}", said.turn) } else { "¶".to_owned() };
        let at = format!("<a class=\"at\" href=\"#{id}\">{time}{turn}</a>");
        let note = role.note().map(|note| format!(" <i>{note}</i>")).unwrap_or_default();
        let initial = said.speaker.chars().find(|c| c.is_alphanumeric());
        let initial =
            initial.map(|c| c.to_uppercase().to_string()).unwrap_or_else(|| "·".to_owned());
        let badge =
            format!("<span class=\"badge\" aria-hidden=\"true\">{}</span>", escape_html(&initial));
        let who = format!("{badge}<b class=\"who\"><bdi>{name}</bdi></b>{note}");
        let inside = match role {
            SpeakerRole::Call | SpeakerRole::Answer => {
                let (tool, body) = said.tool();
                let tool = tool.filter(|tool| *tool != said.speaker);
                let tool = tool.map(|tool| format!(" <code>{}</code>", escape_html(&tool)));
                let seen = escape_html(&preview(&body));
                let summary = format!(
                    "<summary>{who}{} <span class=\"glimpse\">{seen}</span>{at}</summary>",
                    tool.unwrap_or_default()
                );
                format!("<details>{summary}\n<pre>{}</pre></details>", escape_html(&body))
            }
            SpeakerRole::Thought => {
                let text = self.text(said);
                format!(
                    "<details><summary>{who}{at}</summary>\n<div class=\"text\" dir=\"auto\">{text}</div></details>"
                )
            }
            _ => {
                let text = self.text(said);
                format!("<header>{who}{at}</header>\n<div class=\"text\" dir=\"auto\">{text}</div>")
            }
        };
        let day = self.new_day(said.time);
        let role = role.as_str();
        let is_same = self.last_speaker.as_ref() == Some(&said.speaker);
        self.last_speaker = Some(said.speaker.clone());
        let same = if is_same { " same" } else { "" };
        format!("{day}<article class=\"{role} c{colour}{same}\" id=\"{id}\">{inside}</article>\n")
    }

    /// Returns the text of a message, with its actions and attachments.
    fn text(&self, said: &Message) -> String {
        let formatted = said.extras.formatted_text.as_deref().filter(|_| said.extras.is_empty());
        let formatted = formatted.and_then(|html| markup::richer_html(html, &said.spoken));
        let mut text = formatted.unwrap_or_else(|| markup::markdown_to_inert_html(&said.spoken));
        for attachment in &said.extras.attachments {
            text.push_str(&self.attachment(attachment));
        }
        text
    }

    fn attachment(&self, attachment: &Attachment) -> String {
        let Some(picture) = Picture::of(attachment, self.pictures) else {
            let words = escape_html(&attachment.describe());
            return format!("<p class=\"attachment\" dir=\"auto\">{words}</p>\n");
        };
        let about = escape_html(attachment.description.trim());
        let caption = match about.is_empty() {
            true => String::new(),
            false => format!("<figcaption dir=\"auto\">{about}</figcaption>"),
        };
        let Picture { width, height, .. } = picture;
        format!(
            "<figure><img src=\"{}\" alt=\"{about}\" width=\"{width}\" height=\"{height}\" loading=\"lazy\">{caption}</figure>\n",
            picture.data_url()
        )
    }

    fn changes(changes: &TurnChanges) -> String {
        let row = |place: &str, words: &str| {
            format!(
                "<li><code>{}</code> <span>{}</span></li>\n",
                escape_html(place),
                escape_html(words)
            )
        };
        let rows = changes.lines.iter().map(|line| row(&line.place, &line.describe()));
        let number = format_count(changes.lines.len() as u64, "change", "changes");
        format!(
            "<details class=\"changes\"><summary>{number} to the state <span class=\"at\">turn {}</span></summary>\n<ul>\n{}</ul>\n</details>\n",
            changes.turn,
            rows.collect::<String>()
        )
    }

    fn cover(&self, cover: &SessionCover, outline: &SessionOutline) -> String {
        let kicker = match outline.times {
            Some((first, _)) if self.is_rich() => time_element(first, &format_day(first)),
            _ => String::new(),
        };
        let mut text = format!(
            "<header class=\"cover\">\n<p class=\"kicker\">{kicker}</p>\n<h1 dir=\"auto\">{}</h1>\n",
            escape_html(&cover.title)
        );
        if self.choices.metadata {
            text.push_str("<dl class=\"facts\">\n");
            for (name, value) in session_facts(cover, outline) {
                text.push_str(&format!(
                    "<div><dt>{name}</dt><dd dir=\"auto\">{}</dd></div>\n",
                    escape_html(&value)
                ));
            }
            text.push_str("</dl>\n");
        }
        text.push_str("</header>\n");
        text
    }
}

/// The controls. They work without scripts or are hidden.
const BAR: &str = r#"<div class="bar">
<form id="filter" role="search" hidden><input type="search" aria-label="Show only entries that contain these words" placeholder="Filter" autocomplete="off"><output aria-live="polite"></output></form>
<fieldset class="theme" aria-label="Theme">
<label title="Follow the system theme"><input type="radio" name="theme" id="theme-auto" checked><span>Auto</span></label>
<label title="Light"><input type="radio" name="theme" id="theme-light"><span>Light</span></label>
<label title="Dark"><input type="radio" name="theme" id="theme-dark"><span>Dark</span></label>
</fieldset>
</div>
"#;

impl PieceWriter for HtmlWriter<'_> {
    fn begin(
        &mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<String, ExportError> {
        self.speakers =
            outline.speakers.iter().map(|SpeakerStats { name, .. }| name.clone()).collect();
        let contents = self.contents(outline);
        let class = if contents.is_empty() { "plain" } else { "with-contents" };
        let language = escape_html(self.choices.language.as_deref().unwrap_or("en"));
        let (style, script) = (csp_hash(CSS), csp_hash(SCRIPT));
        let title = escape_html(&cover.title);
        Ok(format!(
            "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"generator\" content=\"Everturn\">\n\
             <title>{title}</title>\n<style>{CSS}</style>\n</head>\n<body class=\"{class} {}\">\n\
             {}{BAR}{contents}<main>\n",
            self.choices.style.as_str(),
            self.cover(cover, outline),
        ))
    }

    fn piece(&mut self, piece: &ExportPiece) -> Result<String, ExportError> {
        Ok(match piece {
            ExportPiece::Heading(mark) => self.heading(mark),
            ExportPiece::Turn { number, .. } if self.is_rich() => {
                format!("<span class=\"turn\" id=\"t-{number}\"></span>")
            }
            ExportPiece::Turn { .. } => String::new(),
            ExportPiece::Changes(changes) if changes.lines.is_empty() => String::new(),
            ExportPiece::Message(said) => self.message(said),
            ExportPiece::Changes(changes) => HtmlWriter::changes(changes),
        })
    }

    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError> {
        let mut text = String::new();
        if self.in_chapter {
            text.push_str("</section>\n");
        }
        text.push_str("</main>\n<footer>\n");
        if !state.is_empty() {
            text.push_str("<h2>The state at the end</h2>\n");
        }
        for (scope, value) in state {
            text.push_str(&format!(
                "<details class=\"state\"><summary>{}</summary>\n<pre>{}</pre></details>\n",
                escape_html(scope),
                escape_html(value)
            ));
        }
        if self.is_rich() {
            text.push_str("<p class=\"colophon\">Times are UTC.</p>\n");
        }
        text.push_str(&format!("</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"));
        Ok(text)
    }
}
