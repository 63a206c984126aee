//! Secrets are kept to their owner, whatever is written, and never shown.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use everturn::codelia::{AUTH, ApprovalMode, MCP_AUTH, ProjectPolicies};
use everturn::store::Store;
use everturn::vault::{Secret, SecretsError, Vault, VaultFormat};

use crate::codelia::support::{memory, put, read, real};

const KEY: &str = "sk-live-0123456789abcdef";

/// A flat file, as other programs have it.
const FLAT: VaultFormat = VaultFormat {
    file: "credentials.json",
    version: None,
    entries: None,
    fixed: &[],
    secret: "api_key",
};

fn secret(text: &str) -> Secret {
    Secret::parse(text).unwrap()
}

fn vault(store: &Arc<dyn Store>, shape: VaultFormat) -> Vault {
    Vault::new(Arc::clone(store), shape).unwrap()
}

#[test]
fn files_look_as_the_program_writes_them() {
    let (store, ..) = memory();
    vault(&store, AUTH).set("openai", &secret(KEY)).unwrap();
    assert_eq!(
        read(&store, "auth.json"),
        format!(
            "{{\n  \"version\": 1,\n  \"providers\": {{\n    \"openai\": {{\n      \"method\": \"api_key\",\n      \"api_key\": \"{KEY}\"\n    }}\n  }}\n}}"
        )
    );
    vault(&store, MCP_AUTH).set("github", &secret(KEY)).unwrap();
    assert!(
        read(&store, "mcp-auth.json")
            .contains("\"servers\": {\n    \"github\": {\n      \"access_token\"")
    );
    vault(&store, FLAT).set("gpt", &secret(KEY)).unwrap();
    assert_eq!(
        read(&store, "credentials.json"),
        format!("{{\n  \"gpt\": {{\n    \"api_key\": \"{KEY}\"\n  }}\n}}")
    );
}

#[test]
fn everything_else_in_a_file_stays() {
    let (store, ..) = memory();
    let before = r#"{"version":1,"x":[1.0],"providers":{"a":{"method":"oauth","oauth":{"access_token":"at","refresh_token":"rt","expires_at":5}},"b":{"method":"api_key","api_key":"old","note":"mine"}}}"#;
    put(&store, "auth.json", before);
    let auth = vault(&store, AUTH);
    auth.set("b", &secret("new")).unwrap();
    assert_eq!(read(&store, "auth.json"), before.replace("old", "new"));
    let listed = auth.list().unwrap();
    assert_eq!((listed[0].method.as_str(), listed[1].method.as_str()), ("oauth", "api_key"));
    assert_eq!(auth.get("a").unwrap().unwrap().reveal(), "at");
    auth.set("a", &secret("key")).unwrap();
    assert!(read(&store, "auth.json").contains(r#""a":{"method":"api_key","api_key":"key"}"#));
    assert!(auth.remove("a").unwrap() && !auth.remove("a").unwrap());
    assert_eq!(auth.list().unwrap().len(), 1);
}

#[test]
fn secrets_stay_with_their_owner_through_every_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let mode =
        |file: &str| fs::metadata(dir.path().join(file)).unwrap().permissions().mode() & 0o777;
    for (file, shape) in
        [("auth.json", AUTH), ("mcp-auth.json", MCP_AUTH), ("credentials.json", FLAT)]
    {
        let vault = vault(&store, shape);
        vault.set("a", &secret(KEY)).unwrap();
        assert_eq!(mode(file), 0o600, "{file}");
        fs::set_permissions(dir.path().join(file), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(vault.is_readable_by_others().unwrap());
        vault.set("b", &secret("another")).unwrap();
        assert_eq!(mode(file), 0o600, "{file} was open before");
        vault.remove("a").unwrap();
        assert_eq!((mode(file), vault.is_readable_by_others().unwrap()), (0o600, false));
    }
    ProjectPolicies::read(&store).unwrap().set(&store, None, ApprovalMode::Trusted).unwrap();
    assert_eq!(mode("projects.json"), 0o600);
    drop(store);
    // Nothing that Everturn keeps beside them may be read by others, either.
    let mut dirs = vec![dir.path().join(".everturn")];
    while let Some(place) = dirs.pop() {
        for entry in fs::read_dir(place).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                dirs.push(entry.path());
            } else if fs::read(entry.path())
                .unwrap()
                .windows(KEY.len())
                .any(|part| part == KEY.as_bytes())
            {
                let bits = entry.metadata().unwrap().permissions().mode() & 0o077;
                assert_eq!(bits, 0, "{}", entry.path().display());
            }
        }
    }
}

