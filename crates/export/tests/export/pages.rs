//! What pages show: directions, tables, regenerations, credits.

use everturn_export::{ExportFormat, ExportOptions, ExportStyle};

use crate::support::{pdf_text, session, told};

#[test]
fn right_to_left_text_has_its_direction_and_its_marks() {
    let page = told(&["שלום \u{2067}abc\u{2069}\u{200f}!\n\nHello."]).rich(ExportFormat::Html);
    assert!(page.contains(
        "<div class=\"text\" dir=\"auto\"><p dir=\"auto\">שלום \u{2067}abc\u{2069}\u{200f}!</p>"
    ));
    assert!(page.contains("<p dir=\"auto\">Hello.</p>"));
    let page = told(&["a\u{202e}b"]).rich(ExportFormat::Html);
    assert!(page.contains("a‹U+202E›b"));
}

#[test]
fn a_table_in_a_pdf_has_columns() {
    let long =
        "a coil of good rope, a little worn at one end, that has seen the sea more than once";
    let table = format!(
        "| thing | about | price |\n|---|---|--:|\n| rope | {long} | 12 |\n| lamp | old | 3 |"
    );
    let choices = ExportOptions::defaults_for(ExportFormat::Pdf, ExportStyle::Minimal);
    let (pdf, _) = told(&[&table]).bytes(ExportFormat::Pdf, &choices, None, None).unwrap();
    let text = pdf_text(&pdf, "pdftotext", &["-layout", "-", "-"]);
    let line = |word: &str| text.lines().find(|line| line.trim_start().starts_with(word)).unwrap();
    let column = |line: &str, word: &str| line.find(word).unwrap();
    // The second column starts at the same position in every row, and the third ends at the same one.
    let near = |a: usize, b: usize| a.abs_diff(b) <= 2;
    assert!(near(column(line("thing"), "about"), column(line("rope"), "a coil")), "{text}");
    assert!(near(column(line("thing"), "about"), column(line("lamp"), "old")), "{text}");
    assert!(near(line("rope").trim_end().len(), line("lamp").trim_end().len()), "{text}");
}

#[test]
fn the_series_the_protagonist_and_the_model_are_named() {
    let fields = r#"{"metadata": {"series": "Re:Zero"}, "session": {"protagonist": {"name": "Subaru"}, "settings": {"model": "gemini-pro"}}}"#;
    let turns = [r#"{"type": "narrator", "text": "Hello."}"#];
    let session = session("chatlog", "tale", fields, &turns, &[]);
    for format in [ExportFormat::Text, ExportFormat::Html, ExportFormat::Pdf, ExportFormat::Epub] {
        let made = session.rich(format);
        for word in ["Re:Zero", "Subaru", "gemini-pro"] {
            assert!(made.contains(word), "{format:?} {word}");
        }
    }
}

#[test]
fn speakers_are_named_wherever_they_change_in_the_minimal_style() {
    let turns = [
        r#"{"type": "npc", "sender": {"name": "Emilia"}, "text": "Stop."}"#,
        r#"{"type": "narrator", "text": "A thug laughs."}"#,
        r#"{"type": "narrator", "text": "He runs."}"#,
    ];
    let session = session("chatlog", "tale", "{}", &turns, &[]);
    for format in
        [ExportFormat::Text, ExportFormat::Markdown, ExportFormat::Pdf, ExportFormat::Epub]
    {
        let choices = ExportOptions::defaults_for(format, ExportStyle::Minimal);
        let made = session.export(format, &choices);
        assert_eq!(made.matches("Narrator").count(), 1, "{format:?}: {made}");
        let (label, words) = (made.find("Narrator").unwrap(), made.find("A thug").unwrap());
        assert!(made.find("Stop.").unwrap() < label && label < words, "{format:?}");
    }
}
