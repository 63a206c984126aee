//! Hostile and very large input.

use std::time::{Duration, Instant};

use everturn_typeset::{
    Block, Book, Chapter, FrontMatter, ListMarker, Options, RunStyle, SpeakerLine, TextRun,
    Typesetter, typeset,
};

use crate::reader::{Reader, book, front, plain, read};

#[test]
fn an_empty_book_has_a_page() {
    let pdf = typeset(&Book::default(), &Options::default()).unwrap();
    assert_eq!(pdf.pages, 1);
    Reader::of(&pdf);
}

#[test]
fn empty_chapters_and_blocks_do_no_harm() {
    let empty = Chapter::default();
    let blocks = vec![
        plain(""),
        plain(" \n\t\n "),
        Block::Paragraph(Vec::new()),
        Block::Heading { level: 0, text: Vec::new() },
        Block::Heading { level: 255, text: vec![TextRun::plain("")] },
        Block::Speaker(SpeakerLine::default()),
        Block::Quotation { depth: 0, text: Vec::new() },
        Block::Item { depth: 0, marker: ListMarker::Bullet, text: Vec::new() },
        Block::Code(String::new()),
        Block::Code("\n\n\n".into()),
        Block::Note { label: String::new(), text: Vec::new() },
    ];
    let chapters = vec![empty.clone(), Chapter { title: " ".into(), blocks }, empty];
    let pdf = typeset(&Book { front: front("en"), chapters }, &Options::default()).unwrap();
    Reader::of(&pdf);
}

#[test]
fn a_heading_at_the_end_is_not_lost() {
    let (_, reader) =
        read(vec![plain("a"), Block::Heading { level: 1, text: vec![TextRun::plain("last")] }]);
    assert!(reader.page(3).contains("last"));
}

#[test]
fn controls_neither_reorder_nor_hide_the_text() {
    let check = |text: &str, expect: &str| {
        let (_, reader) = read(vec![plain(text)]);
        let page = reader.page(3);
        assert!(page.ends_with(expect), "{page:?}");
    };
    check("user\u{202e}fdp.exe and more", "userfdp.exe and more");
    check("a\u{2067}b\u{2066}c d", "abc d");
    check("\u{1b}[2J\u{7}gone\u{0}", "^[[2J^Ggone^@");
    check("a\u{e0069}\u{e0067}b", "ab");
    // In titles, too: they appear in running heads and in the outline.
    let title = "Du\u{202e}st\u{1b}]0;x".to_owned();
    let chapters = vec![Chapter { title, blocks: vec![plain("a")] }];
    let pdf = typeset(&Book { front: front("en"), chapters }, &Options::default()).unwrap();
    assert_eq!(Reader::of(&pdf).outline()[0].1, "Dust^[]0;x");
}

#[test]
fn long_titles_and_names_are_cut_off() {
    let long = "long ".repeat(100_000);
    let front = FrontMatter {
        title: long.clone(),
        subtitle: long.clone(),
        author: long.clone(),
        imprint: "line\n".repeat(10_000),
        ..front("en")
    };
    let speaker = SpeakerLine {
        who: long.clone(),
        when: long.clone(),
        kind: long.clone(),
        turn: Some(u64::MAX),
    };
    let blocks = vec![
        Block::Speaker(speaker),
        plain(&"word ".repeat(2_000)),
        Block::Heading { level: 1, text: vec![TextRun::plain(long.as_str())] },
        plain("end"),
    ];
    let pdf = typeset(
        &Book { front, chapters: vec![Chapter { title: long, blocks }] },
        &Options::default(),
    );
    let reader = Reader::of(&pdf.unwrap());
    assert!(reader.outline()[0].1.chars().count() < 300);
}

#[test]
fn marks_without_end_and_letters_without_width_do_no_harm() {
    let (_, reader) = read(vec![
        plain(&format!("z{}", "\u{36f}".repeat(100_000))),
        plain(&"\u{200d}".repeat(50_000)),
        plain(&"👩\u{200d}".repeat(5_000)),
        plain(&"\u{200b}\u{3000}\u{2003}\u{a0}".repeat(3_000)),
        plain(&"אב1,".repeat(5_000)),
        plain(&"\u{fdfa}".repeat(2_000)),
        plain("end"),
    ]);
    assert!(reader.text().contains("end"));
}

#[test]
fn lists_may_be_deep_and_numbers_large() {
    let item = |depth: u8| Block::Item {
        depth,
        marker: ListMarker::Number(u64::MAX),
        text: vec![TextRun::plain(format!(
            "depth{depth} and words that go on for more than a line or two"
        ))],
    };
    let (_, reader) = read((0..=255).map(item).collect());
    assert!(reader.text().contains("depth255"));
}

