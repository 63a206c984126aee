//! A session as a line of a list.

use everturn_catalog::CatalogSession;
use everturn_export::columns::{display_width, pad_width, truncate_width};
use jiff::Timestamp;

use crate::catalog::age;
use crate::output::{count_noun, escape_controls};

/// The widths of the columns without a fixed width.
pub(crate) struct ColumnWidths {
    id: usize,
    layout: usize,
}

impl ColumnWidths {
    pub(crate) fn of(sessions: &[CatalogSession]) -> ColumnWidths {
        let widest = |text: fn(&CatalogSession) -> &str| {
            sessions
                .iter()
                .map(|session| display_width(&escape_controls(text(session))))
                .max()
                .unwrap_or(0)
        };
        ColumnWidths {
            id: widest(|session| &session.summary.session.id),
            layout: widest(|session| session.summary.layout),
        }
    }
}

/// Formats a session as a line of text. On a terminal, times are ages and lines are truncated to its width.
pub(crate) fn session_line(
    session: &CatalogSession,
    widths: &ColumnWidths,
    terminal: Option<(usize, Timestamp)>,
) -> String {
    let summary = &session.summary;
    let turns = match summary.turns {
        Some(turns) => count_noun(turns, "turn", "turns"),
        None => "? turns".to_owned(),
    };
    let updated = match terminal {
        Some((_, now)) => format!("{:>5}", age(summary.updated, now)),
        None => summary.updated.map_or_else(|| "?".to_owned(), |time| time.to_string()),
    };
    let (status, title) = (&summary.status, &summary.title);
    let id = pad_width(&escape_controls(&summary.session.id), widths.id);
    let layout = pad_width(summary.layout, widths.layout);
    let text = format!("{id}  {layout}  {status:9}  {turns:>10}  {updated}  {title}");
    let text = escape_controls(&text).replace(['\n', '\t'], " ");
    match terminal {
        Some((columns, _)) => truncate_width(&text, columns),
        None => text,
    }
}
