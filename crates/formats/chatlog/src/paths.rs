//! The paths of a chat log and the files beside it.

use everturn_json::names::{FilePath, Name, NameError, SessionId};
use everturn_store::{staging_dir, trash_dir};

/// The directory of chat logs that Everturn creates.
const CHATS: &str = "chats";

/// The directory of support tool definitions, which chat logs share.
const TOOLS: &str = "tools";

/// The ending of a document's name.
const DOCUMENT: &str = ".json";

/// The ending of a folded document's name before it replaces the document.
const FOLDED: &str = ".folded.json";

/// The directory of chat logs.
pub(crate) fn chats_dir() -> FilePath {
    below(&FilePath::root(), CHATS)
}

/// The document of a chat log that Everturn creates.
pub(crate) fn document(id: &SessionId) -> Result<FilePath, NameError> {
    Ok(chats_dir().join(&Name::parse(&format!("{id}{DOCUMENT}"))?))
}

/// The path of a support tool's definition.
pub(crate) fn tool_file(id: &str) -> Result<FilePath, NameError> {
    let name = SessionId::parse(id)?;
    Ok(below(&FilePath::root(), TOOLS).join(&Name::parse(&format!("{name}{DOCUMENT}"))?))
}

/// The path of a name that is known to be valid.
pub(crate) fn below(dir: &FilePath, name: &str) -> FilePath {
    Name::parse(name).map_or_else(|_| dir.clone(), |name| dir.join(&name))
}

/// The id in the name of a document, if it is valid.
pub(crate) fn id_of(document: &FilePath) -> Option<String> {
    let name = document.name()?;
    let name = name.as_str();
    let stem = name.strip_suffix(FOLDED).or_else(|| name.strip_suffix(DOCUMENT))?;
    (!stem.is_empty()).then(|| stem.to_owned())
}

/// The document that a name stands for, also if it is that of a folded document not yet renamed.
pub(crate) fn document_named(path: &FilePath) -> Option<FilePath> {
    let (id, dir) = (id_of(path)?, path.parent()?);
    Some(dir.join(&Name::parse(&format!("{id}{DOCUMENT}")).ok()?))
}

/// The files of one chat log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatPaths {
    /// The document itself.
    pub(crate) document: FilePath,
    /// The changes since it was written.
    pub(crate) journal: FilePath,
    /// The index; can be deleted at any time.
    pub(crate) index: FilePath,
    /// A document that is too large for one commit, before it replaces the other.
    pub(crate) folded: FilePath,
    /// The directory in which such a document is built.
    pub(crate) staging: FilePath,
    /// The directory of deleted messages.
    pub(crate) trash: FilePath,
}

impl ChatPaths {
    /// The files of a document.
    pub(crate) fn of(document: &FilePath) -> Result<ChatPaths, NameError> {
        let dir = document.parent().unwrap_or_else(FilePath::root);
        let stem = id_of(document).ok_or(NameError::Empty)?;
        let beside = |end: &str| Ok(dir.join(&Name::parse(&format!("{stem}{end}"))?));
        let flat = document.flat_name("");
        Ok(ChatPaths {
            document: document.clone(),
            journal: beside(".journal.jsonl")?,
            index: beside(".index")?,
            folded: beside(FOLDED)?,
            staging: staging_dir().join(&flat),
            trash: below(&trash_dir(), "messages").join(&flat),
        })
    }

    /// All files that a chat log is read from.
    pub(crate) fn to_read(&self) -> Vec<FilePath> {
        let ChatPaths { document, journal, index, folded, .. } = self.clone();
        vec![document, journal, index, folded]
    }

    /// All paths that a writer locks.
    pub(crate) fn scopes(&self) -> Vec<FilePath> {
        let ChatPaths { document, journal, index, folded, staging, trash } = self.clone();
        vec![document, journal, index, folded, staging, trash]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_chat_log_stand_beside_it() {
        let id = SessionId::parse("tale").unwrap();
        let files = ChatPaths::of(&document(&id).unwrap()).unwrap();
        assert_eq!(files.document.as_str(), "chats/tale.json");
        assert_eq!(files.journal.as_str(), "chats/tale.journal.jsonl");
        assert_eq!(files.index.as_str(), "chats/tale.index");
        assert_eq!(document_named(&files.folded), Some(files.document.clone()));
        assert_eq!(document_named(&files.document), Some(files.document.clone()));
        assert_eq!(id_of(&files.folded).as_deref(), Some("tale"));
        assert_eq!(files.staging.as_str(), ".everturn/staging/chats%2Ftale.json");
        assert!(ChatPaths::of(&FilePath::parse("notes.txt").unwrap()).is_err());
        assert!(tool_file("../x").is_err());
    }
}
