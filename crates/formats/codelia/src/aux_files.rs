//! The minimum requirements of the other files of a home, which are kept as they are.

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::paths::DOCUMENT_END;
use super::projects::ProjectPolicies;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, join_names};
use everturn_secrets::vault::{Vault, VaultFormat};
use everturn_settings::config::Config;
use everturn_store::disk::FileKind;
use everturn_store::read_optional;
use everturn_value::document::Document;
use everturn_value::tree::{JsonTree, ValueKind};

/// Documents with a version and one required member.
const DOCUMENTS: &[(&[&str], &str, ValueKind)] = &[
    (&["lanes", "registry.json"], "lanes", ValueKind::Array),
    (&["cache", "models.dev.json"], "entries", ValueKind::Object),
];

/// Checks all of them.
pub(super) fn check_aux_files(home: &CodeliaHome, findings: &mut Vec<Finding>) {
    for (names, part, kind) in DOCUMENTS {
        let file = join_names(&home.files.base, names);
        if let Some(message) = document(home, &file, part, *kind) {
            findings.push(Finding::new(&file, FindingCode::BadDocument, message));
        }
    }
    tasks(home, findings);
    let file = join_names(&home.files.base, &[ProjectPolicies::FILE]);
    if let Err(CodeliaError::Damaged { reason, .. }) = ProjectPolicies::read_at(&home.store, &file)
    {
        findings.push(Finding::new(&file, FindingCode::BadSetting, reason));
    }
    secrets(home, &super::AUTH, findings);
    secrets(home, &super::MCP_AUTH, findings);
    let file = join_names(&home.files.base, &["config.json"]);
    if let Ok(Some(bytes)) = read_optional(&home.store, &file) {
        for problem in Config::find_problems(&super::SCHEMA, &bytes) {
            findings.push(Finding::new(&file, FindingCode::BadSetting, problem));
        }
    }
}

/// Parses a document; unreadable documents are reported elsewhere.
fn tree(home: &CodeliaHome, file: &FilePath) -> Option<JsonTree> {
    let bytes = read_optional(&home.store, file).ok()??;
    JsonTree::parse(Document::parse(&bytes).ok()?.get(&[])?).ok()
}

fn document(home: &CodeliaHome, file: &FilePath, part: &str, kind: ValueKind) -> Option<String> {
    let tree = tree(home, file)?;
    match (tree.text_at(&["version"]).as_deref(), tree.value_at(&[part]).map(|part| part.kind())) {
        (Some("1"), Some(found)) if found == kind => None,
        (Some("1"), Some(found)) => Some(format!("{part} is {found}, not {kind}")),
        (Some("1"), None) => Some(format!("{part} is missing")),
        (Some(version), _) => Some(format!("version is {version}, not 1")),
        (None, _) => Some("version is missing".to_owned()),
    }
}

/// Each task is named after its id, percent-encoded.
fn tasks(home: &CodeliaHome, findings: &mut Vec<Finding>) {
    let dir = join_names(&home.files.base, &["tasks"]);
    let Ok(listing) = home.store.list(&dir) else { return };
    for entry in listing.entries.iter().filter(|entry| entry.kind == FileKind::File) {
        let Some(name) = entry.name.as_str().strip_suffix(DOCUMENT_END) else { continue };
        let file = dir.join(&entry.name);
        let Some(task) = tree(home, &file) else { continue };
        match task.string_at(&["task_id"]).or_else(|| task.string_at(&["id"])) {
            None => {
                findings.push(Finding::new(
                    &file,
                    FindingCode::BadDocument,
                    "it has no task_id".to_owned(),
                ));
            }
            Some(id) if encoded(&id) != name => {
                let message = format!("its id is {id:?}, but its file name is {name}");
                findings.push(Finding::new(&file, FindingCode::WrongPlace, message));
            }
            Some(_) => {}
        }
    }
}

/// Encodes a text like JavaScript's `encodeURIComponent`.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn secrets(home: &CodeliaHome, shape: &VaultFormat, findings: &mut Vec<Finding>) {
    let file = join_names(&home.files.base, &[shape.file]);
    let vault = Vault::at(std::sync::Arc::clone(&home.store), *shape, file.clone());
    // Whether others can read it is checked for every file with secrets.
    if let Err(everturn_secrets::vault::SecretsError::Damaged { reason, .. }) = vault.list() {
        findings.push(Finding::new(&file, FindingCode::BadSetting, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn ids_of_tasks_are_escaped_as_in_urls() {
        for (id, name) in [("a-b_c.d", "a-b_c.d"), ("a/b c", "a%2Fb%20c"), ("é%", "%C3%A9%25")] {
            assert_eq!(encoded(id), name);
        }
    }
}
