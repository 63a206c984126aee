//! Parses the text of a plan into its parts and their positions.

use super::{ItemMark, Plan, PlanItem, PlanStatus};

/// Parses a plan. Items are lines such as `- [x] title`, at any indentation; lines after an item that are indented by
/// two spaces, or a tab, are its description.
pub(super) fn parse(text: &str) -> Plan {
    let mut plan = Plan {
        text: text.to_owned(),
        summary: None,
        status: None,
        origin: None,
        items: Vec::new(),
    };
    let mut start = 0;
    // Blank lines belong to a description only if more of it follows.
    let mut blank = 0_usize;
    let mut in_item = false;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let trimmed = line.trim();
        let end = start + whole.len();
        if let Some((mark, title, at)) = item(line) {
            plan.items.push(PlanItem {
                mark,
                title,
                description: String::new(),
                at: start + at,
                lines: start..end,
            });
            (in_item, blank) = (true, 0);
        } else if in_item && trimmed.is_empty() {
            blank += 1;
        } else if in_item && (line.starts_with("  ") || line.starts_with('\t')) {
            if let Some(item) = plan.items.last_mut() {
                describe(item, line, blank);
                item.lines.end = end;
            }
            blank = 0;
        } else {
            in_item = false;
            header(&mut plan, line, start);
        }
        start = end;
    }
    plan
}

fn header(plan: &mut Plan, line: &str, start: usize) {
    let indent = line.len() - line.trim_start().len();
    let trimmed = line.trim();
    if let Some(summary) = trimmed.strip_prefix("# Plan:").filter(|_| plan.summary.is_none()) {
        plan.summary = Some(summary.trim().to_owned());
    } else if let Some(status) =
        trimmed.strip_prefix("**Status:**").filter(|_| plan.status.is_none())
    {
        let word = status.trim();
        let at = start + indent + "**Status:**".len() + (status.len() - status.trim_start().len());
        plan.status = Some((PlanStatus::parse(word), at..at + word.len()));
    } else if let Some(origin) =
        trimmed.strip_prefix("**Origin:**").filter(|_| plan.origin.is_none())
    {
        plan.origin = Some(origin.trim().to_owned());
    }
}

/// The mark of an item, its title, and the position of the mark in the line.
fn item(line: &str) -> Option<(ItemMark, String, usize)> {
    let trimmed = line.trim();
    let indent = line.len() - line.trim_start().len();
    let rest = trimmed.strip_prefix("- [")?;
    let mark = ItemMark::ALL.into_iter().find(|mark| rest.starts_with(mark.character()))?;
    let title = rest.get(1..)?.strip_prefix(']')?;
    // An item without a title has lost the space after its mark.
    let title = title.strip_prefix(' ').or(title.is_empty().then_some(""))?;
    Some((mark, title.trim().to_owned(), indent + "- [".len()))
}

fn describe(item: &mut PlanItem, line: &str, blank: usize) {
    let line = line.strip_prefix("  ").or_else(|| line.strip_prefix('\t')).unwrap_or(line);
    if !item.description.is_empty() {
        item.description.push_str(&"\n".repeat(blank + 1));
    }
    item.description.push_str(&unescape(line));
}

/// Escapes a line of a description that would be read as an item.
pub(super) fn escape(line: &str) -> String {
    match item(line) {
        Some(_) => line.replacen("- [", "\\- [", 1),
        None => line.to_owned(),
    }
}

