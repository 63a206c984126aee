//! Typesets a sample book with every kind of block: `cargo run --example sample > sample.pdf`.
//!
//! `sample system` also uses system fonts; `sample PATH...` uses those of directories; `a4` and `letter` select larger
//! pages. A number typesets a long book of that many messages instead.

use std::io::Write;

use everturn_typeset::{
    Block, Book, Chapter, FrontMatter, ListMarker, Options, PaperSize, PdfDate, RunStyle,
    SpeakerLine, TextRun, Typesetter, typeset,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(messages) = words.first().and_then(|word| word.parse().ok()) {
        return long_book(messages);
    }
    let mut options = Options::default();
    for word in &words {
        match word.as_str() {
            "system" => options.fonts.system = true,
            "a4" => options.paper = PaperSize::A4,
            "letter" => options.paper = PaperSize::Letter,
            path => options.fonts.paths.push(path.into()),
        }
    }
    let pdf = typeset(&book(), &options)?;
    for missing in &pdf.missing {
        writeln!(std::io::stderr(), "no font has {:?} ({}x)", missing.character, missing.count)?;
    }
    std::io::stdout().write_all(&pdf.bytes)?;
    Ok(())
}

/// Typesets a book with one chapter per hundred messages, without keeping them in memory.
fn long_book(messages: usize) -> Result<(), Box<dyn std::error::Error>> {
    let front =
        FrontMatter { title: "A Long Log".into(), language: "en".into(), ..FrontMatter::default() };
    let mut press = Typesetter::new(&front, &Options::default())?;
    for number in 0..messages {
        if number.is_multiple_of(100) {
            press.start_chapter(&format!("Messages from {number}"));
        }
        press.add_block(&said("Mira", "", number as u64));
        let text = STORY.get(number % STORY.len()).copied().unwrap_or_default();
        press.add_block(&Block::Paragraph(vec![TextRun::plain(text)]));
    }
    let pdf = press.finish()?;
    writeln!(std::io::stderr(), "{} pages, {} bytes", pdf.pages, pdf.bytes.len())?;
    std::io::stdout().write_all(&pdf.bytes)?;
    Ok(())
}

fn book() -> Book {
    Book {
        front: FrontMatter {
            title: "The Salt Road".into(),
            subtitle: "A campaign in three evenings".into(),
            author: "Mira and Teodor".into(),
            imprint: "3 March to 9 April 2026\n312 turns".into(),
            language: "en".into(),
            date: Some(PdfDate { year: 2026, month: 4, day: 9, hour: 21, minute: 30, second: 0 }),
        },
        chapters: vec![first_chapter(), second_chapter(), third_chapter()],
    }
}

const STORY: &[&str] = &[
    "The caravan had been late for three days when the watchman on the northern tower finally saw \
     the dust. He did not ring the bell. He had rung it twice that week for nothing but wind, and the \
     innkeeper had stopped believing him; so he stood with his hand on the rope and counted the \
     camels as they came over the last dune, one by one, until there were too few of them.",
    "“You came back without the salt,” said the innkeeper, who had an extraordinary memory for debts \
     and none at all for faces. “That is unfortunate. The moneylenders were asking for you again, and \
     their understanding of circumstances is, as you know, limited.”",
    "Between the well and the wall there was a narrow passage that nobody used any longer, except \
     for the cats and, occasionally, for those who had misunderstood the directions to the baths. \
     Somebody had scratched a row of numbers into the plaster there: not dates, and certainly not \
     prices, but something that went on and on in the same patient hand until it disappeared behind \
     a stack of firewood.",
    "Rain.",
];

fn said(who: &str, kind: &str, turn: u64) -> Block {
    Block::Speaker(SpeakerLine {
        who: who.into(),
        when: format!("{}:{:02}", 19 + turn / 60 % 5, turn % 60),
        kind: kind.into(),
        turn: Some(turn),
    })
}

fn plain(text: &str) -> Block {
    Block::Paragraph(vec![TextRun::plain(text)])
}

fn first_chapter() -> Chapter {
    let mut blocks = Vec::new();
    for turn in 1..9 {
        blocks.push(said(if turn % 2 == 0 { "Teodor" } else { "Narrator" }, "", turn));
        let at = usize::try_from(turn).unwrap_or_default();
        blocks.extend(STORY.iter().cycle().skip(at).take(1 + at % 2).map(|text| plain(text)));
        if turn == 3 {
            blocks.push(Block::Note {
                label: "Roll".into(),
                text: vec![
                    TextRun::plain("perception 14 + 3 against 15: "),
                    TextRun::bold("success"),
                ],
            });
        }
        if turn == 5 {
            blocks.push(Block::Break);
        }
    }
    Chapter { title: "The Dust on the Northern Road".into(), blocks }
}

