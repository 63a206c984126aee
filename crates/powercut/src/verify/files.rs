//! Compares files that batches of `everturn commit` changed.

use super::{Examination, Fault};
use crate::error::PowercutError;
use crate::model::{Bounds, FilesModel, Tree};
use crate::streams::files::tree_of;

/// Checks that the files are those after some batch that may be the last.
pub(super) fn compare_files(
    examination: &mut Examination<'_>,
    model: &FilesModel,
) -> Result<(), PowercutError> {
    let bounds = Bounds::at(examination.position, model.batches.iter().map(|batch| batch.span));
    examination.acknowledged += bounds.least;
    let found = tree_of(&examination.path(&model.root), &model.scope)?;
    let empty = Tree::new();
    let mut trees = std::iter::once(&empty).chain(model.batches.iter().map(|batch| &batch.tree));
    let place = trees.position(|tree| *tree == found);
    let Bounds { least, most } = bounds;
    // Two batches may produce the same files, so a later one may match.
    let may_be = |count: usize| {
        let tree = count.checked_sub(1).and_then(|index| model.batches.get(index));
        tree.map_or(&empty, |batch| &batch.tree) == &found
    };
    if (least..=most).any(may_be) {
        return Ok(());
    }
    let fault = if place.is_some_and(|place| place < least) { Fault::Lost } else { Fault::Half };
    let what = match place {
        Some(place) => format!("those after batch {place}"),
        None => {
            let possible = (least..=most).map(|count| {
                let batch = count.checked_sub(1).and_then(|index| model.batches.get(index));
                let paths = differences(batch.map_or(&empty, |batch| &batch.tree), &found);
                (paths.len(), count, paths)
            });
            let (_, nearest, paths) = possible.min().unwrap_or_default();
            format!("almost those after batch {nearest}: {}", some(&paths))
        }
    };
    let scope = &model.scope;
    examination
        .add(fault, format!("{scope}: {least} to {most} batches expected, files are {what}"));
    Ok(())
}

/// Joins a few paths for a message.
pub(super) fn some(paths: &[String]) -> String {
    paths.iter().take(8).map(String::as_str).collect::<Vec<&str>>().join(" ")
}

/// Returns the paths at which two trees differ.
pub(super) fn differences(wanted: &Tree, found: &Tree) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (path, sum) in wanted {
        match found.get(path) {
            None => paths.push(format!("-{path}")),
            Some(other) if other != sum => paths.push(format!("~{path}")),
            Some(_) => {}
        }
    }
    paths.extend(
        found.keys().filter(|path| !wanted.contains_key(*path)).map(|path| format!("+{path}")),
    );
    paths
}
