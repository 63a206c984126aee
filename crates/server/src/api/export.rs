//! Exports as downloads.

use std::ops::ControlFlow;

use everturn::scan::SecretRules;
use everturn_export::{Export, ExportFormat, ExportOptions, ExportStyle, SecretMask};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Problem;
use crate::route::{Call, FileAnswer, Route};

/// The media types of exports.
const MEDIA: &[&str] = &[
    "text/plain; charset=utf-8",
    "text/markdown; charset=utf-8",
    "text/html; charset=utf-8",
    "application/pdf",
    "application/json",
];

/// A format of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FileFormat {
    /// Plain text.
    Txt,
    /// Markdown.
    Md,
    /// One self-contained page.
    Html,
    /// A book.
    Pdf,
    /// A chat-log document.
    Json,
}

/// What to export.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportQuery {
    /// The format.
    format: FileFormat,
    /// Keep secrets instead of placeholders. Each use is recorded.
    reveal: Option<bool>,
}

impl FileFormat {
    fn export_format(self) -> ExportFormat {
        match self {
            FileFormat::Txt => ExportFormat::Text,
            FileFormat::Md => ExportFormat::Markdown,
            FileFormat::Html => ExportFormat::Html,
            FileFormat::Pdf => ExportFormat::Pdf,
            FileFormat::Json => ExportFormat::Json,
        }
    }

    fn media(self) -> &'static str {
        match self {
            FileFormat::Txt => "text/plain; charset=utf-8",
            FileFormat::Md => "text/markdown; charset=utf-8",
            FileFormat::Html => "text/html; charset=utf-8",
            FileFormat::Pdf => "application/pdf",
            FileFormat::Json => "application/json",
        }
    }
}

/// A file name that is safe in a header and on every system.
fn file_name(id: &str, format: ExportFormat) -> String {
    let safe = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => character,
        _ => '_',
    };
    let name: String = id.chars().take(80).map(safe).collect();
    format!("{name}.{}", format.as_str())
}

fn export_session(call: &Call<'_>, query: ExportQuery) -> Result<FileAnswer, Problem> {
    let found = call.session()?;
    let reader = call.library.reader(&found, None)?;
    let summary = found.format.summary(&call.library.store(found.source)?, &found.place)?;
    let format = query.format.export_format();
    let options = ExportOptions::defaults_for(format, ExportStyle::Rich);
    let rules: &dyn SecretMask = SecretRules::standard();
    let export = Export {
        summary: &summary,
        reader: &*reader,
        choices: &options,
        mask: (query.reveal != Some(true)).then_some(rules),
        pictures: None,
        template: None,
        now: call.library.now(),
    };
    let mut bytes = Vec::new();
    let written = export.write(format, &mut bytes, &mut |_| ControlFlow::Continue(()));
    written.map_err(|error| Problem::internal(format!("the export failed: {error}")))?;
    Ok(FileAnswer { bytes, media: query.format.media(), name: file_name(&found.place.id, format) })
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/export";
    vec![Route::file((path, "exportSession", "The session as a file."), MEDIA, export_session)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe() {
        assert_eq!(file_name("a/../\"b\r\n", ExportFormat::Text), "a_____b__.txt");
        assert_eq!(file_name(&"é".repeat(100), ExportFormat::Pdf).len(), 84);
    }
}
