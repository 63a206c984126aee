//! The web app in a real browser.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::client::{Server, run};

const TURNS: &str = concat!(
    r#"{"actor":"gm","narration":"The gate opens. 門が開く。"}"#,
    "\n",
    r#"{"actor":"player","narration":"You go in, and Luna smiles.","deltas":[{"scope":"world","deltas":[{"op":"set","path":"npcs.luna.trust","value":5}]}]}"#,
    "\n",
    r#"{"actor":"gm","narration":"<script>document.title='run'</script> She waves.","deltas":[{"scope":"world","deltas":[{"op":"set","path":"npcs.luna.trust","value":7}]}]}"#,
    "\n",
);

#[test]
fn a_session_is_found_read_continued_and_forked_in_a_browser() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    run(at, &["new", "game", "--id", "session-gate", "--name", "Vex"], "");
    run(at, &["new", "game", "--id", "session-other", "--name", "Ann"], "");
    run(at, &["append", "session-gate", "--lines"], TURNS);
    run(at, &["new", "game", "--id", "session-long", "--name", "Eva"], "");
    let long: String = (1..=60)
        .map(|turn| format!("{{\"actor\":\"gm\",\"narration\":\"Step {turn}.\"}}\n"))
        .collect();
    run(at, &["append", "session-long", "--lines"], &long);
    let server = Server::start_only(at, &[]);
    let url = format!("http://{}/login?code={}", server.address, server.code);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/web.py");
    let mut browser = Command::new("python3");
    browser.args([script, &url, "session-gate"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(pictures) = std::env::var_os("EVERTURN_WEB_PICTURES") {
        browser.arg(pictures);
    }
    let mut browser = browser.spawn().unwrap();
    let mut lines = BufReader::new(browser.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "append");
    // The server holds the session for a moment after its own write.
    let bell = r#"{"actor":"gm","narration":"A bell rings."}"#;
    run(at, &["append", "session-gate", "--wait", "20"], bell);
    browser.stdin.take().unwrap().write_all(b"\n").unwrap();
    let seen = lines.next().unwrap().unwrap();
    assert!(browser.wait().unwrap().success());

    let seen: Value = serde_json::from_str(&seen).unwrap();
    let text = |name: &str| seen[name].as_str().unwrap_or_default().to_owned();
    // Nothing ran, nothing was requested elsewhere, and the policy refused nothing.
    assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
    assert!(!text("url").contains("code="), "{seen}");
    assert!(text("list").contains("Vex") && text("list").contains("Ann"), "{seen}");
    assert!(text("text").contains("門が開く。"), "{seen}");
    assert!(text("text").contains("<script>document.title='run'</script> She waves."), "{seen}");
    assert!(text("state").contains("trust") && text("state").contains('7'), "{seen}");
    assert!(text("earlier").contains("trust") && text("earlier").contains('5'), "{seen}");
    assert!(text("appended").contains("<img src=x onerror=alert(1)>"), "{seen}");
    assert!(!text("fork").contains("session-gate/"), "{seen}");
    assert_eq!(text("opened"), "60 / 60", "{seen}");
    assert_eq!(text("hits"), "Luna", "{seen}");
}
