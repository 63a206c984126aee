//! Search results and their order, in sessions of every format.

use everturn_catalog::{
    Catalog, Query, SessionSource, SortOrder, SummaryDetail, hit_branch, hit_entry, open_session,
};

use crate::support::{World, at, later, layouts, named, shown};

#[test]
fn every_layout_is_found_by_what_was_said_in_it() {
    let world = World::new();
    for layout in layouts() {
        let id = if layout == "linggen" { "sess-1" } else { layout };
        world.session(layout, id, &["I look for the zephyr", "Then I rest"]);
    }
    let ids = ["game", "camp", "codelia", "sess-1", "chatlog"];
    let (found, notes) = world.find("zephyr -kind:tool_call -kind:tool_result");
    assert_eq!(notes, Vec::<String>::new());
    for id in ids {
        let fits = |hit: &&String| hit.starts_with(id) && hit.contains("I look for the zephyr");
        assert!(found.iter().any(|hit| fits(&hit)), "{id} is not in {found:?}");
    }
    world.check("zephyr layout:game", &["game 1: I look for the zephyr"]);
    world.check("zephyr project:SITE", &["sess-1 1: I look for the zephyr"]);
    world.check("zephyr session:code", &["codelia 1: I look for the zephyr"]);
    world.check("zephyr kind:user session:codelia", &["codelia 1: I look for the zephyr"]);
    world.check("zephyr speaker:gm", &["game 1: I look for the zephyr"]);
    world.check("rest session:sess status:active -layout:game", &["sess-1 2: Then I rest"]);
}

#[test]
fn words_phrases_beginnings_typos_scripts_and_identifiers() {
    let world = World::new();
    let texts = [
        "The dragon sleeps in the old tower.",
        "An old man dreams of a tower.",
        "Café crème, s'il vous plaît",
        "call parseHttpRequest in http_request.rs",
        "東京タワーで黒猫を見た",
        "see GitHub for more",
    ];
    world.session("game", "tale", &texts);
    let hit = |number: usize| format!("tale {number}: {}", texts[number - 1]);
    let check = |query: &str, numbers: &[usize]| {
        let expect: Vec<String> = numbers.iter().map(|number| hit(*number)).collect();
        world.check(query, &expect.iter().map(String::as_str).collect::<Vec<_>>());
    };
    check("tower", &[1, 2]);
    check("OLD Tower", &[1, 2]);
    check("\"old tower\"", &[1]);
    check("old -dragon", &[2]);
    check("dragon OR man", &[1, 2]);
    check("drea*", &[2]);
    check("\"old to\"*", &[1]);
    check("dragno~", &[1]);
    check("cafe creme", &[3]);
    check("plaît", &[3]);
    check("http_request", &[4]);
    check("HttpRequest", &[4]);
    check("parsehttprequest", &[4]);
    check("request", &[4]);
    check("github", &[6]);
    check("\"see github for\"", &[6]);
    check("黒猫", &[5]);
    check("猫", &[5]);
    check("た", &[5]);
    check("東京タワー", &[5]);
    check("京東", &[]);
    check("since:2026-01-01T10:03:00Z until:2026-01-01T10:04:01Z", &[3, 4]);
    check("old until:2026-01-01T10:01:30Z", &[1]);
    check("until:2026-01-01T10:01:00Z", &[1]);
    check("since:2026-01-01T10:01:00Z until:2026-01-01T10:01:00Z", &[1]);
    check("nothinglikethis", &[]);
}

#[test]
fn more_than_there_is_may_be_asked_for() {
    let world = World::new();
    world.session("game", "tale", &["The dragon sleeps.", "The dragon wakes."]);
    world.update();
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    let query = Query::parse("dragon", at(0)).unwrap();
    for limit in [1_000_000_000_000, usize::MAX] {
        for sort in [SortOrder::Relevance, SortOrder::Date] {
            let found = catalog.search(&sources, &sessions, &query, (limit, sort));
            assert_eq!((found.hits.len(), found.more), (2, false));
        }
    }
}

