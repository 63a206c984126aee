//! What a repair does about each kind of finding.

use super::FindingCode;

impl FindingCode {
    /// What `everturn repair` does about it; `docs/findings.md` has the details for each format.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table of codes")]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::TornTail
            | Self::NulTail
            | Self::BadLine
            | Self::GluedRecords
            | Self::NotUtf8
            | Self::BadRecord => "keeps every whole record, and moves the rest out",
            Self::BadDocument | Self::EmptyDocument => {
                "rewrites the document from its intact parts and the adjacent files"
            }
            Self::DuplicateKey => "keeps the last value of the key, which takes precedence",
            Self::BadMetadata | Self::WrongMetadata | Self::WrongPlace | Self::NoProject => {
                "restores the values from the other files"
            }
            Self::MissingFile | Self::SceneDiffers | Self::SceneRange => {
                "rewrites the file, if the others determine its contents"
            }
            Self::DuplicateTurn | Self::DuplicateId => {
                "moves copies out, and keeps different versions beside the first"
            }
            Self::MissingTurns | Self::DanglingChange => {
                "writes a placeholder record for each lost turn"
            }
            Self::TurnOrder | Self::WrongRange => "sorts the records",
            Self::WrongId => "assigns the id or turn that the other records imply",
            Self::BadChange | Self::StateDiffers | Self::SnapshotDiffers => {
                "adjusts the changes to produce the known states"
            }
            Self::BadSnapshot => "moves the snapshot out",
            Self::SnapshotFacts => "rewrites the snapshot with the same state",
            Self::NoSnapshot => "takes the missing snapshots",
            Self::StaleIndex | Self::BadIndex => "rebuilds the index",
            Self::OrphanCall => "adds an `interrupted` result for unanswered calls at the end",
            Self::ChangedByOthers => "folds the journal into the document",
            Self::DanglingParent => "attaches it to the previous record, in the `--into` copy",
            Self::UnexplainedChange => "adds a change that produces the state, if that fixes more",
            Self::UnknownReference => {
                "keeps the reference, unless its target is known to be lost or the document is restored"
            }
            Self::Quarantined => "nothing; read the file in quarantine, then remove it",
            Self::BadLog => "nothing; fixed when the session is next opened for writing",
            Self::Busy => "nothing; check it again when the other process is done",
            Self::OpenSecret => "nothing; fixed by the next write to the file",
            Self::BadName
            | Self::LinkOutside
            | Self::Unreadable
            | Self::CannotReplay
            | Self::FileOverlap
            | Self::SessionTwice
            | Self::MissingScene
            | Self::UnknownState
            | Self::MissingParent
            | Self::BadSetting
            | Self::SizeOverMax
            | Self::SizeOverTarget
            | Self::TooLarge
            | Self::OrphanPart => "cannot be repaired automatically",
            Self::NoMetadata
            | Self::UnknownFile
            | Self::SupersededTurn
            | Self::RestartedTurns
            | Self::ChoiceDiffers
            | Self::NewerVersion
            | Self::SetAside
            | Self::UnknownRole
            | Self::OddTag
            | Self::Triggered
            | Self::LostTurn
            | Self::LostValue
            | Self::TwinTurn => "nothing; no repair is needed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FindingCode;

    #[test]
    fn the_documentation_tells_severity_and_remedy_of_every_code() {
        let text = include_str!("../../../../docs/findings.md");
        for code in FindingCode::ALL {
            let row = format!("| `{code}` | {} | {} |", code.severity().as_str(), code.remedy());
            assert!(text.contains(&row), "docs/findings.md lacks: {row}");
        }
    }
}