fn second_chapter() -> Chapter {
    let note = |label: &str, text: Vec<TextRun>| Block::Note { label: label.into(), text };
    let item = |depth, marker, text: &str| Block::Item {
        depth,
        marker,
        text: vec![TextRun::plain(text), TextRun::plain(".")],
    };
    let blocks = vec![
        plain("What the party carried, and what it cost them, as far as anybody wrote it down."),
        Block::Heading { level: 1, text: vec![TextRun::plain("The inventory")] },
        item(0, ListMarker::Bullet, "a book of debts, which the innkeeper had left on the table when the bell rang, and \
             which nobody had opened since"),
        item(1, ListMarker::Bullet, "a rope of forty feet, frayed"),
        item(1, ListMarker::Bullet, "two waterskins"),
        item(0, ListMarker::Number(9), "nine candles"),
        item(0, ListMarker::Number(10), "a letter that nobody could read, with a seal that everybody knew"),
        Block::Heading { level: 2, text: vec![TextRun::plain("How it was kept")] },
        Block::Paragraph(vec![
            TextRun::plain("The program keeps all of it in "),
            TextRun::code("player.json"),
            TextRun::plain(", which is "),
            TextRun::italic("never"),
            TextRun::plain(" written by hand; see "),
            TextRun::link("the description of the format"),
            TextRun::plain(" for "),
            TextRun { text: "every field".into(), style: RunStyle { bold: true, italic: true, ..RunStyle::default() } },
            TextRun::plain("."),
        ]),
        Block::Code(
            "{\n  \"name\": \"Mira\",\n  \"inventory\": [\"rope\", \"waterskin\", \"waterskin\", \"letter\"],\n\
             \t\"note\": \"a line that is much longer than the page is wide, and therefore goes on after an arrow\"\n}\n\n\
             fn main() { println!(\"→ {}\", 0x2192); }"
                .into(),
        ),
        note("Tool call", vec![TextRun::code("move_item(item: \"letter\", to: \"Teodor\")")]),
        note("State", vec![
            TextRun::code("player.inventory"),
            TextRun::plain(" lost “letter”; "),
            TextRun::code("teodor.inventory"),
            TextRun::plain(" has it now. Everything else is as it was before, and nobody has noticed that the seal is broken."),
        ]),
        Block::Quotation { depth: 0, text: vec![TextRun::plain(
            "Whoever reads this has come further than I did. Take the left stair, and do not believe \
             what the well says about the depth of its water.",
        )] },
        plain("There was no signature."),
        said("Mira", "out of character", 10_212),
        plain("Can we stop here for tonight? I have an early train tomorrow, and I would rather hear \
               the rest of it when I am awake enough to remember what the numbers were."),
    ];
    Chapter { title: "Inventory".into(), blocks }
}

fn third_chapter() -> Chapter {
    let blocks = vec![
        plain("Ελληνικά: Ἐν ἀρχῇ ἦν ὁ λόγος. Русский: В начале было Слово, и Слово было у Бога."),
        plain("In Hebrew: אבגד הוז (and on) then 123 again."),
        plain(
            "שלום עולם. זהו טקסט בעברית שנמשך על פני יותר משורה אחת, כדי לראות שהשורות מסודרות \
               מימין לשמאל ושהסוף של הפסקה נמצא בצד הנכון, with some English inside.",
        ),
        plain("مرحبا بالعالم، هذا نص عربي قصير يمتد على أكثر من سطر واحد حتى نرى كيف تنكسر الأسطر."),
        plain(
            "日本語の文章はどこでも改行できます。漢字とかなの混じった文。 中文也一样。 한국어도.",
        ),
        plain("Signs: ✓ ✗ → ⇒ ★ ☂ ♞ ∀x∈ℝ ≤ 5 · emoji 😀 🎲 🐉 👩‍🚀 🇫🇷 ❤️."),
        plain(
            "Combining: e\u{301} o\u{308} q\u{307}\u{323}; a hostile \u{202e}override\u{202c}; an escape \u{1b}[31m.",
        ),
        plain(&format!("A long name: {}", "Donaudampfschifffahrtsgesellschaft".repeat(6))),
        plain(
            "https://example.org/a/very/long/path/that/has/to/be/broken/somewhere/because/it/does/not/fit?and=more&than=that",
        ),
    ];
    Chapter { title: "Tongues".into(), blocks }
}