#[test]
fn a_session_is_meant_by_its_path_however_that_is_written() {
    let world = World::new();
    let place = world.session("game", "tale", &["The dragon sleeps."]);
    world.session("game", "other", &["The dragon wakes."]);
    let link = world.place.path().join("link");
    std::os::unix::fs::symlink(world.root(), &link).unwrap();
    let path = place.path.as_str();
    let (root, link) = (world.root().display().to_string(), link.display().to_string());
    for path in [path.to_owned(), format!("{root}/{path}"), format!("{link}/{path}")] {
        world.check(&format!("dragon session:{path}"), &["tale 1: The dragon sleeps."]);
    }
    world.check(&format!("dragon session:/elsewhere/{path}"), &[]);
}

#[test]
fn of_one_second_the_last_comes_first() {
    let world = World::new();
    // The entries of this format have no times of their own.
    let texts: Vec<String> = (1..=200).map(|number| format!("dragon {number}")).collect();
    world.session("codelia", "tale", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    catalog.update(&sources, &sessions, later(), &mut |_| {});
    let query = Query::parse("dragon", at(0)).unwrap();
    let found = catalog.search(&sources, &sessions, &query, (3, SortOrder::Date));
    let turns: Vec<u64> = found.hits.iter().map(|hit| hit.turn).collect();
    assert_eq!(turns, [200, 199, 198]);
}

#[test]
fn kinds_are_compared_without_case() {
    let world = World::new();
    world.session("codelia", "tale", &["The dragon sleeps."]);
    world.check("kind:USER", &["tale 1: The dragon sleeps."]);
    world.check("dragon -kind:User", &[]);
}

#[test]
fn what_only_a_branch_says_is_found_in_it_and_the_rest_once() {
    let world = World::new();
    let dir = world.root().join("projects/-srv-app");
    std::fs::create_dir_all(&dir).unwrap();
    let line = |(id, parent): (&str, &str), second: u64, text: &str| {
        let message = format!(r#"{{"role":"user","content":"{text}"}}"#);
        let time = format!("2026-01-01T10:00:0{second}Z");
        format!(
            r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},"sessionId":"3f0c9a52-6b1e-4c58-9d3a-0e7a11223344","timestamp":"{time}","message":{message}}}"#
        )
    };
    let lines = [
        line(("u1", "null"), 1, "Begin."),
        line(("u2", "\"u1\""), 2, "Go left."),
        line(("u3", "\"u1\""), 3, "Go right."),
    ];
    let file = dir.join("3f0c9a52-6b1e-4c58-9d3a-0e7a11223344.jsonl");
    std::fs::write(file, lines.join("\n") + "\n").unwrap();
    let store = std::sync::Arc::clone(&world.store);
    let sources = [SessionSource::new(&world.root(), store, vec![named("claude-code")])];
    for mut catalog in [world.catalog(), Catalog::new(None)] {
        let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
        catalog.update(&sources, &sessions, later(), &mut |_| {});
        let mut ask = |text: &str| -> Vec<String> {
            let query = Query::parse(text, at(0)).unwrap();
            let found = catalog.search(&sources, &sessions, &query, (10, SortOrder::Date));
            let hit = |hit: &everturn_catalog::SearchHit| {
                let reader =
                    open_session(&sources, &sessions.sessions[hit.session]).unwrap().unwrap();
                let text = hit_entry(&*reader, hit).unwrap().unwrap().text;
                format!("{:?} {text}", hit_branch(&*reader, hit).unwrap())
            };
            found.hits.iter().map(hit).collect()
        };
        assert_eq!(ask("left"), ["Some(\"u2\") Go left."]);
        assert_eq!(ask("begin"), ["None Begin."]);
        assert_eq!(ask("go"), ["None Go right.", "Some(\"u2\") Go left."]);
    }
}

#[test]
fn small_sessions_are_found_while_a_giant_is_read() {
    let world = World::new();
    world.session("game", "tale", &["The dragon sleeps."]);
    let text = "The giant walks on. ".repeat(70_000);
    world.session("game", "giant", &[&text]);
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    let mut meanwhile = Vec::new();
    catalog.update(&sources, &sessions, later(), &mut |how_far| {
        if how_far.session == "giant" && meanwhile.is_empty() {
            let query = Query::parse("dragon OR giant", at(0)).unwrap();
            let found =
                world.catalog().search(&sources, &sessions, &query, (10, SortOrder::Relevance));
            meanwhile = shown(&sources, &sessions, &found);
        }
    });
    assert_eq!(meanwhile, ["tale 1: The dragon sleeps."]);
}

