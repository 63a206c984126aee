//! User templates.

use everturn_export::{ExportError, ExportFormat, ExportOptions, ExportStyle};

use crate::support::{chat, game, told};

fn custom(format: ExportFormat, name: &str, text: &str) -> Result<String, ExportError> {
    let choices = ExportOptions::defaults_for(format, ExportStyle::Custom);
    Ok(game().try_export(format, &choices, Some((name, text)), None)?.0)
}

#[test]
fn a_template_says_what_is_written_of_each_piece() {
    let template = "\
{% macro begin(session) %}{{ session.title }} ({{ session.entries }})
{% endmacro %}
{% macro heading(mark) %}* {{ mark.kind }} {{ mark.name }}
{% endmacro %}
{% macro turn(turn) %}- {{ turn.number }}
{% endmacro %}
{% macro entry(entry) %}{{ entry.speaker }}: {{ entry.text }}
{% endmacro %}
{% macro changes(turn) %}{% for change in turn.changes %}  {{ change.place }} = {{ change.words }}
{% endfor %}{% endmacro %}
{% macro end(end) %}{{ end.state | length }} of {{ session.turns }}
{% endmacro %}
";
    let made = custom(ExportFormat::Text, "mine.txt", template).unwrap();
    assert!(
        made.starts_with(
            "Vex (7)\n* chapter One: Arrivals\n* scene The market\n- 1\ngm: The stalls open.\n"
        ),
        "{made}"
    );
    assert!(
        made.contains(
            "- 3\nluna: Up the hill, and do not look back.\n  world npcs.luna = {\"trust\":5}\n"
        ),
        "{made}"
    );
    assert!(made.ends_with("3 of 7\n"), "{made}");
}

#[test]
fn the_template_of_the_documentation_works() {
    let docs = include_str!("../../../../docs/export.md");
    let template = docs.split("```jinja\n").nth(1).unwrap().split("\n```").next().unwrap();
    let choices = ExportOptions::defaults_for(ExportFormat::Html, ExportStyle::Custom);
    let made =
        chat().try_export(ExportFormat::Html, &choices, Some(("letter.html", template)), None);
    let made = made.unwrap().0;
    assert!(made.contains("<h1>The Lamp at the End of the Pier</h1>"), "{made}");
    assert!(made.contains("<h2>The First Night</h2>"), "{made}");
    assert!(made.contains("<em>slick</em>"), "{made}");
}

#[test]
fn what_a_template_for_html_writes_is_escaped() {
    let session = told(&["<script>alert(1)</script>"]);
    let made = |name: &str, text: &str| {
        let choices = ExportOptions::defaults_for(ExportFormat::Html, ExportStyle::Custom);
        session.try_export(ExportFormat::Html, &choices, Some((name, text)), None).unwrap().0
    };
    let plain = "{% macro entry(entry) %}{{ entry.text }}{% endmacro %}";
    assert_eq!(made("a.html", plain), "&lt;script&gt;alert(1)&lt;&#x2f;script&gt;");
    assert_eq!(made("a.html.j2", plain), "&lt;script&gt;alert(1)&lt;&#x2f;script&gt;");
    assert_eq!(made("a.txt", plain), "<script>alert(1)</script>");
    let shown = "{% macro entry(entry) %}{{ entry.text | markdown }}{% endmacro %}";
    assert_eq!(
        made("a.html", shown),
        "<p dir=\"auto\">&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
    );
}

#[test]
fn a_template_reaches_no_file_and_comes_to_an_end() {
    let fails = |text: &str, words: &str| {
        let error = custom(ExportFormat::Text, "mine.txt", text).unwrap_err().to_string();
        assert!(error.starts_with("the template cannot be used: "), "{error}");
        assert!(error.contains(words), "{error}");
    };
    fails("{% macro begin(s) %}{% include '/etc/passwd' %}{% endmacro %}", "passwd");
    fails("{% extends '../secret.txt' %}", "secret.txt");
    fails(
        "{% macro begin(s) %}{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}{% endmacro %}",
        "fuel",
    );
    fails(
        "{% macro a() %}{{ a() }}{% endmacro %}{% macro begin(s) %}{{ a() }}{% endmacro %}",
        "recursion",
    );
    fails("{% macro begin(s) %}{{ s.title", "line 1");
    fails("{% macro entry(e) %}{{ e.text | nosuch }}{% endmacro %}", "nosuch");
    let choices = ExportOptions::defaults_for(ExportFormat::Text, ExportStyle::Custom);
    assert!(game().try_export(ExportFormat::Text, &choices, None, None).is_err());
}
