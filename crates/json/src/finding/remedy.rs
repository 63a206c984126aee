//! What a repair does about each kind of finding, in a few words.

use super::Code;

impl Code {
    /// What `everturn repair` does about it, wherever it is found; `docs/findings.md` tells more for each layout.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Code::TornTail
            | Code::NulTail
            | Code::BadLine
            | Code::GluedRecords
            | Code::NotUtf8
            | Code::BadRecord => "keeps every whole record, and moves the rest out",
            Code::BadDocument | Code::EmptyDocument => {
                "writes the document anew from what is whole in it and in the files beside it"
            }
            Code::DuplicateKey => "keeps the last value of the key, which is the one that counts",
            Code::BadMetadata | Code::WrongMetadata | Code::WrongPlace | Code::NoProject => {
                "sets right what the other files tell"
            }
            Code::MissingFile | Code::SceneDiffers | Code::SceneRange => {
                "writes the file again, if the others tell what was in it"
            }
            Code::DuplicateTurn | Code::DuplicateId => {
                "moves copies out, and keeps what differs beside the first"
            }
            Code::MissingTurns | Code::DanglingChange => {
                "writes a record in the place of each lost turn that says so"
            }
            Code::TurnOrder | Code::WrongRange => "puts the records in order",
            Code::WrongId => "gives it the id, or the turn, that the others tell",
            Code::BadChange | Code::StateDiffers | Code::SnapshotDiffers => {
                "makes the changes lead to the states that are known"
            }
            Code::BadSnapshot => "moves the snapshot out",
            Code::SnapshotFacts => "writes the snapshot anew with the same state",
            Code::NoSnapshot => "takes the snapshots that are missing",
            Code::StaleIndex | Code::BadIndex => "has the index made anew",
            Code::OrphanCall => "answers open calls at the end of a session as interrupted",
            Code::ChangedByOthers => "puts a journal that lies beside the document into it",
            Code::DanglingParent => {
                "lets it follow the record before, in the copy that `--into` makes"
            }
            Code::UnexplainedChange => "adds a change that leads there, if it mends anything else",
            Code::UnknownReference => {
                "leaves it, unless what is named is known to be lost or the document is restored"
            }
            Code::Quarantined => "nothing: read the file in the quarantine, then remove it",
            Code::BadLog => "nothing: the next opening for writing takes care of it",
            Code::OpenSecret => "nothing: the next change of the file takes care of it",
            Code::BadName
            | Code::LinkOutside
            | Code::Unreadable
            | Code::CannotReplay
            | Code::FileOverlap
            | Code::SessionTwice
            | Code::MissingScene
            | Code::MissingParent
            | Code::BadSetting
            | Code::SizeOverMax
            | Code::SizeOverTarget
            | Code::TooLarge
            | Code::OrphanPart => "nothing: only a person can tell what was meant",
            Code::NoMetadata
            | Code::UnknownFile
            | Code::SupersededTurn
            | Code::RestartedTurns
            | Code::ChoiceDiffers
            | Code::NewerVersion
            | Code::SetAside
            | Code::OddTag
            | Code::Triggered
            | Code::LostTurn
            | Code::TwinTurn => "nothing: it may stay",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn the_documentation_tells_severity_and_remedy_of_every_code() {
        let text = include_str!("../../../../docs/findings.md");
        for code in Code::ALL {
            let row = format!("| `{code}` | {} | {} |", code.severity().as_str(), code.remedy());
            assert!(text.contains(&row), "docs/findings.md lacks: {row}");
        }
    }
}
