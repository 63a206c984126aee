//! What Codelia's configuration may hold, as a table.

#[cfg(test)]
mod tests;

use everturn_settings::config::{Field, Merge, Schema};

/// The settings of Codelia.
pub const SCHEMA: Schema = Schema {
    version: 1,
    defaults: r#"{"model":{"provider":"openai","name":"gpt-4.1-mini","reasoning":"medium"}}"#,
    environment: &[],
    merge: &[
        ("permissions.allow", Merge::Concatenate),
        ("permissions.deny", Merge::Concatenate),
        ("mcp.servers", Merge::ByKey),
        (
            "execution_environment.startup_checks.commands",
            Merge::ConcatenateIf { key: "execution_environment.startup_checks.mode", is: "append" },
        ),
    ],
    project_groups: &["permissions", "mcp", "skills", "execution_environment", "search"],
    fields: &[
        ("model", Field::Object),
        ("model.provider", Field::Text),
        ("model.name", Field::Text),
        ("model.reasoning", Field::Text),
        ("model.verbosity", Field::Text),
        ("model.fast", Field::Flag),
        ("experimental", Field::Object),
        ("permissions", Field::Object),
        ("permissions.allow", Field::AllowRules),
        ("permissions.deny", Field::DenyRules),
        ("mcp", Field::Object),
        ("mcp.servers", Field::Servers),
        ("skills", Field::Object),
        ("execution_environment", Field::Object),
        ("search", Field::Object),
        ("tui", Field::Object),
        ("tui.theme", Field::Text),
    ],
};
