//! The rules of this repository that no compiler or linter checks.
//!
//! A rule is a function that lists what breaks it. A new one is the function, a test beside it that
//! shows it fail on a made-up repository, and a line below.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dependencies;
mod docs;
mod formats;
mod layers;
mod modules;
mod names;
mod prose;
mod repository;
mod source;
mod supply;
mod text;
mod wiring;

use repository::Repository;

/// Lists what breaks a rule, one line per place.
type Rule = fn(&Repository) -> Vec<String>;

/// One test per rule, so that a failure names the rule.
macro_rules! rules {
    ($($module:ident::$rule:ident,)*) => {
        mod this_repository {
            $(#[test]
            fn $rule() {
                let broken = super::$module::$rule(&super::Repository::read());
                assert!(broken.is_empty(), "\n{}", broken.join("\n"));
            })*
        }
    };
}

rules! {
    formats::commands_do_not_spell_formats,
    layers::crates_are_members,
    layers::crates_depend_on_lower_ones,
    modules::modules_have_an_order,
    names::type_names_are_unique,
    names::type_names_are_nouns,
    names::replaced_words_are_gone,
    names::methods_are_in_few_files,
    names::front_pages_name_every_module,
    prose::replaced_words_are_not_written,
    source::files_are_small,
    source::modules_are_files_with_names,
    source::modules_are_declared,
    source::modules_say_what_they_are,
    source::only_the_disk_module_touches_files,
    source::lints_are_expected_not_allowed,
    text::work_is_finished,
    text::whitespace_is_clean,
    text::words_are_plain,
    docs::required_files_exist,
    docs::named_paths_exist,
    docs::links_resolve,
    docs::pages_are_short,
    wiring::formats_are_wired_in,
    wiring::readers_are_wired_in,
    wiring::the_guide_names_every_step,
}

/// Asserts what `rule` has to say about a repository of these files.
#[track_caller]
fn check(rule: Rule, files: &[(&str, &str)], expect: &[&str]) {
    assert_eq!(rule(&Repository::of(files)), expect);
}
