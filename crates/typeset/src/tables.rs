//! Sets tables: the widths of columns, and rows of cells side by side.

use crate::book::{ColumnAlign, TableBlock, TextRun};
use crate::compose::{Composer, TextAlign, TextFrame};
use crate::design::PageDesign;
use crate::line::TextLine;
use crate::styled_text::{FontFace, StyledText};

/// The maximum number of columns; the page is too narrow for more.
const MOST_COLUMNS: usize = 24;

/// The space between columns, relative to the font size.
const GAP: f32 = 1.1;

/// Returns the lines of each row of a table. The first row is bold.
pub(crate) fn table_rows(
    table: &TableBlock,
    design: PageDesign,
    composer: &mut Composer,
) -> Vec<Vec<TextLine>> {
    let face = design.small_face();
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0).min(MOST_COLUMNS);
    let gap = face.size * GAP;
    let widths = column_widths(table, columns, design.text_width(), gap, face, composer);
    let mut rows = Vec::with_capacity(table.rows.len());
    for (index, row) in table.rows.iter().enumerate() {
        let face = if index == 0 { face.bold() } else { face };
        let mut lines: Vec<TextLine> = Vec::new();
        let mut x = 0.0;
        for (column, width) in widths.iter().enumerate() {
            let runs: &[TextRun] = row.get(column).map(Vec::as_slice).unwrap_or_default();
            let align = table.columns.get(column).copied().unwrap_or_default();
            let cell = StyledText::runs(runs, face);
            for (at, line) in
                composer.lines(&cell, TextFrame::new(*width, TextAlign::Start)).iter().enumerate()
            {
                let space = (width - line.right).max(0.0);
                let shift = match align {
                    ColumnAlign::Left => 0.0,
                    ColumnAlign::Center => space / 2.0,
                    ColumnAlign::Right => space,
                };
                if lines.len() <= at {
                    lines.resize_with(at + 1, TextLine::default);
                }
                if let Some(merged) = lines.get_mut(at) {
                    merged.add(line, x + shift);
                }
            }
            x += width + gap;
        }
        rows.push(lines);
    }
    rows
}

/// Returns the widths of the columns: as wide as their cells if there is room, otherwise in proportion, but never
/// narrower than a fair share would be for a narrow column.
fn column_widths(
    table: &TableBlock,
    columns: usize,
    width: f32,
    gap: f32,
    face: FontFace,
    composer: &mut Composer,
) -> Vec<f32> {
    let mut wanted = vec![face.size; columns];
    for (index, row) in table.rows.iter().enumerate() {
        let face = if index == 0 { face.bold() } else { face };
        for (cell, wanted) in row.iter().zip(&mut wanted) {
            let cell = StyledText::runs(cell, face);
            let lines = composer.lines(&cell, TextFrame::new(width, TextAlign::Start));
            let widest = lines.iter().map(|line| line.right).fold(0.0, f32::max);
            *wanted = wanted.max(widest + 0.5);
        }
    }
    let count = u16::try_from(columns).map_or(1.0, f32::from).max(1.0);
    let room = (width - gap * (count - 1.0)).max(count);
    if wanted.iter().sum::<f32>() <= room {
        return wanted;
    }
    // Columns that need less than an equal share get what they need; the others share the rest in proportion.
    let fair = room / count;
    let narrow: f32 = wanted.iter().filter(|wanted| **wanted <= fair).sum();
    let wide: f32 = wanted.iter().filter(|wanted| **wanted > fair).sum();
    let scale = (room - narrow) / wide.max(1.0);
    let share = |wanted: f32| if wanted <= fair { wanted } else { wanted * scale };
    wanted.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fonts::FontBook;
    use crate::options::{FontSources, PaperSize};

    #[test]
    fn cells_stay_in_their_columns() {
        let text = |text: &str| vec![TextRun::plain(text)];
        let long =
            "a long cell that certainly needs more than one line in its narrow column ".repeat(3);
        let table = TableBlock {
            columns: vec![ColumnAlign::Left, ColumnAlign::Left, ColumnAlign::Right],
            rows: vec![
                vec![text("name"), text("about"), text("price")],
                vec![text("rope"), text(&long), text("12")],
                vec![text("lamp")],
            ],
        };
        let design = PageDesign::for_paper(PaperSize::A5);
        let mut composer = Composer::new(FontBook::load(&FontSources::default()).unwrap(), "en");
        let rows = table_rows(&table, design, &mut composer);
        assert_eq!(rows.iter().map(Vec::len).filter(|lines| *lines > 0).count(), 3);
        assert!(rows[1].len() > 2, "the long cell is broken");
        let starts = |line: &TextLine| line.pieces.iter().map(|piece| piece.x).collect::<Vec<_>>();
        let head = starts(&rows[0][0]);
        assert_eq!(head.len(), 3);
        for line in &rows[1] {
            assert!(line.right <= design.text_width() + 0.5, "{}", line.text);
        }
        // The second column starts at the same position in every line.
        assert!((starts(&rows[1][0])[1] - head[1]).abs() < 0.1);
        assert!((starts(&rows[1][1])[0] - head[1]).abs() < 0.1);
        // The third one ends at the same position.
        assert!((rows[0][0].right - rows[1][0].right).abs() < 0.1);
    }
}
