//! Lines and pages as read from the file.

use everturn_typeset::{Block, Book, Chapter, Options, SpeakerLine, TextRun, typeset};

use crate::reader::{Reader, front, plain, read};

const ENGLISH: &str = "Extraordinary circumstances notwithstanding, the representatives \
    acknowledged responsibility for the misunderstanding surrounding the international \
    transportation arrangements, and congratulated the administrators. ";
const GERMAN: &str = "Außergewöhnlich unwahrscheinliche Zusammenhänge beeinträchtigten die \
    Berichterstattung der Donaudampfschifffahrtsgesellschaft über Siedlungsverhältnisse und \
    Verwaltungsvorschriften. ";

/// Returns the hyphenated words, with the text before and after each hyphen.
fn parted(language: &str, text: &str) -> Vec<String> {
    let chapters = vec![Chapter { title: String::new(), blocks: vec![plain(&text.repeat(6))] }];
    let pdf = typeset(&Book { front: front(language), chapters }, &Options::default()).unwrap();
    let reader = Reader::of(&pdf);
    let pages: String = (1..=pdf.pages).map(|number| reader.page(number)).collect();
    let words = pages.split_whitespace().filter(|word| word.contains('\u{ad}'));
    words.map(|word| word.replace('\u{ad}', "-")).collect()
}

#[test]
fn words_are_parted_by_the_language_of_the_book() {
    let english = parted("en", ENGLISH);
    assert!(english.len() > 3, "{english:?}");
    let german = parted("de", GERMAN);
    assert!(german.len() > 3, "{german:?}");
    // Both books contain each word unbroken as well, so each part can be identified.
    for (words, text) in [(&english, ENGLISH), (&german, GERMAN)] {
        for word in words {
            assert!(text.contains(&word.replace('-', "")), "{word}");
        }
    }
    assert_eq!(parted("xx", ENGLISH), Vec::<String>::new());
}

#[test]
fn the_text_reads_as_it_was_written() {
    let text = ENGLISH.repeat(20);
    let (_, reader) = read(vec![plain(&text)]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page: String = reader.text();
    // Running heads and page numbers are between the pages, so one page is compared.
    let first = reader.page(3).replace('\u{ad}', "");
    let first = first.strip_suffix('1').unwrap_or(&first);
    let body = first.split_once("Dust").map_or(first, |(_, body)| body);
    assert!(words(&text).starts_with(&words(body)), "{body}");
    assert!(page.contains("congratulated the administrators."));
}

#[test]
fn running_heads_name_the_book_and_the_chapter() {
    let (pdf, reader) = read(vec![plain(&"word and word ".repeat(900))]);
    assert!(pdf.pages >= 5);
    // The chapter starts on page 3 of the file, which is page 1 of the text.
    assert!(!reader.page(3).contains("The Salt Road"));
    assert!(reader.page(4).contains("The Salt Road") && !reader.page(4).contains("Dust"));
    assert!(reader.page(5).contains("Dust") && reader.page(5).contains('3'));
}

#[test]
fn a_speaker_is_never_parted_from_what_is_said() {
    for lines in 1..80 {
        let mut blocks: Vec<Block> = (0..lines).map(|_| plain("line")).collect();
        let who = "speaker".to_owned();
        blocks.push(Block::Speaker(SpeakerLine { who, ..SpeakerLine::default() }));
        blocks.push(plain("answer"));
        let (pdf, reader) = read(blocks);
        let pages: Vec<String> = (3..=pdf.pages).map(|number| reader.page(number)).collect();
        let with = pages.iter().filter(|page| page.contains("speaker") && page.contains("answer"));
        assert_eq!(with.count(), 1, "{lines} lines");
    }
}

#[test]
fn code_keeps_its_lines_and_shows_where_it_went_on() {
    let (_, reader) = read(vec![Block::Code(format!("short\n{}", "word ".repeat(40)))]);
    let page = reader.page(3);
    assert_eq!(page.matches('↪').count(), 3, "{page}");
    assert_eq!(page.matches("word").count(), 40);
}

#[test]
fn text_from_right_to_left_is_read_in_order() {
    let (pdf, reader) = read(vec![plain("abc אבגד def"), plain("שלום עולם.")]);
    assert!(pdf.missing.is_empty(), "{:?}", pdf.missing);
    let page = reader.page(3);
    // On the page, letters are ordered from left to right.
    assert!(page.contains("דגבא") || page.contains("אבגד"), "{page}");
    let abc = page.find("abc").unwrap();
    assert!(page[abc..].contains("def"));
}

#[test]
fn small_capitals_are_read_as_they_were_written() {
    let (_, reader) = read(vec![
        Block::Speaker(SpeakerLine { who: "Teodor Efiwald".into(), ..SpeakerLine::default() }),
        Block::Paragraph(vec![TextRun::plain("fi ffl")]),
    ]);
    let page = reader.page(3);
    assert!(page.contains("Teodor Efiwald") && page.contains("fi ffl"), "{page}");
}
