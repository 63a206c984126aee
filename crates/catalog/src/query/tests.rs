//! Tests of the query parser.

use super::*;

fn parse(text: &str) -> Result<Query, QueryError> {
    Query::parse(text, "2026-03-10T12:00:00Z".parse().unwrap())
}

fn shown(atom: &QueryAtom) -> String {
    let words = |words: &[(usize, String)]| {
        let word = |(at, word): &(usize, String)| format!("{at}:{word}");
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    match atom {
        QueryAtom::Phrase(all) => words(all),
        QueryAtom::CamelCase { whole, parts } => format!("{whole}={}", parts.join("+")),
        QueryAtom::Beginning { before, at, start } => {
            format!("{} {at}:{start}*", words(before)).trim().to_owned()
        }
        QueryAtom::Similar { word, distance } => format!("{word}~{distance}"),
        QueryAtom::Speaker(names) => format!("speaker={}", names.join("+")),
        QueryAtom::Kind(kind) => format!("kind={kind}"),
    }
}

fn check(text: &str, expect: &str) {
    let query = parse(text).unwrap();
    let clause = |clause: &QueryClause| {
        let any: Vec<String> = clause.any.iter().map(shown).collect();
        format!("{}{}", if clause.absent { "-" } else { "" }, any.join(" | "))
    };
    let mut all: Vec<String> = query.clauses.iter().map(clause).collect();
    all.extend(query.sessions.iter().map(|filter| {
        format!("{}{}={}", if filter.absent { "-" } else { "" }, filter.field, filter.value)
    }));
    all.extend(query.since.map(|time| format!("since {time}")));
    all.extend(query.until.map(|time| format!("until {time}")));
    assert_eq!(all.join(" & "), expect, "{text}");
}

fn check_wrong(text: &str, expect: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), expect, "{text}");
}

#[test]
fn words_phrases_beginnings_and_typos() {
    check("Dragon tower", "0:dragon & 0:tower");
    check("\"Old Tower\" x", "0:old 1:tower & 0:x");
    check("say\"Old Tower\"", "0:say & 0:old 1:tower");
    check("drag*", "0:drag*");
    check("\"old tow\"*", "0:old 1:tow*");
    check("dragn~ abcdefgh~ ab~ abcdefgh~1", "dragn~1 & abcdefgh~2 & ab~0 & abcdefgh~1");
    check("dragon OR wyrm tower", "0:dragon | 0:wyrm & 0:tower");
    check("a OR b OR c", "0:a | 0:b | 0:c");
    check("or", "0:or");
    check("tower -dragon -\"old man\"", "0:tower & -0:dragon & -0:old 1:man");
}

#[test]
fn code_and_scripts_without_spaces() {
    check("parse_http", "0:parse 1:http");
    check("tokio::net::connect", "0:tokio 1:net 2:connect");
    check("HttpRequest", "httprequest=http+request");
    check("\"use GitHub now\"", "0:use 1:github 2:now");
    check("日本語", "0:日本 1:本語");
    check("猫", "0:猫*");
    check("黒猫 犬", "0:黒猫 & 0:犬*");
    check("parse_ht*", "0:parse 1:ht*");
}

#[test]
fn filters() {
    check("x speaker:\"The Narrator\"", "0:x & speaker=the+narrator");
    check("kind:tool_call -kind:event x", "kind=tool_call & -kind=event & 0:x");
    check("layout:game project:~/Site session:abc", "layout=game & project=~/site & session=abc");
    check("-layout:game title:Café status:paused", "-layout=game & title=cafe & status=paused");
    check("x since:2026-01-03", "0:x & since 2026-01-03T00:00:00Z");
    check("since:3d until:2026-03", "since 2026-03-07T12:00:00Z & until 2026-04-01T00:00:00Z");
    check("\"HEAD~3\"", "0:head 1:3");
    check("-kind:Event", "-kind=event");
    check("layout:Game kind:USER", "kind=user & layout=game");
    check("since:2026 since:2025", "since 2026-01-01T00:00:00Z");
    check("https://example.org", "0:https 1:example 2:org");
}

#[test]
fn what_cannot_be_understood_says_where() {
    check_wrong("", "no search words, at character 1");
    check_wrong(" ?! - ", "no search words, at character 1");
    check_wrong("ä \"old", "the quote is never closed, at character 3");
    check_wrong("x speaker:", "speaker: needs a value, at character 3");
    check_wrong(
        "x since:soon",
        "\"soon\" is not a date; use a form such as 2026-01-03, yesterday or 3d, at character 3",
    );
    check_wrong("OR x", "OR needs a word before it, at character 1");
    check_wrong("x OR", "OR needs a word after it, at character 3");
    check_wrong("x OR kind:user", "OR can only join two words, at character 3");
    check_wrong("x OR -y", "OR can only join two words, at character 3");
    check_wrong("-x", "the query only has excluded words, at character 1");
    check_wrong("foo_bar~", "~ only applies to a single word, at character 1");
    for text in ["dragon~0", "dragn~3", "dragn~999"] {
        check_wrong(
            text,
            "~ can only be followed by 1 or 2; quote the word to search for a literal ~, at character 1",
        );
    }
    check_wrong("x layout:gmae", "unknown format \"gmae\"; did you mean game?, at character 3");
    assert!(parse("layout:zz").unwrap_err().reason.contains("; known formats: game, campaign, "));
}

#[test]
fn a_forgiving_query_has_slack_in_its_words_only() {
    let forgiving = |text: &str| {
        let known = |word: &str| Ok::<bool, ()>(word == "castle");
        parse(text).unwrap().with_typos(known).unwrap()
    };
    let query = forgiving("dragn castle \"old tower\" x -tower").unwrap();
    let shown: Vec<String> =
        query.clauses.iter().map(|clause| shown(clause.any.first().unwrap())).collect();
    assert_eq!(shown, ["dragn~1", "0:castle", "0:old 1:tower", "0:x", "0:tower"]);
    assert!(forgiving("ab kind:user").is_none());
    assert!(forgiving("castle").is_none());
    assert!(
        parse("speker:vex")
            .unwrap()
            .not_fields()
            .unwrap()
            .starts_with("speker: is searched as text")
    );
}