#[test]
fn no_error_and_no_list_shows_a_secret() {
    let (store, ..) = memory();
    let texts = [
        format!(r#"{{"version":1,"providers":{{"a":"{KEY}"}}}}"#),
        format!(r#"{{"version":"{KEY}","providers":{{}}}}"#),
        format!(r#"{{"version":2,"providers":{{"a":{{"api_key":"{KEY}"}}}}}}"#),
        format!(r#"{{"version":1,"providers":"{KEY}"}}"#),
        format!(r#"{{"version":1,"providers":{{"a":{{"api_key":"{KEY}"}}}}"#),
        format!(r#"["{KEY}"]"#),
        format!(r#""{KEY}""#),
        KEY.to_owned(),
    ];
    for text in texts {
        put(&store, "auth.json", &text);
        let auth = vault(&store, AUTH);
        let said = [
            format!("{:?}", auth.list()),
            format!("{:?}", auth.set("a", &secret(KEY))),
            format!("{:?}", auth.get("a")),
            auth.list().map_or_else(|error| error.to_string(), |list| format!("{list:?}")),
        ];
        assert!(said.iter().all(|said| !said.contains("0123456789")), "{text}: {said:?}");
    }
    assert_eq!(format!("{} {0:?}", secret(KEY)), "***cdef ***cdef");
}

#[test]
fn a_file_that_cannot_be_used_is_not_written_over() {
    let (store, ..) = memory();
    for text in [r#"{"version":2}"#, "{}", "[]", "{", "", r#"{"version":1,"providers":[]}"#] {
        put(&store, "auth.json", text);
        let auth = vault(&store, AUTH);
        let refused = auth.set("a", &secret("key"));
        assert!(matches!(refused, Err(SecretsError::Damaged { .. })), "{text:?}: {refused:?}");
        assert!(auth.remove("a").is_err());
        assert_eq!(read(&store, "auth.json"), text);
    }
}

#[test]
fn what_is_no_secret_is_refused() {
    for text in ["", "  \n", "a\nb", "***", "***cdef", "a\0b"] {
        assert!(Secret::parse(text).is_err(), "{text:?}");
    }
    assert_eq!(Secret::parse(" key \r\n").unwrap().reveal(), "key");
    let (store, ..) = memory();
    for id in ["", " ", "a\nb"] {
        assert!(vault(&store, AUTH).set(id, &secret("key")).is_err(), "{id:?}");
    }
}

#[test]
fn policies_of_projects_are_strict_and_keep_what_they_do_not_know() {
    let (store, ..) = memory();
    let bad = [
        (r#"{"version":2}"#, "version is 2, not 1"),
        ("{}", "version is missing"),
        ("[]", "it is an array, not an object"),
        (r#"{"version":1,"projects":[]}"#, "projects is an array, not an object"),
        (r#"{"version":1,"default":[]}"#, "default is an array, not an object"),
        (
            r#"{"version":1,"projects":{"/w":{"approval_mode":"yolo"}}}"#,
            "projects[\"/w\"]: \"yolo\" is not an approval mode; known modes: minimal, trusted, full-access",
        ),
    ];
    for (text, reason) in bad {
        put(&store, "projects.json", text);
        let error = ProjectPolicies::read(&store).unwrap_err().to_string();
        assert_eq!(error, format!("projects.json cannot be used: {reason}"));
    }
    // A policy without a mode decides nothing, as for the program itself.
    let empty = r#"{"version":1,"default":{},"projects":{"/w":{}}}"#;
    put(&store, "projects.json", empty);
    let projects = ProjectPolicies::read(&store).unwrap();
    assert_eq!((projects.default, projects.of("/w")), (None, None));
    let text = "{\n  \"version\": 1,\n  \"extra\": {\"a\": 1.0},\n  \"projects\": {\n    \"/w\": {\n      \"approval_mode\": \"minimal\",\n      \"note\": 1\n    }\n  }\n}\n";
    put(&store, "projects.json", text);
    let mut projects = ProjectPolicies::read(&store).unwrap();
    assert_eq!((projects.of("/w"), projects.of("/x")), (Some(ApprovalMode::Minimal), None));
    projects.set(&store, Some("/w"), ApprovalMode::FullAccess).unwrap();
    assert_eq!(read(&store, "projects.json"), text.replace("minimal", "full-access"));
    projects.set(&store, None, ApprovalMode::Trusted).unwrap();
    assert_eq!(projects.default, Some(ApprovalMode::Trusted));
}
