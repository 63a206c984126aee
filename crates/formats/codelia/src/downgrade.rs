//! Writes a session in the old form, for versions of the program that know no other.

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::paths::UNKNOWN_TIME;
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{Durability, FileMode, Precondition, Step};
use everturn_value::tree::JsonTree;
use serde_json::{Value, json};

/// Writes the messages of a session as one document in `sessions/state/`. Its log stays and counts. Fails if there is such
/// a document already.
pub fn write_legacy_document(home: &CodeliaHome, id: &SessionId) -> Result<FilePath, CodeliaError> {
    let file = home.files.legacy(id)?;
    let writer = home.store.lock(&home.files.of_session(id)?)?;
    let mut findings = Vec::new();
    let session = home.find(id, &mut findings)?;
    if session.has_legacy {
        return Err(CodeliaError::Taken { id: id.clone(), path: file });
    }
    let messages: Vec<String> = home
        .messages(id)?
        .map(|stored| Ok(stored?.message.to_line()))
        .collect::<Result<_, CodeliaError>>()?;
    let row = session.row.unwrap_or_default();
    let updated = Some(row.updated_at).filter(|time| !time.is_empty());
    let mut fields = vec![
        ("schema_version", json!(1).to_string()),
        ("session_id", json!(id.as_str()).to_string()),
        ("updated_at", json!(updated.as_deref().unwrap_or(UNKNOWN_TIME)).to_string()),
    ];
    fields.extend(row.run_id.map(|run| ("run_id", Value::from(run).to_string())));
    fields.extend(row.invoke_seq.map(|seq| ("invoke_seq", seq.to_string())));
    fields.push(("messages", format!("[{}]", messages.join(","))));
    fields.extend(
        row.meta_json.filter(|meta| JsonTree::parse(meta).is_ok()).map(|meta| ("meta", meta)),
    );
    let fields: Vec<String> =
        fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    let bytes = format!("{{{}}}\n", fields.join(",")).into_bytes();
    let (expect, mode) = (Precondition::Absent, FileMode::Default);
    let step = Step::Replace { file: file.clone(), expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(file)
}
