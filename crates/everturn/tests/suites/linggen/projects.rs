//! Projects: no two paths share a directory, and a project that was moved takes everything with it.

use std::sync::Arc;

use everturn::finding::FindingCode;
use everturn::linggen::{
    LinggenError, LinggenWriter, NewLinggenSession, NewRun, begin_run, find_project, open_project,
    plan_rehome, projects, rehome, runs, sessions, set_mission,
};
use everturn::names::SessionId;
use everturn::store::{Store, StoreError};

use crate::linggen::support::{at, exists, memory, names, project_path, put, read};

fn open(store: &Arc<dyn Store>, path: &str) -> String {
    open_project(store, &project_path(path), at(0)).unwrap().dir.to_string()
}

#[test]
fn a_project_is_written_as_documented() {
    let store = memory();
    assert_eq!(open(&store, "/abs/path"), "projects/-abs-path");
    assert_eq!(
        read(&store, "projects/-abs-path/project.json"),
        "{\n  \"path\": \"/abs/path\",\n  \"name\": \"path\",\n  \"added_at\": 1700000000\n}"
    );
    assert_eq!(
        names(&store, "projects/-abs-path"),
        ["project.json"],
        "directories are made when needed"
    );
}

#[test]
fn paths_that_are_encoded_alike_never_share_a_directory() {
    let store = memory();
    let paths = ["/a/b-c", "/a-b/c", "/a-b-c", "/a/b/c", "/a\\b/c", "/a/b/c/"];
    let dirs: Vec<String> = paths.iter().map(|path| open(&store, path)).collect();
    assert_eq!(dirs[0], "projects/-a-b-c");
    assert_eq!(dirs[1], "projects/-a-b-c~2");
    assert_eq!(dirs[3], dirs[5], "a trailing slash is the same project");
    let mut distinct = dirs[..5].to_vec();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 5, "{dirs:?}");
    for (path, dir) in paths.iter().zip(&dirs) {
        assert_eq!(&open(&store, path), dir, "{path} is found again");
        let found = find_project(&store, &project_path(path)).unwrap().unwrap();
        assert_eq!(found.dir.as_str(), dir);
    }
    assert_eq!(projects(&store).unwrap().findings, []);
}

