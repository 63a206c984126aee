//! Compares exports of a session of every format with golden files.
//!
//! `EVERTURN_BLESS=1 cargo test -p everturn-export` rewrites the files; read the difference before committing it.

#![expect(clippy::disallowed_methods, reason = "the expected exports are files of the repository")]

use std::fs;
use std::path::Path;

use everturn_export::{ExportFormat, ExportOptions, ExportStyle};

use crate::support::{Session, all, chat, pdf_text, session};

fn check(name: &str, actual: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/golden").join(name);
    if std::env::var_os("EVERTURN_BLESS").is_some() {
        fs::write(&file, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    let same = expected.lines().zip(actual.lines()).take_while(|(a, b)| a == b).count();
    assert!(actual == expected, "{name} differs from line {}:\n{actual}", same + 1);
}

/// Removes the style and the script, which have files of their own.
fn without_looks(page: &str) -> String {
    let mut page = page.to_owned();
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let (from, to) = (page.find(start).unwrap() + start.len(), page.rfind(end).unwrap());
        page.replace_range(from..to, "…");
    }
    let (from, to) = (page.find("style-src").unwrap(), page.find("; base-uri").unwrap());
    page.replace_range(from..to, "…");
    page
}

/// Returns the pages of a PDF, with their number.
fn pages(session: &Session, style: ExportStyle) -> String {
    let choices = ExportOptions::defaults_for(ExportFormat::Pdf, style);
    let (pdf, report) = session.bytes(ExportFormat::Pdf, &choices, None, None).unwrap();
    assert_eq!(report.missing.iter().filter(|(missing, _)| missing.is_ascii()).count(), 0);
    let text = pdf_text(&pdf, "pdftotext", &["-layout", "-", "-"]);
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{} pages\n\n{}", report.pages.unwrap(), text.replace('\u{c}', "\n-- page --\n"))
}

#[test]
fn every_layout_is_exported_in_every_format_as_it_was() {
    for session in all() {
        for format in ExportFormat::ALL {
            let name = format!("{}.{}", session.summary.layout, format.as_str());
            if *format == ExportFormat::Pdf {
                check(&format!("{name}.txt"), &pages(&session, ExportStyle::Rich));
                continue;
            }
            if *format == ExportFormat::Epub {
                // Its text is that of the page, and epubcheck reads the rest.
                continue;
            }
            let made = session.rich(*format);
            match format {
                ExportFormat::Html => check(&name, &without_looks(&made)),
                _ => check(&name, &made),
            }
        }
    }
}

#[test]
fn the_minimal_style_is_the_words() {
    check("minimal.pdf.txt", &pages(&chat(), ExportStyle::Minimal));
    for format in ExportFormat::ALL.iter().filter(|format| !format.is_binary()) {
        let made =
            chat().export(*format, &ExportOptions::defaults_for(*format, ExportStyle::Minimal));
        let made = if *format == ExportFormat::Html { without_looks(&made) } else { made };
        check(&format!("minimal.{}", format.as_str()), &made);
    }
}

#[test]
fn text_is_never_wider_than_eighty_columns() {
    use unicode_width::UnicodeWidthStr;
    for session in all() {
        for line in session.rich(ExportFormat::Text).lines() {
            assert!(line.width() <= 80, "{line:?}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn a_session_without_turns_is_exported_too() {
    for (layout, fields) in [
        ("game", "{}"),
        ("campaign", "{}"),
        ("codelia", "{}"),
        ("linggen", r#"{"project": "/srv/site"}"#),
        ("chatlog", "{}"),
    ] {
        let id = if layout == "campaign" { "camp_0001" } else { "sess-1" };
        let session = session(layout, id, fields, &[], &[]);
        for format in ExportFormat::ALL {
            let made = session.rich(*format);
            assert!(made.contains(&session.summary.title), "{layout} {format:?}");
        }
    }
}
