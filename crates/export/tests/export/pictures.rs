//! Pictures in every format.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use everturn_export::{ExportFormat, ExportOptions, ExportStyle, PictureFiles};
use serde_json::json;

use crate::support::{Session, pdf_text, session};

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The only file beside the session.
struct Beside;

impl PictureFiles for Beside {
    fn read(&self, path: &str, limit: usize) -> Option<Vec<u8>> {
        assert!(limit <= 64 << 20, "a picture is read with a limit");
        (path == "maps/pier.png").then(|| STANDARD.decode(PNG).unwrap())
    }
}

fn chat(messages: &[serde_json::Value]) -> Session {
    let turns: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    session("chatlog", "tale", "{}", &turns, &[])
}

fn attached(url: &str, description: &str) -> serde_json::Value {
    json!({"type": "npc", "sender": {"name": "Tam"}, "content": {"text": "Look.",
        "attachments": [{"type": "image", "url": url, "description": description}]}})
}

/// A chat log with a picture inside of it.
pub(crate) fn picture_book() -> Session {
    chat(&[attached(&format!("data:image/png;base64,{PNG}"), "A map of the \"pier\"")])
}

fn export(session: &Session, format: ExportFormat) -> Vec<u8> {
    let choices = ExportOptions::defaults_for(format, ExportStyle::Rich);
    session.bytes_with(format, &choices, None, None, Some(&Beside)).unwrap().0
}

fn text(session: &Session, format: ExportFormat) -> String {
    String::from_utf8(export(session, format)).unwrap()
}

#[test]
fn a_picture_is_shown_with_its_description() {
    let beside = chat(&[attached("maps/pier.png", "A map of the \"pier\"")]);
    for session in [picture_book(), beside] {
        let page = text(&session, ExportFormat::Html);
        assert!(page.contains(&format!("<img src=\"data:image/png;base64,{PNG}\"")), "{page}");
        assert!(page.contains("alt=\"A map of the &quot;pier&quot;\""));
        let images = pdf_text(&export(&session, ExportFormat::Pdf), "pdfimages", &["-list", "-"]);
        assert!(images.contains(" image "), "{images}");
        let tags =
            pdf_text(&export(&session, ExportFormat::Pdf), "pdfinfo", &["-struct-text", "-"]);
        assert!(tags.contains("Figure"), "{tags}");
        for format in [ExportFormat::Text, ExportFormat::Markdown] {
            let words = text(&session, format);
            assert!(words.contains("A map of the"), "{format:?}");
            assert!(!words.contains(PNG), "{format:?}");
        }
    }
}

#[test]
fn a_message_that_is_only_a_picture_or_an_emote_is_a_message() {
    let picture = json!({"type": "npc", "sender": {"name": "Tam"}, "content": {"text": "",
        "attachments": [{"type": "image", "url": "maps/pier.png", "description": "the pier"}]}});
    let emote = json!({"type": "npc", "sender": {"name": "Mara"}, "content": {"text": "",
        "actions": [{"type": "emote", "text": "bows"}]}});
    let session = chat(&[picture, emote]);
    for format in [ExportFormat::Text, ExportFormat::Markdown, ExportFormat::Html] {
        let words = text(&session, format);
        for word in ["Tam", "the pier", "Mara", "bows"] {
            assert!(words.contains(word), "{format:?} {word}");
        }
    }
}

#[test]
fn what_is_no_picture_is_only_named() {
    let svg = STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg' onload='ran(1)'></svg>");
    for url in [
        format!("data:image/svg+xml;base64,{svg}"),
        format!("data:image/png;base64,{svg}"),
        "http://127.0.0.1:9/remote.png".to_owned(),
        "../../secret.png".to_owned(),
        "/etc/passwd".to_owned(),
        "javascript:ran(2)".to_owned(),
        "data:text/html;base64,PHNjcmlwdD5yYW4oMyk8L3NjcmlwdD4=".to_owned(),
    ] {
        let session = chat(&[attached(&url, "odd")]);
        let page = text(&session, ExportFormat::Html);
        assert!(!page.contains("<img") && page.contains("[image: odd"), "{url}");
        assert!(!page.contains(&svg), "{url}");
        let images = pdf_text(&export(&session, ExportFormat::Pdf), "pdfimages", &["-list", "-"]);
        assert!(!images.contains(" image "), "{url}");
    }
}

#[test]
fn encoded_data_in_a_text_are_not_spelled_out() {
    let data = "A".repeat(20 << 20);
    let inline = format!("See ![a map](data:image/png;base64,{data}) and on.");
    let session = chat(&[
        json!({"type": "narrator", "text": inline}),
        attached(&format!("data:image/png;base64,{data}"), "large"),
        json!({"type": "narrator", "text": format!("![dot](data:image/png;base64,{PNG})")}),
    ]);
    for format in
        [ExportFormat::Text, ExportFormat::Markdown, ExportFormat::Html, ExportFormat::Epub]
    {
        let made = export(&session, format);
        assert!(made.len() < 64 << 10, "{format:?}: {}", made.len());
    }
    let page = text(&session, ExportFormat::Html);
    assert!(
        page.contains("and on.") && page.contains("[image: a map (image/png, 15728640 bytes)]")
    );
    assert!(page.contains("alt=\"dot\""));
    let choices = ExportOptions::defaults_for(ExportFormat::Pdf, ExportStyle::Rich);
    let (_, report) = session.bytes(ExportFormat::Pdf, &choices, None, None).unwrap();
    assert!(report.pages.unwrap() <= 4);
}
