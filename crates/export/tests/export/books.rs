//! E-books, checked by epubcheck, which knows nothing of this program.

#![expect(clippy::disallowed_methods, reason = "epubcheck reads a file")]

use std::process::Command;

use everturn_export::{ExportFormat, ExportOptions, ExportPart, ExportStyle};

use crate::support::{all, chat, files_of, session, told};
use crate::{hostile, pictures};

/// Asserts that a book is valid.
pub(crate) fn assert_valid(name: &str, book: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("book.epub");
    std::fs::write(&file, book).unwrap();
    // Debian's program is a Java archive, which not every system runs by its name.
    let script = "exec java -jar \"$(command -v epubcheck)\" --failonwarnings \"$1\"";
    let output = Command::new("sh").args(["-c", script, "sh"]).arg(&file).output();
    let output = output.expect("Debian's package epubcheck has it, and ./test installs it");
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().take(12).collect();
    assert!(output.status.success(), "{name}: {lines:#?}");
}

fn everything(style: ExportStyle) -> ExportOptions {
    let mut choices = ExportOptions::defaults_for(ExportFormat::Epub, style);
    for part in ExportPart::ALL {
        choices.set(*part, true);
    }
    choices
}

#[test]
fn a_session_of_every_format_is_a_valid_book() {
    for session in all() {
        let choices = everything(ExportStyle::Rich);
        let (book, _) = session.bytes(ExportFormat::Epub, &choices, None, None).unwrap();
        assert_valid(session.summary.layout, &book);
    }
}

#[test]
fn a_book_of_hostile_texts_is_valid_and_has_no_tags_but_ours() {
    for session in hostile::sessions("http://127.0.0.1:9") {
        let choices = everything(ExportStyle::Rich);
        let (book, _) = session.bytes(ExportFormat::Epub, &choices, None, None).unwrap();
        assert_valid(session.summary.layout, &book);
        for (name, bytes) in files_of(&book) {
            let text = String::from_utf8(bytes).unwrap();
            for tag in [
                "<script",
                "<iframe",
                "<object",
                "<form",
                "<img",
                " onload",
                " onerror",
                "javascript:",
            ] {
                // Words of a text are escaped, so a tag can only be ours.
                let found = text.split('<').skip(1).filter_map(|part| part.split_once('>'));
                let mut inside = found.map(|(inside, _)| format!("<{inside}"));
                assert!(!inside.any(|inside| inside.contains(tag)), "{name} has {tag}");
            }
        }
    }
}

#[test]
fn chapters_scenes_and_pictures_are_files_and_contents_of_the_book() {
    let session = chat();
    let choices = everything(ExportStyle::Rich);
    let (book, _) = session.bytes(ExportFormat::Epub, &choices, None, None).unwrap();
    let files = files_of(&book);
    assert_eq!(files[0], ("mimetype".to_owned(), b"application/epub+zip".to_vec()));
    let text = |name: &str| {
        let found = files.iter().find(|(known, _)| known.ends_with(name)).unwrap();
        String::from_utf8(found.1.clone()).unwrap()
    };
    let contents = text("nav.xhtml");
    for name in ["The First Night", "The Morning After"] {
        assert!(contents.contains(name), "{contents}");
        let start = format!("<h1 dir=\"auto\">{name}");
        assert_eq!(
            files
                .iter()
                .filter(|(_, bytes)| { String::from_utf8_lossy(bytes).contains(&start) })
                .count(),
            1,
            "{name} starts one file"
        );
    }
    assert!(text("package.opf").contains("properties=\"cover-image\""));
    assert!(text("cover.svg").contains("<text"));
    let with_pictures = pictures::picture_book();
    let (book, _) = with_pictures.bytes(ExportFormat::Epub, &choices, None, None).unwrap();
    assert_valid("pictures", &book);
    let files = files_of(&book);
    assert!(files.iter().any(|(name, _)| name == "EPUB/picture-0001.png"));
}

#[test]
fn a_long_chapter_is_split_and_an_empty_session_is_a_book() {
    let long = "It rained all day long. ".repeat(20_000);
    let choices = everything(ExportStyle::Minimal);
    let (book, _) =
        told(&["One.", &long, "Two."]).bytes(ExportFormat::Epub, &choices, None, None).unwrap();
    assert!(files_of(&book).iter().filter(|(name, _)| name.starts_with("EPUB/c00")).count() > 1);
    assert_valid("long", &book);
    let empty = session("chatlog", "tale", "{}", &[], &[]);
    let (book, _) = empty.bytes(ExportFormat::Epub, &choices, None, None).unwrap();
    assert_valid("empty", &book);
}
