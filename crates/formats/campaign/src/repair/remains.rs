//! What is left of a damaged document, and how the rest is filled in.

use crate::error::CampaignError;
use crate::log::OWN;
use crate::paths::CampaignFile;
use crate::session::{Campaign, read_optional};
use crate::shape::{FIXED_OBJECTS, known_keys, missing_parts, wrong_kinds};
use everturn_rpg::draft::CampaignDraft;
use everturn_value::delta::{Delta, DeltaPath};
use everturn_value::intact::{IntactParts, read_intact};
use everturn_value::tree::{JsonTree, ValueKind};

/// The readable values of a document.
pub(super) struct DocumentRemains {
    pub(super) tree: JsonTree,
    /// The paths of the objects and arrays from which something is missing.
    pub(super) gaps: Vec<Vec<String>>,
}

/// Where the values for the gaps come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FillSource {
    /// A checkpoint or the changes, which have the whole document.
    Known,
    /// The rows of the log, and defaults for what they do not have.
    Rows,
    /// Defaults only.
    Defaults,
}

/// The values that the rows of the log have.
const IN_ROWS: &[&[&str]] = &[
    &["id"],
    &["settings_revision"],
    &["selected", "party_character_ids"],
    &["selected", "active_actor_id"],
    &["positions"],
    &["hp"],
    &["character_states"],
    &["state"],
];

impl DocumentRemains {
    /// Reads what is left of a campaign's document.
    pub(super) fn read(campaign: &Campaign) -> Result<DocumentRemains, CampaignError> {
        let found = match &campaign.stored {
            Some(stored) => Some(IntactParts { tree: stored.tree.clone(), gaps: Vec::new() }),
            None => {
                let bytes = read_optional(&campaign.store, &campaign.file(CampaignFile::Campaign))?;
                bytes.as_deref().and_then(read_intact)
            }
        };
        let nothing = || IntactParts { tree: JsonTree::object(), gaps: vec![Vec::new()] };
        let IntactParts { tree, gaps } = found.unwrap_or_else(nothing);
        let mut remains = DocumentRemains { tree, gaps };
        remains.restore_keys();
        remains.drop_wrong_kinds();
        for path in missing_parts(&remains.tree) {
            let above = path.split_last().map_or(&[][..], |(_, above)| above);
            remains.add_gap(above.iter().map(|key| (*key).to_owned()).collect());
        }
        Ok(remains)
    }

    /// Returns whether nothing is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Returns whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.tree.len_at::<&str>(&[]) == Some(0)
    }

    pub(super) fn add_gap(&mut self, path: Vec<String>) {
        if !self.gaps.contains(&path) {
            self.gaps.push(path);
            self.gaps.sort();
        }
    }

    /// Corrects keys of which one character is wrong: an unknown key, where a known one of that spelling is missing.
    fn restore_keys(&mut self) {
        for object in FIXED_OBJECTS {
            let Some(found) = self.tree.value_at(object) else { continue };
            if found.kind() != ValueKind::Object {
                continue;
            }
            let known = known_keys(object);
            let members = found.children();
            let has = |key: &str| members.iter().any(|(name, _)| name == key);
            let right = |name: &String| {
                let is_known = known.contains(&name.as_str());
                known.iter().find(|key| !is_known && !has(key) && differs_by_one(key, name))
            };
            if members.iter().all(|(name, _)| right(name).is_none()) {
                continue;
            }
            let members = members.iter().map(|(name, value)| {
                let name = right(name).map_or_else(|| name.clone(), |key| (*key).to_owned());
                (name, value.clone())
            });
            let object = DeltaPath::array(object.iter().copied());
            self.set(object, JsonTree::from_members(members));
        }
    }

    fn set(&mut self, path: DeltaPath, value: JsonTree) {
        let mut tree = self.tree.clone();
        if Delta::set(path, value).apply_in_place(&mut tree).is_ok() {
            self.tree = tree;
        }
    }

    /// Removes values of the wrong kind.
    fn drop_wrong_kinds(&mut self) {
        // From the end, so that the positions in arrays stay right.
        for wrong in wrong_kinds(&self.tree).into_iter().rev() {
            let mut tree = self.tree.clone();
            let path = DeltaPath::array(wrong.path.iter().map(String::as_str));
            if Delta::delete(path).apply_in_place(&mut tree).is_ok() {
                self.tree = tree;
            }
            let above = wrong.path.split_last().map(|(_, above)| above.to_vec());
            self.add_gap(above.unwrap_or_default());
        }
    }

    /// Fills the gaps from another document, and records in the result what could not be recovered.
    pub(super) fn fill(
        &self,
        from: &JsonTree,
        source: FillSource,
    ) -> Result<JsonTree, CampaignError> {
        let mut draft = CampaignDraft::new(self.tree.clone());
        let mut lost: Vec<String> = Vec::new();
        for gap in &self.gaps {
            let (Some(found), Some(filling)) = (self.tree.value_at(gap), from.value_at(gap)) else {
                lost.push(gap.join("."));
                continue;
            };
            let is_fixed = FIXED_OBJECTS.iter().any(|object| is_path(gap, object));
            if !is_fixed && !source.knows(gap) {
                lost.push(gap.join("."));
            }
            match (found.kind(), filling.kind()) {
                (ValueKind::Object, ValueKind::Object) => {
                    for (key, value) in filling.children() {
                        let path: Vec<String> = gap.iter().cloned().chain([key]).collect();
                        if self.tree.value_at(&path).is_some() {
                            continue;
                        }
                        draft.apply(set(&path, value))?;
                        if is_fixed && !source.knows(&path) {
                            lost.push(path.join("."));
                        }
                    }
                }
                (ValueKind::Array, ValueKind::Array) => {
                    let known = found.children();
                    for (_, value) in filling.children() {
                        if !known.iter().any(|(_, known)| known.is_same(&value)) {
                            let path = DeltaPath::array(gap.iter().map(String::as_str));
                            draft.apply(Delta::push(path, value))?;
                        }
                    }
                }
                _ => {}
            }
        }
        let earlier = draft.view().tree.value_at(&[OWN, "lost"]);
        let earlier = earlier.map(|earlier| everturn_rpg::document_view::strings(&earlier));
        let mut all = earlier.unwrap_or_default();
        all.extend(lost);
        all.sort();
        all.dedup();
        if !all.is_empty() {
            draft.set(&[OWN, "lost"], &all)?;
        }
        Ok(draft.into_parts().0)
    }
}

impl FillSource {
    /// Returns whether the value at a path, or the object that contains it, is recovered from this source.
    fn knows(self, path: &[String]) -> bool {
        let in_rows = || {
            IN_ROWS.iter().any(|known| {
                path.len() >= known.len() && {
                    is_path(path.get(..known.len()).unwrap_or_default(), known)
                }
            })
        };
        match self {
            FillSource::Known => true,
            FillSource::Rows => in_rows(),
            FillSource::Defaults => is_path(path, &["id"]),
        }
    }
}

fn set(path: &[String], value: JsonTree) -> Delta {
    Delta::set(DeltaPath::array(path.iter().map(String::as_str)), value)
}

fn is_path(path: &[String], known: &[&str]) -> bool {
    path.len() == known.len() && path.iter().zip(known).all(|(one, other)| one == other)
}

/// Returns whether two texts of one length differ in one byte.
fn differs_by_one(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count() == 1
}
