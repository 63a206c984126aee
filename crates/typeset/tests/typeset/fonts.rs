//! Fonts: which are used, what they lack, and where others come from.

use std::path::PathBuf;

use everturn_typeset::{Block, FontSources, Options, TextRun, TypesetError, typeset};

use crate::reader::{Reader, book, plain, read};

fn missing(text: &str) -> Vec<(char, u64)> {
    let (pdf, _) = read(vec![plain(text)]);
    pdf.missing.iter().map(|missing| (missing.character, missing.count)).collect()
}

#[test]
fn what_no_font_has_is_listed_with_its_count() {
    assert_eq!(missing("Latin, Ελληνικά, Кириллица, עברית, العربية, → ✓ ★ ≤ 😀"), []);
    assert_eq!(missing("a 語 b 日本語"), [('日', 1), ('本', 1), ('語', 2)]);
    assert_eq!(missing("🐉🐉 🎲"), [('🎲', 1), ('🐉', 2)]);
    assert_eq!(missing("👩\u{200d}🚀"), [('👩', 1), ('🚀', 1)]);
    assert_eq!(missing("e\u{301} o\u{308} n\u{303}"), []);
}

#[test]
fn fonts_are_embedded_if_they_are_needed() {
    let check = |blocks: Vec<Block>, expect: &[&str]| {
        let (_, reader) = read(blocks);
        assert_eq!(reader.fonts(), expect);
    };
    check(vec![plain("a")], &["LibertinusSerif-Regular"]);
    check(
        vec![Block::Paragraph(vec![TextRun::bold("a"), TextRun::italic("b"), TextRun::code("c")])],
        &[
            "DejaVuSansMono",
            "LibertinusSerif-Bold",
            "LibertinusSerif-Italic",
            "LibertinusSerif-Regular",
        ],
    );
    check(vec![plain("a ✓")], &["DejaVuSans", "LibertinusSerif-Regular"]);
}

#[test]
fn only_the_letters_that_are_used_are_embedded() {
    let (pdf, _) = read(vec![plain("a few letters")]);
    assert!(pdf.bytes.len() < 40_000, "{} bytes", pdf.bytes.len());
}

#[test]
fn a_directory_of_fonts_may_have_what_is_needed() {
    let fonts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fonts");
    let options =
        Options { fonts: FontSources { paths: vec![fonts], system: false }, ..Options::default() };
    let pdf = typeset(&book(vec![plain("a")]), &options).unwrap();
    assert_eq!(Reader::of(&pdf).page(3), "1 Dust a");
}

#[test]
fn a_directory_without_fonts_is_an_error() {
    for place in ["src", "not-there"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(place);
        let fonts = FontSources { paths: vec![path.clone()], system: false };
        let made = typeset(&book(Vec::new()), &Options { fonts, ..Options::default() });
        let Err(TypesetError::NoFonts { path: named }) = made else { panic!("{made:?}") };
        assert_eq!(named, path);
    }
}

#[test]
fn the_fonts_of_the_system_may_be_asked() {
    let fonts = FontSources { system: true, paths: Vec::new() };
    let options = Options { fonts, ..Options::default() };
    let pdf = typeset(&book(vec![plain("Letters, 日本語, 🐉")]), &options).unwrap();
    // The system fonts are unknown here; Latin letters come from the bundled fonts.
    let reader = Reader::of(&pdf);
    assert!(reader.fonts().contains(&"LibertinusSerif-Regular".to_owned()));
    assert!(reader.page(3).contains("Letters"));
}
