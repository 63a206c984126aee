//! The binary with an endpoint behind a real connection.

#![expect(clippy::disallowed_methods, reason = "the file of a key is no stored data")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::thread::JoinHandle;

use crate::everturn;

const SECRET: &str = "sk-very-secret-0123456789";

/// Starts an endpoint that answers one connection after another, and returns the requests.
fn endpoint(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
            // The request is complete when it ends with a closing bracket.
            while !request.ends_with(b"}") {
                let count = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(buffer.get(..count).unwrap());
            }
            stream.write_all(answer.as_bytes()).unwrap();
            asked.push(String::from_utf8(request).unwrap());
        }
        asked
    });
    (url, thread)
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn submit(
    directory: &Path,
    url: &str,
    input: &str,
    change: impl FnOnce(&mut std::process::Command),
) -> Output {
    let mut command = everturn::command(directory);
    command.args(["--root", "store", "campaign", "submit", "camp_0001"]);
    command.env("EVERTURN_NARRATOR", "openai").env("EVERTURN_NARRATOR_MODEL", "m");
    command.env("EVERTURN_NARRATOR_URL", url);
    change(&mut command);
    everturn::run(command, input)
}

fn campaign() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut command = everturn::command(directory.path());
    command.args(["--root", "store", "new", "campaign"]);
    assert!(everturn::run(command, "").status.success());
    directory
}

#[test]
fn a_model_tells_a_turn_and_a_busy_one_is_waited_for() {
    let directory = campaign();
    let content =
        r#"data: {"choices": [{"delta": {"content": "{\"assistant_text\": \"A torch.\"}"}}]}"#;
    let (url, thread) = endpoint(vec![
        answer("429 Busy", r#"{"error": {"message": "too many"}}"#),
        answer("200 OK", &format!("{content}\n\ndata: [DONE]\n\n")),
    ]);
    let file = directory.path().join("key");
    std::fs::write(&file, SECRET).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let output = submit(directory.path(), &url, "I light a torch.\n", |command| {
        command.args(["--key-file", "key"]);
    });
    let (out, err) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(
        out.starts_with(r#"{"ok":true,"row":{"#) && out.contains(r#""assistant_text":"A torch.""#),
        "{out} {err}"
    );
    assert!(err.contains("is busy (429): too many; retrying in 0.5 s"), "{err}");
    let asked = thread.join().unwrap();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|request| request.contains(SECRET)));
    assert!(!out.contains(SECRET) && !err.contains(SECRET));
}

#[test]
fn a_refused_key_is_not_shown_and_nothing_is_written() {
    let directory = campaign();
    let complaint = format!(r#"{{"error": {{"message": "bad key {SECRET}"}}}}"#);
    let (url, thread) = endpoint(vec![answer("401 No", &complaint)]);
    let output = submit(directory.path(), &url, "look\n", |command| {
        command.env("OPENAI_API_KEY", SECRET);
    });
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains(r#""ok":false"#)
            && out.contains("does not accept the key (401): bad key [key]"),
        "{out}"
    );
    assert!(!String::from_utf8(output.stderr).unwrap().contains(SECRET) && !out.contains(SECRET));
    thread.join().unwrap();
    assert!(!directory.path().join("store/campaigns/camp_0001/turn_log.jsonl").exists());
}

#[test]
fn the_home_says_who_tells_and_has_the_key_and_a_project_does_not() {
    let directory = campaign();
    let home = directory.path().join("home");
    let run = |words: &[&str], input: &str| {
        let mut command = everturn::command(directory.path());
        command.env("HOME", &home).args(words);
        everturn::run(command, input)
    };
    let content = whole(r#"{\"assistant_text\": \"A torch.\"}"#);
    let (url, thread) = endpoint(vec![answer("200 OK", &content)]);
    for (key, value) in [("who", "openai"), ("model", "m"), ("url", &url)] {
        let output = run(&["config", "set", &format!("narrator.{key}"), value], "");
        assert!(output.status.success(), "{output:?}");
    }
    assert!(run(&["credentials", "set", "narrator"], SECRET).status.success());
    // The narrator settings of a project are ignored.
    let project = directory.path().join(".everturn");
    std::fs::create_dir_all(&project).unwrap();
    let elsewhere = r#"{"version": 1, "narrator": {"url": "http://127.0.0.1:9/v1"}}"#;
    std::fs::write(project.join("config.json"), elsewhere).unwrap();
    let submit = ["--root", "store", "campaign", "submit", "camp_0001"];
    let output = run(&submit, "look\n");
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains(r#""assistant_text":"A torch.""#), "{out}");
    assert!(thread.join().unwrap()[0].contains(SECRET));
    let file = home.join(".everturn/auth.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = run(&submit, "look\n");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("other users can read the secrets") && !err.contains(SECRET), "{err}");
}

/// Returns a complete response with this content, which already is JSON text.
fn whole(content: &str) -> String {
    format!(
        r#"{{"choices": [{{"message": {{"content": "{content}"}}, "finish_reason": "stop"}}]}}"#
    )
}
