//! The page in a real browser: nothing runs, nothing is fetched, everything is readable.

#![expect(clippy::disallowed_methods, reason = "a browser opens files")]

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use everturn_export::{ExportFormat, ExportOptions, ExportPart, ExportStyle};
use serde_json::Value;

use crate::hostile;
use crate::support::{Session, chat, told};

/// Returns the browser's report about a page.
fn opened(page: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/browser.py");
    let output = Command::new("python3").arg(script).arg("check").arg(&file).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser could not be asked: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Starts a server that counts the requests it receives.
fn listen() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // It ends with the test.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").ok();
        }
    });
    (address, asked)
}

fn everything(session: &Session) -> String {
    let mut choices = ExportOptions::defaults_for(ExportFormat::Html, ExportStyle::Rich);
    for part in ExportPart::ALL {
        choices.set(*part, true);
    }
    session.export(ExportFormat::Html, &choices)
}

fn assert_silent(report: &Value) {
    for what in ["ran", "odd", "dialogs", "requests", "complaints"] {
        assert_eq!(report[what], serde_json::json!([]), "{what}");
    }
}

#[test]
fn nothing_in_a_text_runs_asks_or_fetches() {
    let (address, asked) = listen();
    for session in hostile::sessions(&address) {
        let report = opened(&everything(&session));
        assert_silent(&report);
        assert_eq!(report["light"]["without_name"], 0);
        assert!(report["light"]["articles"].as_u64().unwrap() > 30);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0, "something was fetched");
}

#[test]
fn a_page_is_read_with_and_without_scripts_light_and_dark_wide_and_narrow() {
    let report = opened(&everything(&chat()));
    assert_silent(&report);
    let text = |at: &str| report[at]["text"].as_str().unwrap().to_owned();
    for at in ["light", "phone", "silent"] {
        for words in [
            "The First Night",
            "Rain has come in",
            "Old Tam",
            "I count the barrels",
            "1 January 2026",
        ] {
            assert!(text(at).contains(words), "{at} has no {words}");
        }
    }
    // A control that needs scripts is visible only with them.
    assert_eq!(
        (&report["phone"]["filter"], &report["silent"]["filter"]),
        (&Value::from(true), &Value::from(false))
    );
    // The system's preference applies until the reader chooses.
    let (light, dark) = (&report["light"]["background"], &report["phone"]["background"]);
    assert_ne!(light, dark);
    assert_eq!((&report["chosen_dark"], &report["chosen_light"]), (dark, light));
    assert_eq!(report["phone"]["width"], 390, "nothing sticks out of a narrow screen");
}

#[test]
fn the_filter_shows_what_contains_the_words() {
    let report = opened(&everything(&told(&["Before all.", "After *every* storm.", "After."])));
    assert_eq!(report["filtered"], serde_json::json!(["e-2"]));
}