#[test]
fn a_program_that_cannot_tell_two_projects_apart_takes_nothing_away() {
    let store = memory();
    assert_eq!(open(&store, "/a/b-c"), "projects/-a-b-c");
    assert_eq!(open(&store, "/a-b/c"), "projects/-a-b-c~2");
    // The program opens the second project, and claims the directory of the first.
    put(&store, "projects/-a-b-c/project.json", r#"{"path":"/a-b/c","name":"c","added_at":1}"#);
    assert_eq!(open(&store, "/a/b-c"), "projects/-a-b-c");
    assert_eq!(open(&store, "/a-b/c"), "projects/-a-b-c~2");
    let all = projects(&store).unwrap();
    let paths: Vec<String> =
        all.projects.iter().map(|project| project.path.clone().unwrap().to_string()).collect();
    assert_eq!(paths, ["/a/b-c", "/a-b/c"]);
}

#[test]
fn directories_that_programs_named_otherwise_are_found() {
    let store = memory();
    put(&store, "projects/-a-b-/project.json", r#"{"path":"/a/b/","name":"b","added_at":1}"#);
    assert_eq!(open(&store, "/a/b"), "projects/-a-b-");
    put(&store, "projects/-c-d/sessions/default/messages.jsonl", "");
    assert_eq!(open(&store, "/c/d"), "projects/-c-d", "a directory that nobody claims is taken");
    assert!(exists(&store, "projects/-c-d/project.json"));
}

#[test]
fn what_cannot_be_read_is_never_written_over() {
    let store = memory();
    put(&store, "projects/-a/project.json", "{\"path\": ");
    let refused = open_project(&store, &project_path("/a"), at(0));
    assert!(matches!(refused, Err(LinggenError::Damaged { .. })), "{refused:?}");
    assert_eq!(read(&store, "projects/-a/project.json"), "{\"path\": ");
    open(&store, "/b");
    let all = projects(&store).unwrap();
    assert_eq!(all.projects.len(), 2);
    assert_eq!(all.findings[0].code, FindingCode::BadMetadata);
}

fn fill(store: &Arc<dyn Store>, path: &str, id: &str) {
    let project = open_project(store, &project_path(path), at(0)).unwrap();
    let new = NewLinggenSession { id: Some(SessionId::parse(id).unwrap()), title: String::new() };
    LinggenWriter::create(store, &project.dir, &new, at(0)).unwrap().release().unwrap();
    let run = NewRun { repo_path: path.to_owned(), agent: "ling".to_owned(), ..NewRun::default() };
    begin_run(store, &project.dir, &run, at(id.len() as i64)).unwrap();
    set_mission(store, &project.dir, "Watch", &[], at(id.len() as i64)).unwrap();
}

#[test]
fn a_project_that_was_moved_takes_everything_with_it() {
    let store = memory();
    fill(&store, "/old/place", "sess-a");
    put(&store, "projects/-old-place/memory/notes.md", "remember");
    let (from, to) = (project_path("/old/place"), project_path("/new/place"));
    let plan = plan_rehome(&store, &from, &to).unwrap();
    assert_eq!(plan.dir.as_str(), "projects/-new-place");
    assert!(exists(&store, "projects/-old-place"), "a plan changes nothing");
    rehome(&store, &from, &to, at(9)).unwrap();
    assert!(!exists(&store, "projects/-old-place"));
    let project = find_project(&store, &to).unwrap().unwrap();
    assert_eq!(
        (project.name.as_str(), project.formerly.as_slice()),
        ("place", &["/old/place".to_owned()][..])
    );
    assert_eq!(sessions(&store).unwrap().0[0].id.as_str(), "sess-a");
    assert_eq!(runs(&store, &project.dir).unwrap().0.len(), 1);
    assert!(exists(&store, "projects/-new-place/memory/notes.md"));
    assert!(read(&store, "projects/-new-place/project.json").contains("\"added_at\": 1700000000"));
    assert!(find_project(&store, &from).unwrap().is_none());
    rehome(&store, &to, &project_path("/third"), at(10)).unwrap();
    let project = find_project(&store, &project_path("/third")).unwrap().unwrap();
    assert_eq!(project.formerly, ["/old/place", "/new/place"]);
}

#[test]
fn a_move_onto_a_project_that_is_there_joins_them() {
    let store = memory();
    fill(&store, "/old", "sess-a");
    fill(&store, "/old", "sess-both");
    fill(&store, "/new", "sess-both");
    let moved = rehome(&store, &project_path("/old"), &project_path("/new"), at(9)).unwrap();
    let stays: Vec<&str> = moved.stays.iter().map(|file| file.as_str()).collect();
    assert!(stays.contains(&"projects/-old/sessions/sess-both"), "{stays:?}");
    assert!(exists(&store, "projects/-new/sessions/sess-a/session.yaml"));
    assert!(exists(&store, "projects/-old/sessions/sess-both/session.yaml"));
}

#[test]
fn a_move_onto_a_collision_gets_a_directory_of_its_own() {
    let store = memory();
    fill(&store, "/a/b-c", "sess-a");
    fill(&store, "/old", "sess-b");
    let moved = rehome(&store, &project_path("/old"), &project_path("/a-b/c"), at(9)).unwrap();
    assert_eq!(moved.dir.as_str(), "projects/-a-b-c~2");
    assert_eq!(open(&store, "/a/b-c"), "projects/-a-b-c");
    assert_eq!(open(&store, "/a-b/c"), "projects/-a-b-c~2");
}

#[test]
fn a_project_that_is_being_written_to_is_not_moved() {
    let store = memory();
    fill(&store, "/old", "sess-a");
    let place = sessions(&store).unwrap().0.remove(0);
    let writer = LinggenWriter::open(&store, &place).unwrap();
    let refused = rehome(&store, &project_path("/old"), &project_path("/new"), at(9));
    assert!(matches!(refused, Err(LinggenError::Store(StoreError::Busy { .. }))), "{refused:?}");
    drop(writer);
    let nowhere = rehome(&store, &project_path("/nowhere"), &project_path("/new"), at(9));
    assert!(matches!(nowhere, Err(LinggenError::NoProject { .. })));
}