fn unescape(line: &str) -> String {
    let plain = line.replacen("\\- [", "- [", 1);
    if item(&plain).is_some() && item(line).is_none() { plain } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(char, &str, &str)]) {
        let plan = parse(text);
        assert_eq!(plan.text(), text);
        let items: Vec<(char, &str, &str)> = plan
            .items()
            .iter()
            .map(|item| (item.mark.character(), item.title.as_str(), item.description.as_str()))
            .collect();
        assert_eq!(items, expect, "{text:?}");
    }

    const DOCUMENTED: &str = "# Plan: Refactor auth module\n\n**Status:** approved\n**Origin:** model_managed\n\n\
        - [x] Read existing auth code\n  src/auth.rs — understand current session handling\n\
        - [~] Implement JWT validation\n- [ ] Add tests\n- [-] Skipped: migration script\n";

    #[test]
    fn the_documented_plan_is_read() {
        let plan = parse(DOCUMENTED);
        assert_eq!(plan.summary(), Some("Refactor auth module"));
        assert_eq!(plan.status(), Some(&PlanStatus::Approved));
        assert_eq!(plan.origin(), Some("model_managed"));
        check(
            DOCUMENTED,
            &[
                (
                    'x',
                    "Read existing auth code",
                    "src/auth.rs — understand current session handling",
                ),
                ('~', "Implement JWT validation", ""),
                (' ', "Add tests", ""),
                ('-', "Skipped: migration script", ""),
            ],
        );
    }

    #[test]
    fn both_spacings_of_the_header_are_read() {
        let spaced = DOCUMENTED.replace("approved\n**Origin", "approved\n\n**Origin");
        let (one, other) = (parse(DOCUMENTED), parse(&spaced));
        assert_eq!((one.status(), one.origin()), (other.status(), other.origin()));
        let crlf = parse(&DOCUMENTED.replace('\n', "\r\n"));
        assert_eq!((crlf.status(), crlf.items().len()), (one.status(), 4));
    }

    #[test]
    fn items_and_descriptions_are_told_apart() {
        check("", &[]);
        check("words\n", &[]);
        check("- [ ] a", &[(' ', "a", "")]);
        check("- [ ]\n", &[(' ', "", "")]);
        check("- [X] a\n- [x]a\n- [?] a\n* [ ] a\n- x\n", &[]);
        check("  - [x] indented\n", &[('x', "indented", "")]);
        check("- [ ] a\n  one\n  two\n", &[(' ', "a", "one\ntwo")]);
        check("- [ ] a\n  one\n\n  two\n\n- [x] b\n", &[(' ', "a", "one\n\ntwo"), ('x', "b", "")]);
        check("- [ ] a\n    code\n  text\n", &[(' ', "a", "  code\ntext")]);
        check("- [ ] a\n\ttabbed\n", &[(' ', "a", "tabbed")]);
        check("- [ ] a\n  - [x] sub\n    more\n", &[(' ', "a", ""), ('x', "sub", "  more")]);
        check("- [ ] a\n  \\- [x] not one\n", &[(' ', "a", "- [x] not one")]);
        check("- [ ] a\nnot indented\n  lost\n", &[(' ', "a", "")]);
        check("- [~] 日本 — é\n  ü\n", &[('~', "日本 — é", "ü")]);
    }

    #[test]
    fn marks_and_status_change_nothing_else() {
        for text in [
            DOCUMENTED.to_owned(),
            DOCUMENTED.replace('\n', "\r\n"),
            DOCUMENTED.replace("- [", "  - ["),
        ] {
            let mut plan = parse(&text);
            plan.mark(3, ItemMark::Done).unwrap();
            plan.set_status(&PlanStatus::Completed).unwrap();
            let expect = text.replace("[ ] Add", "[x] Add").replace("approved", "completed");
            assert_eq!(plan.text(), expect);
            assert!(plan.mark(5, ItemMark::Done).is_err());
            assert!(plan.mark(0, ItemMark::Done).is_err());
            assert!(plan.set_status(&PlanStatus::Other("a\nb".into())).is_err());
        }
    }

    #[test]
    fn items_are_added_after_the_last_one() {
        let add = |text: &str, title: &str, description: &str| {
            let mut plan = parse(text);
            plan.add(title, description);
            plan.text().to_owned()
        };
        assert_eq!(add("", "a", ""), "- [ ] a\n");
        assert_eq!(add("- [x] a", "b", ""), "- [x] a\n- [ ] b\n");
        assert_eq!(
            add("- [x] a\n  d\n\nNotes\n", "b", "one\ntwo"),
            "- [x] a\n  d\n- [ ] b\n  one\n  two\n\nNotes\n"
        );
        assert_eq!(add("- [x] a\r\n", "b\nc", ""), "- [x] a\r\n- [ ] b c\r\n");
        let tricky = add("", "a", "- [x] looks like one\nplain");
        assert_eq!(parse(&tricky).items().len(), 1);
        assert_eq!(parse(&tricky).items()[0].description, "- [x] looks like one\nplain");
    }

    #[test]
    fn a_status_is_added_where_there_is_none() {
        let mut plan = parse("# Plan: X\n\n- [ ] a\n");
        plan.set_status(&PlanStatus::Executing).unwrap();
        assert_eq!(plan.text(), "# Plan: X\n\n**Status:** executing\n\n- [ ] a\n");
        let mut odd = parse("# Plan: X\n\n**Status:** on hold \n");
        assert_eq!(odd.status(), Some(&PlanStatus::Other("on hold".into())));
        odd.set_status(&PlanStatus::Planned).unwrap();
        assert_eq!(odd.text(), "# Plan: X\n\n**Status:** planned \n");
    }
}
