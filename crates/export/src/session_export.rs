//! [`ExportSession`]: exports a session from its handle.

use std::io::Write;
use std::ops::ControlFlow;

use everturn::Session;
use everturn::scan::SecretRules;

use crate::error::ExportError;
use crate::export::{Export, ExportReport};
use crate::mask::SecretMask;
use crate::options::{ExportFormat, ExportOptions, ExportStyle};

/// Adds exports to the sessions of [`everturn`].
///
/// An export reads the session and does not change it.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use everturn::Root;
/// use everturn::game::{Game, Turn};
/// use everturn_export::{ExportFormat, ExportSession};
///
/// let root = Root::open_or_create(dir.path())?;
/// let mut game = Game::create(&root, "demo")?;
/// game.append(Turn::by("player").narrate("You go in."))?;
///
/// let mut page = Vec::new();
/// let report = game.export(ExportFormat::Markdown, &mut page)?;
/// assert_eq!(report.entries, 1);
/// assert!(String::from_utf8(page)?.contains("You go in."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ExportSession {
    /// Writes the session in a format, in the rich style, with the usual parts. Secrets are masked.
    fn export(
        &self,
        format: ExportFormat,
        sink: &mut dyn Write,
    ) -> Result<ExportReport, ExportError> {
        let options = ExportOptions::defaults_for(format, ExportStyle::Rich);
        self.export_with(format, &options, Some(SecretRules::standard()), sink)
    }

    /// Writes the parts of the session that the options select. Without a mask, secrets are exported as they are.
    ///
    /// After an error the sink contains a part of the output. The custom style needs a template; use [`Export`] for it.
    fn export_with(
        &self,
        format: ExportFormat,
        options: &ExportOptions,
        mask: Option<&dyn SecretMask>,
        sink: &mut dyn Write,
    ) -> Result<ExportReport, ExportError>;
}

impl<F> ExportSession for Session<F> {
    fn export_with(
        &self,
        format: ExportFormat,
        options: &ExportOptions,
        mask: Option<&dyn SecretMask>,
        sink: &mut dyn Write,
    ) -> Result<ExportReport, ExportError> {
        let export = Export {
            summary: &self.summary()?,
            reader: self.reader()?,
            choices: options,
            mask,
            pictures: None,
            template: None,
            now: self.root().now(),
        };
        export.write(format, sink, &mut |_| ControlFlow::Continue(()))
    }
}
