//! What a project holds besides sessions: runs, missions, overrides.

use everturn::finding::FindingCode;
use everturn::linggen::{
    AgentOverride, DaemonState, LONGEST_RUN, MissionAgent, NewRun, PidFile, RunStatus, begin_run,
    child_runs, clear_mission, end_run, mission_runs, missions, read_override, read_pid, read_run,
    remove_override, run_ids, runs, scheduled_missions, set_mission, set_override,
};
use serde_json::json;

use crate::linggen::support::{at, exists, memory, names, project, put, read};

fn new_run(agent: &str, parent: Option<&str>) -> NewRun {
    NewRun {
        repo_path: "/srv/site".to_owned(),
        session: Some("sess-1".to_owned()),
        agent: agent.to_owned(),
        agent_kind: Some("main".to_owned()),
        parent: parent.map(str::to_owned),
        detail: Some("chat:structured-loop".to_owned()),
    }
}

#[test]
fn a_run_is_written_as_documented_and_ends_in_place() {
    let store = memory();
    let dir = project(&store).dir;
    let id = begin_run(&store, &dir, &new_run("ling", None), at(0)).unwrap();
    assert_eq!(id, "run-ling-1700000000-0");
    let file = format!("{dir}/runs/{id}.json");
    let text = read(&store, &file);
    let keys: Vec<String> =
        serde_json::from_str::<serde_json::Map<_, _>>(&text).unwrap().keys().cloned().collect();
    let documented = [
        "run_id",
        "repo_path",
        "session_id",
        "agent_id",
        "agent_kind",
        "parent_run_id",
        "status",
        "detail",
        "started_at",
        "ended_at",
    ];
    assert_eq!(keys, documented);
    put(&store, &file, text.replace("\"detail\"", "\"extra\": 1.50,\n  \"detail\""));
    end_run(&store, &dir, &id, &RunStatus::Completed, at(60)).unwrap();
    let ended = read(&store, &file);
    assert!(
        ended.contains("\"extra\": 1.50") && ended.contains("\"status\": \"completed\""),
        "{ended}"
    );
    let run = read_run(&store, &dir, &id).unwrap().unwrap();
    assert_eq!((run.status, run.ended), (RunStatus::Completed, Some(at(60))));
    assert!(end_run(&store, &dir, "run-x-1-1", &RunStatus::Failed, at(1)).is_err());
    let twin = begin_run(&store, &dir, &new_run("ling", None), at(0)).unwrap();
    assert_eq!(twin, "run-ling-1700000000-1", "no run is written over");
}

#[test]
fn runs_are_listed_by_name_newest_first_and_find_their_children() {
    let store = memory();
    let dir = project(&store).dir;
    let parent = begin_run(&store, &dir, &new_run("ling", None), at(5)).unwrap();
    let early = begin_run(&store, &dir, &new_run("a-b", None), at(1)).unwrap();
    let second = begin_run(&store, &dir, &new_run("coder", Some(&parent)), at(9)).unwrap();
    let first = begin_run(&store, &dir, &new_run("coder", Some(&parent)), at(7)).unwrap();
    put(
        &store,
        &format!("{dir}/runs/odd.json"),
        json!({"status": "weird", "started_at": 3}).to_string(),
    );
    put(&store, &format!("{dir}/runs/torn.json"), "{\"run_id\"");
    let ids: Vec<String> = run_ids(&store, &dir).unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [second.as_str(), &first, &parent, &early, "odd", "torn"]);
    let (all, findings) = runs(&store, &dir).unwrap();
    assert_eq!(all.len(), 5);
    assert_eq!(findings[0].code, FindingCode::BadDocument);
    let found: Vec<String> =
        child_runs(&store, &dir, &parent).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(found, [first, second]);
    assert_eq!(
        all.iter().find(|run| run.id == "odd").unwrap().status,
        RunStatus::Other("weird".into())
    );
}

#[test]
fn a_run_whose_program_is_gone_is_not_running() {
    let store = memory();
    let dir = project(&store).dir;
    let id = begin_run(&store, &dir, &new_run("ling", None), at(0)).unwrap();
    let run = read_run(&store, &dir, &id).unwrap().unwrap();
    assert_eq!(run.stale(DaemonState::Alive, at(60)), None);
    assert_eq!(run.stale(DaemonState::Unknown, at(60)), None);
    assert!(run.stale(DaemonState::Gone, at(60)).is_some());
    assert!(run.stale(DaemonState::Unknown, at(LONGEST_RUN + 1)).is_some());
    end_run(&store, &dir, &id, &RunStatus::Cancelled, at(1)).unwrap();
    let ended = read_run(&store, &dir, &id).unwrap().unwrap();
    assert_eq!(ended.stale(DaemonState::Gone, at(LONGEST_RUN * 2)), None);
}

#[test]
fn the_number_of_the_program_is_compared_with_what_is_alive() {
    let store = memory();
    let check = |text: Option<&str>, alive: bool| {
        if let Some(text) = text {
            put(&store, "ling.pid", text);
        }
        read_pid(&store, |_| alive).unwrap()
    };
    assert_eq!(check(None, true), PidFile::Missing);
    assert_eq!(check(Some("4242"), true), PidFile::Alive(4242));
    assert_eq!(check(Some("4242\n"), false), PidFile::Stale(4242));
    assert_eq!(check(Some("0"), true), PidFile::Damaged("0".into()));
    assert_eq!(check(Some("x"), true), PidFile::Damaged("x".into()));
    assert_eq!(PidFile::Stale(1).daemon(), DaemonState::Gone);
    assert_eq!(PidFile::Missing.daemon(), DaemonState::Unknown);
}

