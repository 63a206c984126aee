//! The settings of a project count only if the user trusts them.
#![expect(clippy::disallowed_methods, reason = "the tests write the files of others")]

use std::fs;
use std::path::Path;

use crate::everturn::{command, run};

fn everturn(place: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = command(&place.join("project"));
    command.env("HOME", place.join("home")).args(words);
    let done = run(command, "");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

/// A home, and a project whose settings choose another root.
fn cloned() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("home")).unwrap();
    fs::create_dir_all(place.path().join("project/.everturn")).unwrap();
    settings(place.path(), "elsewhere");
    place
}

fn settings(place: &Path, root: &str) {
    let root = place.join(root).display().to_string();
    let text = format!(r#"{{"version":1,"root":"{root}","narrator":{{"model":"x"}},"own":1}}"#);
    fs::write(place.join("project/.everturn/config.json"), text).unwrap();
}

#[test]
fn a_cloned_project_cannot_choose_the_root() {
    let place = cloned();
    let place = place.path();
    let (code, out, err) = everturn(place, &["new", "game", "--id", "one"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("is not trusted: root, narrator ignored; see: everturn trust"), "{err}");
    assert!(!place.join("elsewhere").exists(), "the project chose the root");
    for key in ["root", "narrator"] {
        let (_, out, _) = everturn(place, &["config", "explain", key]);
        assert!(!out.contains("elsewhere") && !out.contains("\"x\""), "{key}: {out}");
    }
    let (_, out, _) = everturn(place, &["config", "get", "own"]);
    assert_eq!(out.trim(), "1");
}

#[test]
fn trust_holds_for_the_present_content() {
    let place = cloned();
    let place = place.path();
    let (code, out, err) = everturn(place, &["trust"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("elsewhere") && err.contains("is trusted"), "{out}{err}");
    let (code, _, err) = everturn(place, &["new", "game", "--id", "one"]);
    assert_eq!((code, err.contains("not trusted")), (0, false), "{err}");
    assert!(place.join("elsewhere/sessions/active/one").exists());
    settings(place, "third");
    let (_, _, err) = everturn(place, &["new", "game", "--id", "two"]);
    assert!(err.contains("not trusted"), "{err}");
    assert!(!place.join("third").exists());
    assert_eq!(everturn(place, &["trust", "--remove"]).0, 0);
    settings(place, "elsewhere");
    let (_, _, err) = everturn(place, &["ls"]);
    assert!(err.contains("not trusted"), "{err}");
}

#[test]
fn what_the_user_sets_is_trusted() {
    let place = cloned();
    let place = place.path();
    fs::remove_file(place.join("project/.everturn/config.json")).unwrap();
    let root = place.join("mine").display().to_string();
    let (code, _, err) = everturn(place, &["config", "set", "root", &root, "--scope", "project"]);
    assert_eq!(code, 0, "{err}");
    let (_, out, err) = everturn(place, &["config", "get", "root"]);
    assert!(out.contains("mine") && !err.contains("not trusted"), "{out}{err}");
    // A foreign file does not become trusted by one change to it.
    settings(place, "elsewhere");
    assert_eq!(everturn(place, &["config", "set", "own", "2", "--scope", "project"]).0, 0);
    let (_, _, err) = everturn(place, &["ls"]);
    assert!(err.contains("not trusted"), "{err}");
}