#[test]
fn names_in_humps_are_found_by_their_parts() {
    let world = World::new();
    let texts = [
        "the parseHttpRequest of GitHub",
        "an HttpServer and a JsonRequest",
        "HttpServer, HttpServer, see also HttpServer",
    ];
    world.session("game", "code", &texts);
    let check = |query: &str, numbers: &[usize]| {
        let hit = |number: &usize| format!("code {number}: {}", texts[number - 1]);
        let expect: Vec<String> = numbers.iter().map(hit).collect();
        world.check(query, &expect.iter().map(String::as_str).collect::<Vec<_>>());
    };
    check("hub", &[1]);
    check("hu*", &[1]);
    check("huub~1", &[1]);
    check("server", &[2, 3]);
    // All parts, but of two names.
    check("HttpRequest", &[1]);
    check("-HttpRequest request", &[2]);
    check("JsonRequest", &[2]);
    // A phrase consists of whole words.
    check("\"of GitHub\"", &[1]);
    check("\"of git\"", &[]);
}

#[test]
fn typos_are_forgiven_only_when_nothing_fits() {
    let world = World::new();
    world.session("game", "tale", &["The dragon sleeps.", "A dragoon rides."]);
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    catalog.update(&sources, &sessions, later(), &mut |_| {});
    let mut ask = |text: &str| {
        let query = Query::parse(text, at(0)).unwrap();
        let found = catalog.search(&sources, &sessions, &query, (10, SortOrder::Relevance));
        (shown(&sources, &sessions, &found).len(), found.similar.is_some())
    };
    assert_eq!(ask("dragon"), (1, false));
    assert_eq!(ask("dargon"), (2, true));
    assert_eq!(ask("dargon sleeps"), (1, true));
    assert_eq!(ask("xyzzyx"), (0, false));
    // Both words occur, but not in one entry.
    assert_eq!(ask("dragon rides"), (0, false));
}

#[test]
fn the_best_comes_first_and_of_equals_the_newest() {
    let world = World::new();
    let long = format!("dragon {}", "and other words ".repeat(40));
    world.session("game", "tale", &["dragon here", &long, "dragon dragon dragon", "dragon here"]);
    let found = world.find_with(&mut world.catalog(), "dragon", SortOrder::Relevance);
    let turns: Vec<&str> = found.iter().map(|hit| &hit[..6]).collect();
    assert_eq!(turns, ["tale 3", "tale 4", "tale 1", "tale 2"]);
    let found = world.find_with(&mut world.catalog(), "dragon", SortOrder::Date);
    let turns: Vec<&str> = found.iter().map(|hit| &hit[..6]).collect();
    assert_eq!(turns, ["tale 4", "tale 3", "tale 2", "tale 1"]);
}

#[test]
fn long_entries_are_found_once_and_to_their_ends() {
    let world = World::new();
    let text = format!("alpha {} the omega point", "filler words ".repeat(60_000));
    world.session("game", "tale", &[&text, "omega"]);
    for query in ["alpha", "\"omega point\"", "filler"] {
        let (found, _) = world.find(query);
        assert_eq!(found.len(), 1, "{query}");
        assert!(found[0].starts_with("tale 1: alpha"));
    }
    let catalog = &mut world.catalog();
    let sources = world.sources();
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    let query = Query::parse("filler", at(0)).unwrap();
    let found = catalog.search(&sources, &sessions, &query, (1, SortOrder::Relevance));
    assert_eq!((found.hits.len(), found.more), (1, false));
}

#[test]
fn without_a_place_for_it_the_answers_are_the_same() {
    let world = World::new();
    world.session("game", "tale", &["The dragon sleeps.", "The old tower falls."]);
    let mut none = Catalog::new(None);
    let found = world.find_with(&mut none, "dragon", SortOrder::Date);
    assert_eq!(found, ["tale 1: The dragon sleeps."]);
    assert_eq!(
        world.find_with(&mut none, "towr", SortOrder::Date),
        ["tale 2: The old tower falls."]
    );
    assert_eq!(none.take_notes(), Vec::<String>::new());
    // A file in place of the directory has the effect of an unwritable disk.
    std::fs::write(world.cache(), "in the way").unwrap();
    let (found, notes) = world.find("dragon");
    assert_eq!(found, ["tale 1: The dragon sleeps."]);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("the list of sessions cannot be saved: "), "{notes:?}");
    assert!(notes[1].starts_with("the index cannot be updated: "), "{notes:?}");
}
