//! Plans as files: names that are free, changes that touch nothing else.

use everturn::linggen::{
    ItemMark, LinggenError, Plan, PlanStatus, create_plan, edit_plan, plans, read_plan,
};

use crate::linggen::support::{memory, put, read};

#[test]
fn a_plan_is_written_as_documented_and_never_over_another() {
    let store = memory();
    let plan = Plan::new(
        "Refactor auth module",
        "model_managed",
        &[("Read", "src/auth.rs\nall of it"), ("Test", "")],
    );
    assert_eq!(create_plan(&store, &plan).unwrap(), "refactor-auth-module");
    assert_eq!(
        read(&store, "plans/refactor-auth-module.md"),
        "# Plan: Refactor auth module\n\n**Status:** planned\n**Origin:** model_managed\n\n\
         - [ ] Read\n  src/auth.rs\n  all of it\n- [ ] Test\n"
    );
    assert_eq!(create_plan(&store, &plan).unwrap(), "refactor-auth-module-2");
    assert_eq!(create_plan(&store, &plan).unwrap(), "refactor-auth-module-3");
    assert_eq!(create_plan(&store, &Plan::new("con", "user", &[])).unwrap(), "plan");
    assert_eq!(plans(&store).unwrap().len(), 4);
}

#[test]
fn what_people_wrote_into_a_plan_stays() {
    let store = memory();
    let text = "Notes first\r\n# Plan: X\r\n\r\n**Status:** planned\r\n\r\n**Origin:** user\r\n\r\n* by hand\r\n- [ ] a\r\n  d1\r\n  d2\r\n\r\ntail";
    put(&store, "plans/x.md", text);
    let edited = edit_plan(&store, "x", |plan| {
        plan.mark(1, ItemMark::InProgress)?;
        plan.set_status(&PlanStatus::Executing)
    });
    assert_eq!(edited.unwrap().items()[0].description, "d1\nd2");
    assert_eq!(
        read(&store, "plans/x.md"),
        text.replace("[ ] a", "[~] a").replace("planned", "executing")
    );
    let refused = edit_plan(&store, "x", |plan| plan.mark(2, ItemMark::Done));
    assert!(matches!(refused, Err(LinggenError::Input { .. })));
    assert!(edit_plan(&store, "y", |_| Ok(())).is_err());
    put(&store, "plans/bytes.md", b"# Plan: \xff\n");
    assert!(matches!(read_plan(&store, "bytes"), Err(LinggenError::Damaged { .. })));
}
