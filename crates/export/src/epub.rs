//! Writes an EPUB 3: one XHTML file per chapter, its pictures, a cover, and a table of contents.
//!
//! [`EpubWriter`] turns pieces into XHTML, `package` describes the files. Texts are rendered by `everturn::markup` as
//! XHTML that contains only its own tags. The book has no scripts and refers to nothing outside of it.

mod package;

use std::io::{Cursor, Write};
use std::ops::ControlFlow;

use everturn::finding::Finding;
use everturn::markup::{escape_html, markdown_to_inert_xhtml};
use everturn::model::{Attachment, Mark, MarkKind};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::error::ExportError;
use crate::facts::{format_minute, session_facts};
use crate::options::{ExportOptions, ExportStyle};
use crate::output::{CountingWriter, ExportProgress, report_progress};
use crate::picture::{Picture, PictureFiles, PictureFormat};
use crate::piece::{ExportPiece, Message, SpeakerRole, TurnChanges};
use crate::source::{ExportSource, SessionCover, SessionOutline};
use package::{BookMetadata, ChapterFile, PictureFile, book_language};

const CSS: &str = include_str!("epub/book.css");

/// The size of a file above which a long chapter continues in another one; reading programs load a file as a whole.
const LONG_FILE: usize = 256 << 10;

/// The maximum size of all pictures of a book in bytes.
const ALL_PICTURES: usize = 256 << 20;

/// Writes the book. Returns the findings.
pub(crate) fn write(
    source: &ExportSource<'_>,
    cover: &SessionCover,
    outline: &SessionOutline,
    pictures: Option<&dyn PictureFiles>,
    out: &mut CountingWriter<'_>,
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
) -> Result<Vec<Finding>, ExportError> {
    let mut book = EpubWriter::new(source.choices, cover, pictures)?;
    book.title_page(cover, outline)?;
    let mut pieces = source.pieces(outline)?;
    let mut done = 0;
    while let Some(piece) = pieces.next() {
        match piece? {
            ExportPiece::Heading(mark) => book.heading(&mark)?,
            ExportPiece::Turn { .. } => {}
            ExportPiece::Message(said) => {
                book.message(&said)?;
                done += 1;
                let how_far = ExportProgress::Writing { done, total: outline.entries };
                report_progress(progress, how_far)?;
            }
            ExportPiece::Changes(changes) => book.changes(&changes),
        }
    }
    let findings = std::mem::take(&mut pieces.findings);
    drop(pieces);
    book.state(&source.last_state())?;
    out.put_bytes(&book.finish(cover, outline)?)?;
    Ok(findings)
}

/// Escapes text for XML. Characters that XML cannot contain are replaced.
fn escape_xml(text: &str) -> String {
    replace_invalid(escape_html(text))
}

/// Replaces the characters that XML cannot contain. Markdown can produce them from entities.
fn replace_invalid(text: String) -> String {
    let is_invalid = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    match text.contains(is_invalid) {
        true => text.replace(is_invalid, "\u{fffd}"),
        false => text,
    }
}

struct EpubWriter<'p> {
    zip: ZipWriter<Cursor<Vec<u8>>>,
    pictures: Option<&'p dyn PictureFiles>,
    is_rich: bool,
    has_facts: bool,
    language: String,
    title: String,
    /// The finished files, and the open one with its text.
    chapters: Vec<ChapterFile>,
    open: Option<(ChapterFile, String)>,
    images: Vec<PictureFile>,
    /// How many more bytes of pictures may be taken.
    room: usize,
    last_speaker: Option<String>,
}

