//! The content of a book appears in the file.

use everturn_typeset::{
    Block, Book, Chapter, FrontMatter, ListMarker, Options, PaperSize, PdfDate, SpeakerLine,
    TextRun, typeset,
};

use crate::reader::{Reader, book, front, plain, read};

/// Every kind of block, each with a unique word.
fn every_block() -> Vec<Block> {
    let text = |word: &str| vec![TextRun::plain(word)];
    vec![
        plain("wparagraph"),
        Block::Paragraph(vec![
            TextRun::bold("wbold "),
            TextRun::italic("witalic "),
            TextRun::code("wcode "),
            TextRun::link("wlink"),
        ]),
        Block::Heading { level: 1, text: text("wheading") },
        Block::Speaker(SpeakerLine {
            who: "wspeaker".into(),
            when: "wwhen".into(),
            kind: "wkind".into(),
            turn: Some(4711),
        }),
        Block::Quotation { depth: 0, text: text("wquotation") },
        Block::Item { depth: 0, marker: ListMarker::Bullet, text: text("wbullet") },
        Block::Item { depth: 1, marker: ListMarker::Number(7), text: text("wnumber") },
        Block::Item { depth: 1, marker: ListMarker::None, text: text("wmore") },
        Block::Code("wblock {\n\twindented\n}".into()),
        Block::Break,
        Block::Note { label: "wlabel".into(), text: text("wnote") },
    ]
}

#[test]
fn every_block_is_on_the_page_in_order() {
    let (pdf, reader) = read(every_block());
    assert_eq!(pdf.pages, 3);
    let words = [
        "wparagraph",
        "wbold",
        "witalic",
        "wcode",
        "wlink",
        "wheading",
        "wspeaker",
        "wkind",
        "wwhen",
        "4711",
        "wquotation",
        "•",
        "wbullet",
        "7.",
        "wnumber",
        "wmore",
        "wblock",
        "windented",
        "wlabel",
        "wnote",
    ];
    let page = reader.page(3);
    let mut at = 0;
    for word in words {
        let found = page[at..].find(word);
        at += found.unwrap_or_else(|| panic!("{word} is not in {:?}", &page[at..]));
    }
}

#[test]
fn the_title_page_has_what_is_known() {
    let check = |front: FrontMatter, expect: &str| {
        let pdf = typeset(&Book { front, chapters: Vec::new() }, &Options::default()).unwrap();
        assert_eq!(pdf.pages, 1);
        assert_eq!(Reader::of(&pdf).page(1), expect);
    };
    check(FrontMatter { title: "A".into(), ..FrontMatter::default() }, "A");
    check(
        FrontMatter {
            title: "A".into(),
            subtitle: "B".into(),
            author: "C".into(),
            imprint: "D\nE".into(),
            ..FrontMatter::default()
        },
        "A B C D E",
    );
}

#[test]
fn the_contents_name_chapters_and_pages() {
    let chapter = |title: &str, lines: usize| Chapter {
        title: title.into(),
        blocks: (0..lines).map(|_| plain("line")).collect(),
    };
    let chapters = vec![chapter("Dust", 80), chapter("", 1), chapter("Salt", 1)];
    let check = |language: &str, expect: &str| {
        let book = Book { front: front(language), chapters: chapters.clone() };
        let pdf = typeset(&book, &Options::default()).unwrap();
        assert_eq!(Reader::of(&pdf).page(2), expect);
    };
    check("en", "Contents Dust 1 Salt 5");
    check("de-CH", "Inhalt Dust 1 Salt 5");
    check("", "Contents Dust 1 Salt 5");
}

#[test]
fn the_outline_leads_to_chapters_and_headings() {
    let heading = |level, word: &str| Block::Heading { level, text: vec![TextRun::plain(word)] };
    let chapter = |title: &str, blocks| Chapter { title: title.into(), blocks };
    let chapters = vec![
        chapter("Dust", vec![heading(1, "Gate"), plain("a"), heading(2, "Lock"), plain("b")]),
        chapter("", vec![plain("c")]),
        chapter("Salt", vec![heading(3, "Deep"), plain("d"), heading(1, "Well"), plain("e")]),
    ];
    let pdf = typeset(&Book { front: front("en"), chapters }, &Options::default()).unwrap();
    let outline = Reader::of(&pdf).outline();
    let expect = [
        (1, "Dust", 3),
        (2, "Gate", 3),
        (3, "Lock", 3),
        (1, "Salt", 5),
        (2, "Deep", 5),
        (2, "Well", 5),
    ];
    let expect = expect.map(|(level, title, page)| (level, title.to_owned(), page));
    assert_eq!(outline, expect);
}

#[test]
fn the_file_says_what_it_is() {
    let mut book = book(every_block());
    book.front.author = "Mira".into();
    book.front.subtitle = "A campaign".into();
    book.front.language = "de-AT".into();
    book.front.date =
        Some(PdfDate { year: 2026, month: 4, day: 9, hour: 21, minute: 5, second: 7 });
    let reader = Reader::of(&typeset(&book, &Options::default()).unwrap());
    assert_eq!(reader.information("Title").as_deref(), Some("The Salt Road"));
    assert_eq!(reader.information("Author").as_deref(), Some("Mira"));
    assert_eq!(reader.information("Subject").as_deref(), Some("A campaign"));
    let date = reader.information("CreationDate").unwrap();
    assert!(date.starts_with("D:20260409210507"), "{date}");
    let language = reader.catalog().get(b"Lang").and_then(|lang| lang.as_str()).unwrap();
    assert_eq!(language, b"de-AT");
}

#[test]
fn without_a_date_the_file_has_none() {
    let (_, reader) = read(vec![plain("a")]);
    assert_eq!(reader.information("CreationDate"), None);
}

#[test]
fn the_text_has_a_structure() {
    let (_, reader) = read(every_block());
    assert!(reader.catalog().has(b"StructTreeRoot"));
    let expect = [
        ("Sect", 3),
        ("H1", 1),
        ("H2", 1),
        ("BlockQuote", 1),
        ("L", 1),
        ("LI", 3),
        ("Code", 1),
        ("Note", 1),
        ("TOC", 1),
        ("TOCI", 1),
        ("Link", 1),
    ];
    for (kind, count) in expect {
        assert_eq!(reader.count_structure(kind), count, "{kind}");
    }
}

#[test]
fn a_paragraph_over_two_pages_is_one_element() {
    let (pdf, reader) = read(vec![plain(&"word and word ".repeat(200))]);
    assert_eq!(pdf.pages, 4);
    // One on the title page, one for the heading of the contents.
    assert_eq!(reader.count_structure("P"), 2);
}

#[test]
fn the_same_book_gives_the_same_bytes() {
    let make = || typeset(&book(every_block()), &Options::default()).unwrap();
    assert_eq!(make(), make());
}

#[test]
fn every_paper_has_lines_of_about_as_many_letters() {
    let text = "The watchman counted the camels as they came over the last dune. ".repeat(120);
    for paper in [PaperSize::A5, PaperSize::A4, PaperSize::Letter] {
        let options = Options { paper, ..Options::default() };
        let pdf = typeset(&book(vec![plain(&text)]), &options).unwrap();
        let letters = text.chars().count();
        let lines_of_a_page = if paper == PaperSize::A5 { 35 } else { 39 };
        let per_line = letters / ((pdf.pages - 2) * lines_of_a_page);
        assert!((50..=72).contains(&per_line), "{paper:?}: {} pages", pdf.pages);
    }
}