#[test]
fn a_paragraph_may_have_very_many_styles() {
    let run = |number: usize| TextRun {
        text: "ab ".into(),
        style: RunStyle {
            bold: number.is_multiple_of(2),
            struck: number.is_multiple_of(2),
            italic: number.is_multiple_of(3),
            code: number.is_multiple_of(5),
            link: number.is_multiple_of(7),
        },
    };
    let (pdf, _) = read(vec![Block::Paragraph((0..20_000).map(run).collect())]);
    assert!(pdf.pages > 20);
}

/// A deterministic pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// Returns a text of all kinds of characters, some of them frequent.
    fn text(&mut self) -> String {
        const BLOCKS: &[(u32, u64)] = &[
            (0x20, 0x5f),
            (0x20, 0x5f),
            (0x0, 0xff),
            (0x300, 0x70),
            (0x590, 0x170),
            (0x900, 0x500),
            (0x2000, 0x70),
            (0x2190, 0x700),
            (0x3000, 0x6000),
            (0x1_f000, 0xa00),
            (0x0, 0x11_0000),
        ];
        let length = self.below(120);
        let pick = |dice: &mut Self| {
            let block = usize::try_from(dice.below(BLOCKS.len() as u64)).unwrap();
            let (start, size) = BLOCKS.get(block).copied().unwrap();
            if dice.below(6) == 0 {
                return ' ';
            }
            let offset = u32::try_from(dice.below(size)).unwrap();
            char::from_u32(start + offset).unwrap_or('\n')
        };
        (0..length).map(|_| pick(self)).collect()
    }
}

#[test]
fn any_text_can_be_set() {
    let mut dice = Dice(7);
    let mut blocks = Vec::new();
    for _ in 0..1_500 {
        let style = RunStyle {
            bold: dice.below(4) == 0,
            struck: dice.below(4) == 0,
            italic: dice.below(4) == 0,
            code: dice.below(4) == 0,
            link: dice.below(4) == 0,
        };
        let text = vec![TextRun::plain(dice.text()), TextRun { text: dice.text(), style }];
        blocks.push(match dice.below(7) {
            0 => Block::Heading { level: 1, text },
            1 => Block::Quotation { depth: 1, text },
            2 => Block::Item { depth: 3, marker: ListMarker::Number(dice.below(1 << 40)), text },
            3 => Block::Note { label: dice.text(), text },
            4 => Block::Code(dice.text()),
            5 => Block::Speaker(SpeakerLine {
                who: dice.text(),
                when: dice.text(),
                ..SpeakerLine::default()
            }),
            _ => Block::Paragraph(text),
        });
    }
    let (pdf, _) = read(blocks);
    assert!(pdf.pages > 50 && !pdf.missing.is_empty());
}

/// Typesets a book of one large block, and checks the time it takes.
fn large(block: Block, most: Duration) -> (usize, Reader) {
    let start = Instant::now();
    let pdf = typeset(&book(vec![block, plain("end")]), &Options::default()).unwrap();
    assert!(start.elapsed() < most, "{:?}", start.elapsed());
    let reader = Reader::of(&pdf);
    assert!(reader.page(pdf.pages).ends_with("end"));
    (pdf.pages, reader)
}

#[test]
fn a_word_of_100_000_letters_is_cut_into_lines() {
    let (pages, reader) = large(plain(&"x".repeat(100_000)), Duration::from_secs(60));
    assert!((40..60).contains(&pages), "{pages}");
    assert_eq!(reader.text().matches('x').count(), 100_000);
    large(Block::Code("y".repeat(100_000)), Duration::from_secs(60));
}

#[test]
fn a_paragraph_of_ten_megabytes_is_set() {
    let text = "Salt and dust and water. ".repeat(400_000);
    let (pages, _) = large(plain(&text), Duration::from_secs(300));
    assert!((4_000..6_000).contains(&pages), "{pages}");
}

#[test]
fn a_book_is_taken_block_by_block() {
    let mut press = Typesetter::new(&front("en"), &Options::default()).unwrap();
    press.add_block(&plain("before any chapter"));
    for number in 0..40 {
        press.start_chapter(&format!("Chapter {number}"));
        for _ in 0..20 {
            press.add_block(&plain("Some words that are said, and some more of them after that."));
        }
    }
    let pdf = press.finish().unwrap();
    let reader = Reader::of(&pdf);
    assert_eq!(reader.outline().len(), 40);
    // Title page, two pages of contents, a blank page, the text before the chapters, and the chapters.
    assert_eq!(pdf.pages, 1 + 3 + 1 + 40);
}
