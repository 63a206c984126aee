//! Stores of other programs that are known and cannot be read are named, and the provider of a session for Codex.

#![expect(clippy::disallowed_methods, reason = "the folders of other programs are made here")]

use std::fs;

use crate::foreign::{put, run};

#[test]
fn a_store_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    put(&home, ".local/share/opencode/opencode.db", "SQLite format 3\0 and nothing else");
    for words in [&["ls"] as &[&str], &["search", "dragon"], &[]] {
        let (shown, said, code) = run(&home, words, "");
        assert!(said.contains("opencode.db"), "{words:?}: {shown}{said}");
        assert!(!format!("{shown}{said}").contains("no sessions yet"), "{words:?}: {shown}{said}");
        assert_eq!(code, Some(1), "{words:?}: {said}");
    }
    fs::remove_file(home.join(".local/share/opencode/opencode.db")).unwrap();
    let (_, said, code) = run(&home, &["ls"], "");
    assert!(said.contains("There are no sessions yet"), "{said}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_session_for_codex_names_a_provider_that_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    put(
        &home,
        ".aider.chat.history.md",
        "\n# aider chat started at 2024-05-01 10:20:30\n\n#### hi\n\nHello.\n",
    );
    let provider = |more: &[&str]| {
        let out = dir.path().join(format!("out{}", more.len()));
        let out = out.to_str().unwrap();
        let words = [&["convert", "aider-20240501-102030", "--to", "codex", out], more].concat();
        let (_, said, code) = run(&home, &words, "");
        assert_eq!(code, Some(0), "{said}");
        let file = fs::read_dir(out).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        fs::remove_file(file).unwrap();
        text.split("\"model_provider\":")
            .nth(1)
            .unwrap()
            .split([',', '}'])
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(provider(&[]), "\"openai\"");
    let config = "model = \"x\"\nmodel_provider = \"local\" # mine\n[model_providers.local]\nmodel_provider = \"no\"\n";
    put(&home, ".codex/config.toml", config);
    assert_eq!(provider(&[]), "\"local\"");
    assert_eq!(provider(&["--provider", "azure"]), "\"azure\"");
}
