//! The checks that every store must pass, and what they use. Other crates run them on their stores.

use std::collections::BTreeMap;

use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{CommitReceipt, Durability, Step, Store, StoreError, Writer};

use crate::support::path;

/// Calls a macro with the names of all checks.
macro_rules! with_store_checks {
    ($run:ident) => {
        $run! {
            steps {
                an_append_creates_the_file_and_the_directories_above_it,
                appends_come_one_after_the_other,
                an_append_goes_exactly_where_it_was_meant_or_nowhere,
                an_append_makes_the_end_good_first,
                a_replacement_creates_or_replaces,
                a_replacement_must_meet_what_was_expected,
                a_secret_is_private_and_stays_so,
                a_file_gets_another_name,
                a_directory_gets_another_name_with_all_in_it,
                a_name_that_is_taken_or_missing_cannot_be_given,
                files_and_whole_directories_are_removed,
                a_file_has_nothing_below_it,
                a_directory_is_not_written_to,
                reads_are_ranges,
                what_is_missing_is_not_empty,
                a_listing_is_sorted,
            }
            batches {
                a_batch_that_makes_no_sense_changes_nothing,
                a_replacement_can_be_appended_to_in_one_batch,
                a_receipt_tells_the_place_of_every_append,
                a_file_is_changed_and_then_renamed_in_one_batch,
                a_step_that_fails_leaves_nothing_of_its_batch,
                a_batch_of_nothing_does_nothing,
                a_name_can_begin_again_in_the_next_batch,
                a_file_and_a_directory_cannot_share_a_name_in_one_batch,
                what_is_written_is_seen_at_once,
                written_and_synced_commits_keep_their_order,
            }
            scopes {
                a_writer_keeps_to_its_scope,
                a_writer_may_have_several_scopes,
                a_writer_can_add_scopes_and_release_them,
                an_added_scope_that_is_busy_changes_nothing,
                everturns_own_directory_is_nobodys,
                the_trash_and_the_staging_place_belong_to_who_names_them,
                a_scope_has_one_writer,
                what_is_above_or_below_is_busy_too,
                siblings_do_not_meet,
                a_scope_is_free_after_release_and_after_drop,
                a_lock_that_fails_takes_nothing,
                the_root_can_be_a_scope,
            }
        }
    };
}
pub(crate) use with_store_checks;

/// Everything in a store, except Everturn's own directory: the content of files, and directories.
pub(crate) type Snapshot = BTreeMap<FilePath, Option<Vec<u8>>>;

pub(crate) fn snapshot(store: &dyn Store) -> Snapshot {
    let (mut all, mut dirs) = (Snapshot::new(), vec![FilePath::root()]);
    while let Some(dir) = dirs.pop() {
        for entry in store.list(&dir).unwrap().entries {
            let place = dir.join(&entry.name);
            if entry.kind == FileKind::File {
                all.insert(place.clone(), Some(store.read(&place, 0..u64::MAX).unwrap()));
            } else if place != path(".everturn") {
                all.insert(place.clone(), None);
                dirs.push(place);
            }
        }
    }
    all
}

/// Returns the contents of a store in a form that is easy to write down: directories end with `/`.
pub(crate) fn shown(store: &dyn Store) -> Vec<String> {
    let show = |(place, content): (FilePath, Option<Vec<u8>>)| match content {
        Some(bytes) => format!("{place}: {}", String::from_utf8(bytes).unwrap()),
        None => format!("{place}/"),
    };
    snapshot(store).into_iter().map(show).collect()
}

pub(crate) fn lock(store: &dyn Store, scope: &str) -> Box<dyn Writer> {
    store.lock(&[path(scope)]).unwrap()
}

pub(crate) fn synced(writer: &dyn Writer, steps: Vec<Step>) -> Result<CommitReceipt, StoreError> {
    writer.commit(steps, Durability::Synced)
}

/// Commits `steps`, which must fail and change nothing, with either durability.
pub(crate) fn refused(store: &dyn Store, writer: &dyn Writer, steps: &[Step]) -> StoreError {
    let before = snapshot(store);
    let written = writer.commit(steps.to_vec(), Durability::Buffered).unwrap_err();
    assert_eq!(snapshot(store), before, "{steps:?}");
    let error = synced(writer, steps.to_vec()).unwrap_err();
    assert_eq!(error.to_string(), written.to_string());
    assert_eq!(snapshot(store), before, "{steps:?}");
    error
}

/// Asserts that a commit fails with a certain error and changes nothing.
macro_rules! refuses {
    ($store:expr, $writer:expr, $steps:expr, $error:pat $(if $guard:expr)?) => {{
        let error = $crate::suite::refused($store, &*$writer, &$steps);
        let text = format!("{error:?}");
        assert!(matches!(error, $error $(if $guard)?), "{text}");
    }};
}
pub(crate) use refuses;
