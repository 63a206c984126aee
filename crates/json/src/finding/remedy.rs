//! What a repair does about each kind of finding, in a few words.

use super::FindingCode;

impl FindingCode {
    /// What `everturn repair` does about it, wherever it is found; `docs/findings.md` tells more for each layout.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            FindingCode::TornTail
            | FindingCode::NulTail
            | FindingCode::BadLine
            | FindingCode::GluedRecords
            | FindingCode::NotUtf8
            | FindingCode::BadRecord => "keeps every whole record, and moves the rest out",
            FindingCode::BadDocument | FindingCode::EmptyDocument => {
                "writes the document anew from what is whole in it and in the files beside it"
            }
            FindingCode::DuplicateKey => {
                "keeps the last value of the key, which is the one that counts"
            }
            FindingCode::BadMetadata
            | FindingCode::WrongMetadata
            | FindingCode::WrongPlace
            | FindingCode::NoProject => "sets right what the other files tell",
            FindingCode::MissingFile | FindingCode::SceneDiffers | FindingCode::SceneRange => {
                "writes the file again, if the others tell what was in it"
            }
            FindingCode::DuplicateTurn | FindingCode::DuplicateId => {
                "moves copies out, and keeps what differs beside the first"
            }
            FindingCode::MissingTurns | FindingCode::DanglingChange => {
                "writes a record in the place of each lost turn that says so"
            }
            FindingCode::TurnOrder | FindingCode::WrongRange => "puts the records in order",
            FindingCode::WrongId => "gives it the id, or the turn, that the others tell",
            FindingCode::BadChange | FindingCode::StateDiffers | FindingCode::SnapshotDiffers => {
                "makes the changes lead to the states that are known"
            }
            FindingCode::BadSnapshot => "moves the snapshot out",
            FindingCode::SnapshotFacts => "writes the snapshot anew with the same state",
            FindingCode::NoSnapshot => "takes the snapshots that are missing",
            FindingCode::StaleIndex | FindingCode::BadIndex => "has the index made anew",
            FindingCode::OrphanCall => "answers open calls at the end of a session as interrupted",
            FindingCode::ChangedByOthers => "puts a journal that lies beside the document into it",
            FindingCode::DanglingParent => {
                "lets it follow the record before, in the copy that `--into` makes"
            }
            FindingCode::UnexplainedChange => {
                "adds a change that leads there, if it mends anything else"
            }
            FindingCode::UnknownReference => {
                "leaves it, unless what is named is known to be lost or the document is restored"
            }
            FindingCode::Quarantined => "nothing: read the file in the quarantine, then remove it",
            FindingCode::BadLog => "nothing: the next opening for writing takes care of it",
            FindingCode::OpenSecret => "nothing: the next change of the file takes care of it",
            FindingCode::BadName
            | FindingCode::LinkOutside
            | FindingCode::Unreadable
            | FindingCode::CannotReplay
            | FindingCode::FileOverlap
            | FindingCode::SessionTwice
            | FindingCode::MissingScene
            | FindingCode::MissingParent
            | FindingCode::BadSetting
            | FindingCode::SizeOverMax
            | FindingCode::SizeOverTarget
            | FindingCode::TooLarge
            | FindingCode::OrphanPart => "nothing: only a person can tell what was meant",
            FindingCode::NoMetadata
            | FindingCode::UnknownFile
            | FindingCode::SupersededTurn
            | FindingCode::RestartedTurns
            | FindingCode::ChoiceDiffers
            | FindingCode::NewerVersion
            | FindingCode::SetAside
            | FindingCode::OddTag
            | FindingCode::Triggered
            | FindingCode::LostTurn
            | FindingCode::TwinTurn => "nothing: it may stay",
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