impl<'p> EpubWriter<'p> {
    fn new(
        choices: &ExportOptions,
        cover: &SessionCover,
        pictures: Option<&'p dyn PictureFiles>,
    ) -> Result<EpubWriter<'p>, ExportError> {
        let mut book = EpubWriter {
            zip: ZipWriter::new(Cursor::new(Vec::new())),
            pictures,
            is_rich: choices.style != ExportStyle::Minimal,
            has_facts: choices.metadata,
            language: book_language(choices.language.as_deref()),
            title: Some(&cover.title)
                .filter(|title| !title.is_empty())
                .unwrap_or(&cover.id)
                .clone(),
            chapters: Vec::new(),
            open: None,
            images: Vec::new(),
            room: ALL_PICTURES,
            last_speaker: None,
        };
        // The first file says what the archive is, without compression.
        book.put("mimetype", CompressionMethod::Stored, b"application/epub+zip")?;
        book.put_text("META-INF/container.xml", package::CONTAINER)?;
        book.put_text("EPUB/book.css", CSS)?;
        Ok(book)
    }

    fn put(
        &mut self,
        name: &str,
        method: CompressionMethod,
        bytes: &[u8],
    ) -> Result<(), ExportError> {
        let options = SimpleFileOptions::default().compression_method(method);
        self.zip.start_file(name, options).map_err(std::io::Error::from)?;
        Ok(self.zip.write_all(bytes)?)
    }

    fn put_text(&mut self, name: &str, text: &str) -> Result<(), ExportError> {
        self.put(name, CompressionMethod::Deflated, text.as_bytes())
    }

    /// Puts an XHTML file into the book.
    fn put_page(&mut self, name: &str, title: &str, body: &str) -> Result<(), ExportError> {
        let language = &self.language;
        let title = escape_xml(title);
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE html>\n\
             <html xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:epub=\"http://www.idpf.org/2007/ops\" lang=\"{language}\" xml:lang=\"{language}\">\n\
             <head>\n<meta charset=\"utf-8\"/>\n<title>{title}</title>\n<link rel=\"stylesheet\" type=\"text/css\" href=\"book.css\"/>\n</head>\n\
             {body}</html>\n"
        );
        self.put_text(&format!("EPUB/{name}"), &text)
    }

    fn title_page(
        &mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<(), ExportError> {
        let title = escape_xml(&self.title);
        let mut body = format!(
            "<body epub:type=\"frontmatter\">\n<section class=\"title\" epub:type=\"titlepage\">\n<h1 dir=\"auto\">{title}</h1>\n"
        );
        if self.has_facts {
            body.push_str("<dl>\n");
            for (name, value) in session_facts(cover, outline) {
                let value = escape_xml(&value);
                body.push_str(&format!("<dt>{name}</dt>\n<dd dir=\"auto\">{value}</dd>\n"));
            }
            body.push_str("</dl>\n");
        }
        body.push_str("</section>\n</body>\n");
        let title = self.title.clone();
        self.put_page("title.xhtml", &title, &body)?;
        let cover = package::cover_picture(&self.title);
        self.put_text("EPUB/cover.svg", &cover)
    }

    /// Returns the text of the open file, which is opened if necessary.
    fn body(&mut self) -> &mut String {
        let (number, title) = (self.chapters.len() + 1, self.title.clone());
        let is_first = self.chapters.is_empty();
        let open = self.open.get_or_insert_with(|| {
            // Only what precedes the first chapter is listed under the title of the book.
            let title = Some(title).filter(|_| is_first);
            (
                ChapterFile { name: format!("c{number:04}.xhtml"), title, scenes: Vec::new() },
                String::new(),
            )
        });
        &mut open.1
    }

    fn close_file(&mut self) -> Result<(), ExportError> {
        let Some((file, text)) = self.open.take() else { return Ok(()) };
        let title = file.title.clone().unwrap_or_else(|| self.title.clone());
        let body = format!(
            "<body epub:type=\"bodymatter\">\n<section epub:type=\"chapter\">\n{text}</section>\n</body>\n"
        );
        self.put_page(&file.name, &title, &body)?;
        self.chapters.push(file);
        Ok(())
    }

    fn start_chapter(&mut self, title: &str) -> Result<(), ExportError> {
        self.close_file()?;
        let name = format!("c{:04}.xhtml", self.chapters.len() + 1);
        let shown = Some(title.trim()).filter(|title| !title.is_empty()).unwrap_or("…");
        let heading = format!("<h1 dir=\"auto\">{}</h1>\n", escape_xml(shown));
        let file = ChapterFile { name, title: Some(shown.to_owned()), scenes: Vec::new() };
        self.open = Some((file, heading));
        Ok(())
    }

    fn heading(&mut self, mark: &Mark) -> Result<(), ExportError> {
        self.last_speaker = None;
        match mark.kind {
            MarkKind::Chapter => self.start_chapter(&mark.name)?,
            MarkKind::Scene => {
                let name = escape_xml(&mark.name);
                self.body();
                if let Some((file, text)) = &mut self.open {
                    let id = format!("s{}", file.scenes.len() + 1);
                    text.push_str(&format!("<h2 id=\"{id}\" dir=\"auto\">{name}</h2>\n"));
                    file.scenes.push((id, mark.name.clone()));
                }
            }
            _ if self.is_rich => {
                let kind = escape_xml(&mark.kind.to_string());
                let line = format!(
                    "<p class=\"note\"><b>{kind}</b> <bdi>{}</bdi></p>\n",
                    escape_xml(&mark.name)
                );
                self.body().push_str(&line);
            }
            _ => return Ok(()),
        }
        if self.is_rich && !mark.description.trim().is_empty() {
            let about = escape_xml(mark.description.trim()).replace('\n', "<br/>\n");
            self.body().push_str(&format!("<p class=\"about\" dir=\"auto\">{about}</p>\n"));
        }
        Ok(())
    }

    fn message(&mut self, said: &Message) -> Result<(), ExportError> {
        if self.open.as_ref().is_some_and(|(_, text)| text.len() > LONG_FILE) {
            self.close_file()?;
        }
        let role = said.role();
        let last = self.last_speaker.replace(said.speaker.clone());
        let mut text = format!("<div class=\"{}\" id=\"e{}\">\n", role.as_str(), said.seq);
        if self.is_rich || last.as_ref() != Some(&said.speaker) {
            let note = role.note().map(|note| format!(" <i>{note}</i>")).unwrap_or_default();
            let time = said.time.filter(|_| self.is_rich).map(format_minute);
            let time = time.map(|time| format!(" <span class=\"at\">{time}</span>"));
            let who = escape_xml(&said.speaker);
            let time = time.unwrap_or_default();
            text.push_str(&format!("<p class=\"who\"><b><bdi>{who}</bdi></b>{note}{time}</p>\n"));
        }
        match role {
            SpeakerRole::Call | SpeakerRole::Answer => {
                let (tool, body) = said.tool();
                let tool = tool.filter(|tool| *tool != said.speaker);
                let tool = tool.map(|tool| format!("<p><code>{}</code></p>\n", escape_xml(&tool)));
                text.push_str(&tool.unwrap_or_default());
                text.push_str(&format!("<pre>{}</pre>\n", escape_xml(&body)));
            }
            _ => {
                text.push_str(&replace_invalid(markdown_to_inert_xhtml(&said.spoken)));
                for attachment in &said.extras.attachments {
                    text.push_str(&self.attachment(attachment)?);
                }
            }
        }
        text.push_str("</div>\n");
        self.body().push_str(&text);
        Ok(())
    }

    fn attachment(&mut self, attachment: &Attachment) -> Result<String, ExportError> {
        let picture = Picture::of(attachment, self.pictures);
        // WebP is not among the formats that every reading program shows.
        let picture = picture
            .filter(|picture| picture.format != PictureFormat::Webp)
            .filter(|picture| picture.bytes.len() <= self.room);
        let Some(picture) = picture else {
            let words = escape_xml(&attachment.describe());
            return Ok(format!("<p class=\"note\" dir=\"auto\">{words}</p>\n"));
        };
        self.room -= picture.bytes.len();
        let number = self.images.len() + 1;
        let name = format!("picture-{number:04}.{}", picture.format.extension());
        self.put(&format!("EPUB/{name}"), CompressionMethod::Stored, &picture.bytes)?;
        self.images
            .push(PictureFile { name: name.clone(), media_type: picture.format.media_type() });
        let about = escape_xml(attachment.description.trim());
        let caption = match about.is_empty() {
            true => String::new(),
            false => format!("<figcaption dir=\"auto\">{about}</figcaption>"),
        };
        Ok(format!("<figure><img src=\"{name}\" alt=\"{about}\"/>{caption}</figure>\n"))
    }

    fn changes(&mut self, changes: &TurnChanges) {
        if changes.lines.is_empty() {
            return;
        }
        let line = |place: &str, words: &str| {
            format!("<li><code>{}</code> {}</li>\n", escape_xml(place), escape_xml(words))
        };
        let lines = changes.lines.iter().map(|change| line(&change.place, &change.describe()));
        let list = format!("<ul class=\"note\">\n{}</ul>\n", lines.collect::<String>());
        self.body().push_str(&list);
    }

    fn state(&mut self, state: &[(String, String)]) -> Result<(), ExportError> {
        if !state.is_empty() {
            self.start_chapter("The state at the end")?;
        }
        for (scope, value) in state {
            let (scope, value) = (escape_xml(scope), escape_xml(value));
            self.body().push_str(&format!("<h2>{scope}</h2>\n<pre>{value}</pre>\n"));
        }
        Ok(())
    }

    /// Writes what describes the files. Returns the archive.
    fn finish(
        mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<Vec<u8>, ExportError> {
        self.close_file()?;
        let contents = package::contents(&self.chapters, &self.title);
        self.put_page("nav.xhtml", "Contents", &contents)?;
        let credit = |label: &str| {
            cover.credits.iter().find(|(name, _)| *name == label).map(|(_, value)| value.as_str())
        };
        let metadata = BookMetadata {
            id: &cover.id,
            title: &self.title,
            language: &self.language,
            series: credit("Series"),
            protagonist: credit("Protagonist"),
            first: outline.times.map(|(first, _)| first),
            now: cover.now,
        };
        let package = package::package(&metadata, &self.chapters, &self.images);
        self.put_text("EPUB/package.opf", &package)?;
        let archive = self.zip.finish().map_err(std::io::Error::from)?;
        Ok(archive.into_inner())
    }
}
