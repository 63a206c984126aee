//! One suite of checks for all disks, and tests of features that only one of them has.

use std::sync::Arc;
use std::time::Duration;

use everturn_store::disk::sim::SimDisk;
use everturn_store::disk::{Disk, FileAccess, FilePermissions, OverlayDisk, RealDisk};

use crate::support::path;

mod checks;
mod links;
mod overlay;
mod simulation;
#[cfg(target_os = "linux")]
mod swapped;

/// One test for each check on each disk. An overlay grants every lock.
macro_rules! disk_suite {
    (everywhere { $($check:ident,)* } locks { $($lock_check:ident,)* }) => {
        mod real {
            $(disk_suite!(@real $check);)*
            $(disk_suite!(@real $lock_check);)*
        }

        mod simulated {
            $(disk_suite!(@simulated $check);)*
            $(disk_suite!(@simulated $lock_check);)*
        }

        mod over_an_empty_disk {
            $(#[test]
            fn $check() {
                super::overlay::over_nothing(super::checks::$check);
            })*
        }

        mod over_what_was_removed {
            $(#[test]
            fn $check() {
                super::overlay::over_removed(super::checks::$check);
            })*
        }
    };
    (@real $check:ident) => {
        #[test]
        fn $check() {
            let dir = tempfile::tempdir().unwrap();
            super::checks::$check(&super::RealDisk::open(dir.path()).unwrap());
        }
    };
    (@simulated $check:ident) => {
        #[test]
        fn $check() {
            super::checks::$check(&super::SimDisk::new());
        }
    };
}

disk_suite! {
    everywhere {
        a_new_file_is_empty_and_takes_appends,
        a_taken_name_is_not_created_again,
        what_is_missing_is_not_found,
        nothing_is_created_in_a_missing_directory,
        nothing_stands_below_a_file,
        reading_stops_at_the_end,
        writing_in_the_middle_changes_nothing_else,
        writing_beyond_the_end_fills_the_gap_with_nul,
        a_file_is_cut_and_extended,
        a_file_opened_for_reading_cannot_be_changed,
        a_directory_is_no_file_and_a_file_no_directory,
        an_append_lands_behind_those_of_others,
        a_handle_outlives_its_name,
        a_file_renamed_over_another_keeps_its_identity,
        a_listing_is_sorted_and_says_what_is_what,
        a_directory_is_renamed_with_all_in_it,
        a_rename_replaces_files_only,
        a_directory_cannot_move_into_itself,
        files_and_empty_directories_are_removed,
        a_directory_with_something_in_it_stays,
        modes_are_as_asked,
        files_and_directories_can_be_flushed,
    }
    locks {
        an_exclusive_lock_excludes_all_others,
        shared_locks_exclude_exclusive_ones,
        a_dropped_lock_is_free,
        a_released_lock_leaves_no_file_and_can_be_taken_again,
        the_holder_of_a_lock_is_described,
        locks_by_different_paths_do_not_meet,
    }
}

/// Returns the content of a file.
fn content(disk: &dyn Disk, file: &str) -> Vec<u8> {
    let open = disk.open(&path(file), FileAccess::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(open.stat().unwrap().len).unwrap()];
    let mut done = 0;
    while done < bytes.len() {
        let read = open.read_at(done as u64, &mut bytes[done..]).unwrap();
        assert!(read > 0, "{file} ends too early");
        done += read;
    }
    bytes
}

/// Asking for the time makes the next flush of the file slower, so it is not asked for by default.
#[test]
fn the_time_of_a_file_is_known_only_if_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let real = Arc::new(RealDisk::open(dir.path()).unwrap());
    real.create(&path("a"), FilePermissions::Default).unwrap().append(b"kept").unwrap();
    let overlay = OverlayDisk::new(Arc::<RealDisk>::clone(&real));
    for disk in [&*real as &dyn Disk, &overlay] {
        let time = || disk.stat_with_time(&path("a")).unwrap().unwrap().modified;
        assert_eq!(disk.stat(&path("a")).unwrap().unwrap().modified, 0);
        let before = time();
        std::thread::sleep(Duration::from_millis(20));
        real.open(&path("a"), FileAccess::Write).unwrap().write_at(0, b"lost").unwrap();
        assert_ne!(time(), before, "a write of equal length");
    }
}
