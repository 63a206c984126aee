//! The merge policy of the index: merges only small segments, so that merging needs little memory, and segments most
//! of whose documents were deleted.

use std::path::{Path, PathBuf};

use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::merge_policy::{MergeCandidate, MergePolicy};

use crate::catalog_dir::FileStamp;

/// Segments below this size in bytes are small.
const SMALL: u64 = 6 << 20;

/// The number of small segments that are merged into one.
const MANY: usize = 8;

#[derive(Debug)]
pub(crate) struct SegmentMergePolicy {
    dir: PathBuf,
}

impl SegmentMergePolicy {
    pub(crate) fn new(dir: PathBuf) -> SegmentMergePolicy {
        SegmentMergePolicy { dir }
    }

    fn size(&self, segment: &SegmentMeta) -> u64 {
        let parts = [
            SegmentComponent::Postings,
            SegmentComponent::Positions,
            SegmentComponent::Terms,
            SegmentComponent::FastFields,
        ];
        let len = |part| {
            let file: &Path = &self.dir.join(segment.relative_path(part));
            FileStamp::of(file).map_or(0, |stamp| stamp.len)
        };
        parts.into_iter().map(len).sum()
    }
}

impl MergePolicy for SegmentMergePolicy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mostly_deleted =
            |segment: &&SegmentMeta| segment.num_deleted_docs() > segment.num_docs();
        let (empty, rest): (Vec<_>, Vec<_>) = segments.iter().partition(mostly_deleted);
        let mut candidates: Vec<MergeCandidate> =
            empty.into_iter().map(|segment| MergeCandidate(vec![segment.id()])).collect();
        let small: Vec<&SegmentMeta> =
            rest.into_iter().filter(|segment| self.size(segment) < SMALL).collect();
        let whole = small.chunks(MANY).filter(|chunk| chunk.len() == MANY);
        candidates.extend(
            whole.map(|chunk| MergeCandidate(chunk.iter().map(|segment| segment.id()).collect())),
        );
        candidates
    }
}
