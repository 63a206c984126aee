//! Reads PDF files for the tests.

use everturn_typeset::{Block, Book, Chapter, FrontMatter, Options, Pdf, TextRun, typeset};
use lopdf::{Dictionary, Document, Object};

/// Reads a PDF; one that cannot be read fails the test.
pub(crate) struct Reader {
    document: Document,
}

impl Reader {
    pub(crate) fn of(pdf: &Pdf) -> Self {
        let document = Document::load_mem(&pdf.bytes).unwrap();
        assert_eq!(document.get_pages().len(), pdf.pages);
        Self { document }
    }

    /// Returns the text of a page, counted from 1, with white space collapsed.
    pub(crate) fn page(&self, number: usize) -> String {
        let number = u32::try_from(number).unwrap();
        let text = self.document.extract_text(&[number]).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // The word continues on the next line.
        text.replace("\u{ad} ", "\u{ad}")
    }

    /// Returns the text of all pages, with hyphenated words joined.
    pub(crate) fn text(&self) -> String {
        let pages = self.document.get_pages().len();
        (1..=pages).map(|number| self.page(number) + " ").collect::<String>().replace('\u{ad}', "")
    }

    /// Returns the outline: depth, title and page of each entry.
    pub(crate) fn outline(&self) -> Vec<(usize, String, u32)> {
        let Ok(contents) = self.document.get_toc() else { return Vec::new() };
        contents
            .toc
            .into_iter()
            .map(|entry| (entry.level, entry.title, page_of(entry.page)))
            .collect()
    }

    pub(crate) fn catalog(&self) -> &Dictionary {
        self.document.catalog().unwrap()
    }

    /// Returns an entry of the information dictionary.
    pub(crate) fn information(&self, key: &str) -> Option<String> {
        let information = self.document.trailer.get(b"Info").ok()?;
        let information = self.document.dereference(information).ok()?.1.as_dict().ok()?;
        let text = information.get(key.as_bytes()).ok()?;
        lopdf::decode_text_string(text).ok()
    }

    /// Returns the number of structure elements of a type.
    pub(crate) fn count_structure(&self, kind: &str) -> usize {
        let dictionaries =
            self.document.objects.values().filter_map(|object| object.as_dict().ok());
        let is_kind = |dictionary: &&Dictionary| {
            dictionary.get(b"S").and_then(Object::as_name).is_ok_and(|name| name == kind.as_bytes())
                && dictionary.has(b"P")
        };
        dictionaries.filter(is_kind).count()
    }

    /// Returns the names of the embedded fonts, without subset prefixes.
    pub(crate) fn fonts(&self) -> Vec<String> {
        let dictionaries =
            self.document.objects.values().filter_map(|object| object.as_dict().ok());
        let names = dictionaries.filter_map(|dictionary| {
            let name = dictionary.get(b"FontName").and_then(Object::as_name).ok()?;
            let embedded = dictionary.has(b"FontFile2") || dictionary.has(b"FontFile3");
            assert!(embedded, "{dictionary:?}");
            let name = String::from_utf8_lossy(name).into_owned();
            Some(name.split_once('+').map_or(name.clone(), |(_, name)| name.to_owned()))
        });
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }
}

fn page_of(page: impl TryInto<u32>) -> u32 {
    page.try_into().unwrap_or_default()
}

pub(crate) fn front(language: &str) -> FrontMatter {
    FrontMatter {
        title: "The Salt Road".into(),
        language: language.into(),
        ..FrontMatter::default()
    }
}

/// Returns a book of one chapter.
pub(crate) fn book(blocks: Vec<Block>) -> Book {
    Book { front: front("en"), chapters: vec![Chapter { title: "Dust".into(), blocks }] }
}

pub(crate) fn plain(text: &str) -> Block {
    Block::Paragraph(vec![TextRun::plain(text)])
}

/// Typesets a book of one chapter, and reads it.
pub(crate) fn read(blocks: Vec<Block>) -> (Pdf, Reader) {
    let pdf = typeset(&book(blocks), &Options::default()).unwrap();
    let reader = Reader::of(&pdf);
    (pdf, reader)
}
