//! The schema of Codelia's configuration.

#[cfg(test)]
mod tests;

use everturn_settings::config::{ConfigSchema, FieldType, MergeRule};

/// The settings of Codelia.
pub const SCHEMA: ConfigSchema = ConfigSchema {
    version: 1,
    defaults: r#"{"model":{"provider":"openai","name":"gpt-4.1-mini","reasoning":"medium"}}"#,
    environment: &[
        ("CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH", "tool_output_cache.max_line_length"),
        ("CODELIA_TOOL_OUTPUT_CACHE_MAX_READ_BYTES", "tool_output_cache.max_read_bytes"),
        ("CODELIA_TOOL_OUTPUT_CACHE_MAX_GREP_BYTES", "tool_output_cache.max_grep_bytes"),
    ],
    merge: &[
        ("permissions.allow", MergeRule::Concatenate),
        ("permissions.deny", MergeRule::Concatenate),
        ("mcp.servers", MergeRule::ByKey),
        (
            "execution_environment.startup_checks.commands",
            MergeRule::ConcatenateIf {
                key: "execution_environment.startup_checks.mode",
                is: "append",
            },
        ),
    ],
    project_groups: &["permissions", "mcp", "skills", "execution_environment", "search"],
    fields: &[
        ("model", FieldType::Object),
        ("model.provider", FieldType::Text),
        ("model.name", FieldType::Text),
        ("model.reasoning", FieldType::Text),
        ("model.verbosity", FieldType::Text),
        ("model.fast", FieldType::Flag),
        ("experimental", FieldType::Object),
        ("permissions", FieldType::Object),
        ("permissions.allow", FieldType::AllowRules),
        ("permissions.deny", FieldType::DenyRules),
        ("mcp", FieldType::Object),
        ("mcp.servers", FieldType::Servers),
        ("skills", FieldType::Object),
        ("execution_environment", FieldType::Object),
        ("search", FieldType::Object),
        ("tui", FieldType::Object),
        ("tui.theme", FieldType::Text),
    ],
};
