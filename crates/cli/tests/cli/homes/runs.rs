//! The logs of Codelia's runs: what compaction took out, what answers cost, and sessions that were never saved.

use super::User;

/// A run that is compacted in its middle: the second request begins with a summary.
fn compacted(user: &User) {
    let run = [
        r#"{"type":"header","schema_version":1,"run_id":"r1","session_id":"c","started_at":"2026-02-03T04:00:00.000Z","runtime":{"cwd":"/srv/app"}}"#,
        r#"{"type":"run.start","run_id":"r1","session_id":"c","ts":"2026-02-03T04:00:01.000Z","input":{"type":"text","text":"say hello"}}"#,
        r#"{"type":"llm.request","run_id":"r1","ts":"2026-02-03T04:00:02.000Z","seq":1,"input":{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"say hello"}]}}"#,
        r#"{"type":"llm.response","run_id":"r1","ts":"2026-02-03T04:00:03.000Z","seq":1,"output":{"messages":[{"role":"assistant","content":"hello"}],"usage":{"model":"gpt-5","input_tokens":100,"input_cached_tokens":40,"output_tokens":7,"total_tokens":107}}}"#,
        r#"{"type":"llm.request","run_id":"r1","ts":"2026-02-03T04:00:04.000Z","seq":2,"input":{"messages":[{"role":"user","content":"[codelia.compaction.summary]\nThey greeted."}]}}"#,
        r#"{"type":"llm.response","run_id":"r1","ts":"2026-02-03T04:00:05.000Z","seq":2,"output":{"messages":[{"role":"assistant","content":"done"}],"usage":{"model":"gpt-5","input_tokens":10,"output_tokens":3,"total_tokens":13}}}"#,
        r#"{"type":"run.end","run_id":"r1","ts":"2026-02-03T04:00:06.000Z","outcome":"completed"}"#,
    ];
    user.write(".codelia/sessions/2026/02/03/r1.jsonl", &(run.join("\n") + "\n"));
    user.write(
        ".codelia/sessions/messages/c.jsonl",
        "{\"role\":\"user\",\"content\":\"[codelia.compaction.summary]\\nThey greeted.\"}\n{\"role\":\"assistant\",\"content\":\"done\"}\n",
    );
}

#[test]
fn the_whole_history_is_shown_found_and_counted() {
    let user = User::new();
    compacted(&user);
    assert!(!user.ok("show c", "").contains("say hello"));
    let full = user.ok("show c --full", "");
    let order = ["say hello", "hello", "They greeted.", "done"];
    let places: Vec<_> = order.iter().map(|text| full.find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{full}");
    assert_eq!(full.matches("They greeted.").count(), 1, "{full}");
    assert!(full.contains("2026-02-03T04:00:02Z") && !full.contains("Be brief"), "{full}");
    let found = user.ok("search say", "");
    assert!(found.contains("say hello"), "{found}");
    let stats = user.ok("stats c --json", "");
    assert!(
        stats.contains("\"answers\":2,\"input\":70,\"output\":10,\"cache_read\":40"),
        "{stats}"
    );
}

#[test]
fn a_rebuilt_index_knows_what_the_runs_know() {
    let user = User::new();
    compacted(&user);
    user.write(".codelia/sessions/state.db", "not a database at all, but long enough to be read");
    user.ok("repair c", "");
    let listed = user.ok("ls --json", "");
    assert!(listed.contains("\"updated\":\"2026-02-03T04:00:06Z\""), "{listed}");
    assert!(listed.contains("\"project\":\"/srv/app\""), "{listed}");
}

#[test]
fn a_session_that_was_never_saved_is_listed_and_rebuilt() {
    let user = User::new();
    let run = [
        r#"{"type":"header","schema_version":1,"run_id":"r2","session_id":"lost","started_at":"2026-02-03T04:00:00.000Z"}"#,
        r#"{"type":"run.start","run_id":"r2","ts":"2026-02-03T04:00:01.000Z","input":{"type":"text","text":"kill me"}}"#,
        r#"{"type":"llm.request","run_id":"r2","ts":"2026-02-03T04:00:02.000Z","seq":1,"input":{"messages":[{"role":"user","content":"kill me"}]}}"#,
    ];
    user.write(".codelia/sessions/2026/02/03/r2.jsonl", &(run.join("\n") + "\n"));
    let listed = user.ok("ls", "");
    assert!(listed.contains("lost") && listed.contains("kill me"), "{listed}");
    assert!(user.ok("show lost", "").contains("kill me"));
    user.ok("repair lost", "");
    assert_eq!(
        user.read(".codelia/sessions/messages/lost.jsonl"),
        "{\"role\":\"user\",\"content\":\"kill me\"}\n"
    );
    user.ok("append lost", r#"{"role":"user","content":"again"}"#);
    assert_eq!(user.ok("ls --json", "").matches("\"turns\":2").count(), 1);
    // A session that was saved and removed since does not come back.
    user.ok("run end r2 --layout codelia", "");
    user.ok("trash lost", "");
    user.ok("purge lost --yes", "");
    assert!(!user.ok("ls --layout codelia", "").contains("lost"));
}

#[test]
fn a_run_reads_like_a_transcript() {
    let user = User::new();
    compacted(&user);
    let shown = user.ok("run show r1 --layout codelia", "");
    assert!(shown.contains("user  2026-02-03T04:00:01.000Z\nsay hello\n"), "{shown}");
    assert!(!shown.contains("llm.request") && shown.contains("assistant"), "{shown}");
    let raw = user.ok("run show r1 --raw --layout codelia", "");
    assert_eq!(raw, user.read(".codelia/sessions/2026/02/03/r1.jsonl"));
    let all = user.ok("run list --layout codelia --session c", "");
    assert!(all.contains("r1"), "{all}");
    assert_eq!(user.run("run list --layout codelia --session nobody", "").code, Some(1));
}

#[test]
fn runs_are_begun_and_ended() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    let run = user.ok("run begin --session c --text hi --layout codelia", "");
    let run = run.trim();
    assert!(user.ok("run list --layout codelia", "").contains("unfinished"));
    user.ok(&format!("run fail {run} --text why --layout codelia"), "");
    assert!(user.ok("run list --session c --layout codelia", "").contains("error"));
    assert_eq!(user.run(&format!("run end {run} --layout codelia"), "").code, Some(1));
    let checked = user.run("check ~/.codelia", "");
    assert_eq!(checked.code, Some(0), "{checked:?}");

    let run = user.ok("run begin --agent ling --layout linggen", "");
    user.ok(&format!("run end {} --layout linggen", run.trim()), "");
    assert!(user.ok("run list --layout linggen", "").contains("completed"));
    let mut old = user.command_in(&user.path(""), "run begin --agent ling --layout linggen");
    old.env("EVERTURN_NOW", "2020-01-01T00:00:00Z");
    assert_eq!(super::answer(old, "").code, Some(0));
    assert!(user.ok("run list --layout linggen", "").contains("stale"));
    user.ok("run end --stale --layout linggen", "");
    assert!(!user.ok("run list --layout linggen", "").contains("stale"));
}