fn agent() -> MissionAgent {
    MissionAgent {
        id: "ling".into(),
        idle_prompt: Some("Check status".into()),
        idle_interval_secs: Some(60),
    }
}

#[test]
fn one_mission_is_active_and_all_are_kept() {
    let store = memory();
    let dir = project(&store).dir;
    set_mission(&store, &dir, "Monitor production and fix issues", &[agent()], at(0)).unwrap();
    let file = format!("{dir}/missions/1700000000.json");
    let value: serde_json::Value = serde_json::from_str(&read(&store, &file)).unwrap();
    let documented = json!({
        "text": "Monitor production and fix issues", "created_at": 1_700_000_000, "active": true,
        "agents": [{"id": "ling", "idle_prompt": "Check status", "idle_interval_secs": 60}],
    });
    assert_eq!(value, documented);
    set_mission(&store, &dir, "second", &[], at(0)).unwrap();
    set_mission(&store, &dir, "third", &[], at(0)).unwrap();
    let names = names(&store, &format!("{dir}/missions"));
    assert_eq!(names, ["1700000000-2.json", "1700000000-3.json", "1700000000.json"]);
    let all = missions(&store, &dir).unwrap();
    let told: Vec<(&str, bool)> =
        all.missions.iter().map(|one| (one.text.as_str(), one.active)).collect();
    assert_eq!(
        told,
        [("third", true), ("second", false), ("Monitor production and fix issues", false)]
    );
    assert_eq!(clear_mission(&store, &dir).unwrap().unwrap().text, "third");
    assert_eq!(clear_mission(&store, &dir).unwrap(), None);
    assert!(missions(&store, &dir).unwrap().active().is_none());
    assert_eq!(missions(&store, &dir).unwrap().missions.len(), 3);
    assert!(set_mission(&store, &dir, " ", &[], at(1)).is_err());
}

#[test]
fn the_newest_mission_counts_by_number_whatever_the_names_look_like() {
    let store = memory();
    let dir = project(&store).dir;
    let mission = |text: &str| {
        json!({"text": text, "created_at": 1, "active": true, "agents": [], "x": 1}).to_string()
    };
    put(&store, &format!("{dir}/missions/999.json"), mission("old"));
    put(&store, &format!("{dir}/missions/10000.json"), mission("new"));
    put(&store, &format!("{dir}/mission.json"), mission("oldest"));
    put(&store, &format!("{dir}/missions/5.json"), "{\"text\":");
    let all = missions(&store, &dir).unwrap();
    assert_eq!(all.active().unwrap().text, "new");
    let order: Vec<&str> = all.missions.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(order, ["new", "old", "oldest"]);
    let codes: Vec<FindingCode> = all.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        [FindingCode::BadDocument, FindingCode::WrongMetadata, FindingCode::WrongMetadata]
    );
    set_mission(&store, &dir, "newest", &[], at(0)).unwrap();
    let all = missions(&store, &dir).unwrap();
    assert_eq!(all.missions.iter().filter(|one| one.active).count(), 1, "every other one is ended");
    assert!(read(&store, &format!("{dir}/missions/999.json")).contains("\"x\":1"));
    assert_eq!(
        read(&store, &format!("{dir}/missions/5.json")),
        "{\"text\":",
        "what cannot be read stays"
    );
}

#[test]
fn missions_of_newer_programs_are_read() {
    let store = memory();
    put(
        &store,
        "missions/m1/mission.md",
        "---\nschedule: '*/5 * * * *'\nenabled: true\n---\nLook around\n",
    );
    put(&store, "missions/m1/runs.jsonl", "{\"run_id\":1}\n{\"run_id\":2}{\"run_id\":3}\n{\"run");
    put(&store, "missions/m2/mission.md", "---\na: [\n---\nBroken\n");
    let (missions, findings) = scheduled_missions(&store).unwrap();
    assert_eq!((missions[0].id.as_str(), missions[0].text.as_str()), ("m1", "Look around"));
    assert_eq!(missions[0].fields["schedule"], "*/5 * * * *");
    assert_eq!((missions.len(), findings.len()), (2, 1));
    let (runs, findings) = mission_runs(&store, &missions[0]).unwrap();
    assert_eq!((runs.len(), findings.len()), (3, 2));
}

#[test]
fn overrides_say_what_differs_and_can_be_taken_back() {
    let store = memory();
    let dir = project(&store).dir;
    let change =
        AgentOverride { agent_id: "ling".into(), idle_prompt: None, idle_interval_secs: Some(120) };
    set_override(&store, &dir, &change).unwrap();
    let file = format!("{dir}/agent_overrides/ling.json");
    assert_eq!(
        read(&store, &file),
        "{\n  \"agent_id\": \"ling\",\n  \"idle_prompt\": null,\n  \"idle_interval_secs\": 120\n}"
    );
    assert_eq!(read_override(&store, &dir, "ling").unwrap(), Some(change));
    assert!(remove_override(&store, &dir, "ling").unwrap());
    assert!(!remove_override(&store, &dir, "ling").unwrap());
    assert!(!exists(&store, &file));
}
