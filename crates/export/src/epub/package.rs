//! The files that describe a book: its package, its table of contents, and its cover.

use jiff::Timestamp;

use super::escape_xml;
use crate::columns::wrap_text;

/// Says where the package is.
pub(super) const CONTAINER: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles>
</container>
"#;

/// A file of the text.
pub(super) struct ChapterFile {
    pub(super) name: String,
    /// Its title in the contents; a continuation has none.
    pub(super) title: Option<String>,
    /// The anchors and names of its scenes.
    pub(super) scenes: Vec<(String, String)>,
}

/// A picture in the book.
pub(super) struct PictureFile {
    pub(super) name: String,
    pub(super) media_type: &'static str,
}

/// What the package says about the book.
pub(super) struct BookMetadata<'m> {
    pub(super) id: &'m str,
    pub(super) title: &'m str,
    pub(super) language: &'m str,
    pub(super) series: Option<&'m str>,
    pub(super) protagonist: Option<&'m str>,
    /// The time of the first entry.
    pub(super) first: Option<Timestamp>,
    pub(super) now: Timestamp,
}

/// Returns a language tag that is certainly well-formed.
pub(super) fn book_language(language: Option<&str>) -> String {
    let is_tag = |tag: &&str| {
        let mut parts = tag.split('-');
        let first = parts.next().is_some_and(|first| {
            (2..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        });
        first
            && parts.all(|part| {
                (2..=8).contains(&part.len())
                    && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            })
    };
    language.filter(is_tag).unwrap_or("en").to_owned()
}

/// Returns whether a language is written from right to left.
fn is_rtl(language: &str) -> bool {
    let first = language.split('-').next().unwrap_or_default().to_ascii_lowercase();
    ["ar", "fa", "he", "ps", "sd", "ug", "ur", "yi"].contains(&first.as_str())
}

/// Returns the package document.
pub(super) fn package(
    about: &BookMetadata<'_>,
    chapters: &[ChapterFile],
    pictures: &[PictureFile],
) -> String {
    let mut metadata = format!(
        "<dc:identifier id=\"id\">urn:everturn:{}</dc:identifier>\n<dc:title>{}</dc:title>\n<dc:language>{}</dc:language>\n",
        escape_xml(about.id),
        escape_xml(about.title),
        about.language
    );
    if let Some(protagonist) = about.protagonist {
        metadata
            .push_str(&format!("<dc:contributor>{}</dc:contributor>\n", escape_xml(protagonist)));
    }
    if let Some(series) = about.series {
        metadata.push_str(&format!(
            "<meta property=\"belongs-to-collection\" id=\"series\">{}</meta>\n<meta refines=\"#series\" property=\"collection-type\">series</meta>\n",
            escape_xml(series)
        ));
    }
    if let Some(first) = about.first {
        metadata.push_str(&format!("<dc:date>{}</dc:date>\n", first.strftime("%Y-%m-%d")));
    }
    let now = about.now.strftime("%Y-%m-%dT%H:%M:%SZ");
    metadata.push_str(&format!("<meta property=\"dcterms:modified\">{now}</meta>\n"));
    let mut manifest = String::from(
        "<item id=\"nav\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\" properties=\"nav\"/>\n\
         <item id=\"cover\" href=\"cover.svg\" media-type=\"image/svg+xml\" properties=\"cover-image\"/>\n\
         <item id=\"css\" href=\"book.css\" media-type=\"text/css\"/>\n\
         <item id=\"title\" href=\"title.xhtml\" media-type=\"application/xhtml+xml\"/>\n",
    );
    let mut spine = String::from("<itemref idref=\"title\"/>\n");
    for (number, file) in chapters.iter().enumerate() {
        manifest.push_str(&format!(
            "<item id=\"c{number}\" href=\"{}\" media-type=\"application/xhtml+xml\"/>\n",
            file.name
        ));
        spine.push_str(&format!("<itemref idref=\"c{number}\"/>\n"));
    }
    for (number, picture) in pictures.iter().enumerate() {
        manifest.push_str(&format!(
            "<item id=\"p{number}\" href=\"{}\" media-type=\"{}\"/>\n",
            picture.name, picture.media_type
        ));
    }
    let direction = if is_rtl(about.language) { " page-progression-direction=\"rtl\"" } else { "" };
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\" unique-identifier=\"id\" xml:lang=\"{}\">\n\
         <metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n{metadata}</metadata>\n\
         <manifest>\n{manifest}</manifest>\n<spine{direction}>\n{spine}</spine>\n</package>\n",
        about.language
    )
}

/// Returns the table of contents: chapters, and the scenes in them.
pub(super) fn contents(chapters: &[ChapterFile], title: &str) -> String {
    let mut list = String::new();
    for file in chapters {
        let scenes: String = file
            .scenes
            .iter()
            .map(|(id, name)| link(&format!("{}#{id}", file.name), name, ""))
            .collect();
        let inner = match scenes.is_empty() {
            true => String::new(),
            false => format!("\n<ol>\n{scenes}</ol>\n"),
        };
        match &file.title {
            Some(title) => list.push_str(&link(&file.name, title, &inner)),
            None => list.push_str(&scenes),
        }
    }
    if list.is_empty() {
        list = link("title.xhtml", title, "");
    }
    format!(
        "<body>\n<nav epub:type=\"toc\" id=\"toc\">\n<h1>Contents</h1>\n<ol>\n{list}</ol>\n</nav>\n</body>\n"
    )
}

fn link(target: &str, name: &str, inner: &str) -> String {
    let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("…");
    format!("<li dir=\"auto\"><a href=\"{target}\">{}</a>{inner}</li>\n", escape_xml(name))
}

/// Returns the cover: the title on a plain background.
pub(super) fn cover_picture(title: &str) -> String {
    let mut lines = wrap_text(title, 18);
    if lines.len() > 8 {
        lines.truncate(8);
        lines.push("…".to_owned());
    }
    let lines = lines.iter().enumerate().map(|(number, line)| {
        let y = 520 + number * 96;
        format!("<text x=\"600\" y=\"{y}\">{}</text>\n", escape_xml(line))
    });
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 1600\" width=\"1200\" height=\"1600\">\n\
         <rect width=\"1200\" height=\"1600\" fill=\"#2f3b46\"/>\n\
         <rect x=\"60\" y=\"60\" width=\"1080\" height=\"1480\" fill=\"none\" stroke=\"#d9c9a3\" stroke-width=\"6\"/>\n\
         <g fill=\"#f6efe0\" font-family=\"serif\" font-size=\"80\" text-anchor=\"middle\">\n{}</g>\n</svg>\n",
        lines.collect::<String>()
    )
}
