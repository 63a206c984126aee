//! Draws the browser: a bar, the typed text, the list beside its preview or a session, and the keys.

use everturn_export::columns::wrap_text;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line as Shown, Text};
use ratatui::widgets::{Block, Borders, List, ListItem, ListState, Paragraph};

use super::model::BrowseModel;
use super::view::{BrowseView, EntryPosition, ListRow, PageLine, ScrollPosition};

const LIST_KEYS: &str = "type to search  ↑↓ select  Enter open  ^R replay  ^E export  Esc back";
const SESSION_KEYS: &str = "↑↓ PgUp PgDn g G scroll  ^R replay  ^E export  Esc back";

/// Below this number of columns there is no preview.
const NARROW: u16 = 60;

pub(super) fn draw(model: &mut BrowseModel, frame: &mut Frame<'_>) {
    let [top, line, middle, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bar = Style::new().add_modifier(Modifier::REVERSED);
    let count = format!(" everturn  {} sessions in {}", model.total(), model.place);
    frame.render_widget(Paragraph::new(count).style(bar), top);
    let reading = u16::try_from(model.reading.len() + 1).unwrap_or(u16::MAX);
    let [typed, right] =
        Layout::horizontal([Constraint::Min(1), Constraint::Length(reading)]).areas(line);
    frame.render_widget(Paragraph::new(format!(" / {}▏", model.query)), typed);
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(model.reading.as_str()).style(dim), right);
    let keys = match model.view {
        BrowseView::List => LIST_KEYS,
        BrowseView::Session { .. } => SESSION_KEYS,
    };
    let words = if model.message.is_empty() { keys } else { model.message.as_str() };
    frame.render_widget(Paragraph::new(format!(" {words}")).style(bar), bottom);
    model.height = usize::from(middle.height);
    match model.view {
        BrowseView::List => list(model, frame, middle),
        BrowseView::Session { .. } => session(model, frame, middle),
    }
}

fn list(model: &BrowseModel, frame: &mut Frame<'_>, area: Rect) {
    let parts = if area.width < NARROW { [100, 0] } else { [45, 55] };
    let [left, right] = Layout::horizontal(parts.map(Constraint::Percentage)).areas(area);
    let dim = Style::new().add_modifier(Modifier::DIM);
    let item = |row: &ListRow| {
        let title = Shown::from(format!(" {}", row.title));
        if area.height < 2 {
            // A row that does not fit completely would not be drawn at all.
            return ListItem::new(title);
        }
        ListItem::new(Text::from(vec![title, Shown::styled(format!("   {}", row.about), dim)]))
    };
    let rows = List::new(model.rows.iter().map(item))
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = ListState::default().with_selected(Some(model.selected));
    frame.render_stateful_widget(rows, left, &mut state);
    if right.width > 0 {
        let lines = model.preview.as_ref().map(|preview| preview.lines.as_slice());
        let width = usize::from(right.width).saturating_sub(2);
        let mut shown = wrapped(lines.unwrap_or_default(), width).0;
        if model.preview.as_ref().is_some_and(|preview| preview.is_end) {
            // The last line is a gap.
            let above = shown.len().saturating_sub(usize::from(right.height) + 1);
            shown.drain(..above);
        }
        let preview = Paragraph::new(shown).block(Block::new().borders(Borders::LEFT));
        frame.render_widget(preview, right);
    }
}

fn session(model: &mut BrowseModel, frame: &mut Frame<'_>, area: Rect) {
    let BrowseView::Session { page, scroll, .. } = &mut model.view else { return };
    let (shown, starts) = wrapped(&page.lines, usize::from(area.width).saturating_sub(2));
    let most = shown.len().saturating_sub(usize::from(area.height));
    let at = match *scroll {
        ScrollPosition::To { line, rows } => {
            let start = starts.get(line).map_or(shown.len(), |(start, _)| *start);
            start.saturating_add_signed(rows)
        }
        ScrollPosition::By(at) => at,
    };
    let at = at.min(most);
    *scroll = ScrollPosition::By(at);
    model.most = most;
    let above = starts.iter().rev().filter(|(start, _)| *start <= at);
    model.top = above.filter_map(|(start, entry)| Some(((*entry)?, at - start))).next();
    let visible: Vec<Shown<'_>> =
        shown.into_iter().skip(at).take(usize::from(area.height)).collect();
    frame.render_widget(Paragraph::new(visible).block(Block::new()), area);
}

/// Wraps lines to a width; returns where each one begins, with the entry if it is the heading of one.
fn wrapped(
    lines: &[PageLine],
    width: usize,
) -> (Vec<Shown<'static>>, Vec<(usize, Option<EntryPosition>)>) {
    let (mut shown, mut starts) = (Vec::new(), Vec::with_capacity(lines.len()));
    for line in lines {
        let entry = match line {
            PageLine::Heading { at, .. } => Some(*at),
            PageLine::Text(_) | PageLine::Note(_) => None,
        };
        starts.push((shown.len(), entry));
        let (words, style) = match line {
            PageLine::Heading { words, .. } => (words, Style::new().add_modifier(Modifier::BOLD)),
            PageLine::Text(words) => (words, Style::new()),
            PageLine::Note(words) => (words, Style::new().add_modifier(Modifier::ITALIC)),
        };
        let broken = wrap_text(words, width)
            .into_iter()
            .map(|text| Shown::styled(format!(" {text}"), style));
        shown.extend(broken);
        if !matches!(line, PageLine::Heading { .. }) {
            shown.push(Shown::default());
        }
    }
    (shown, starts)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::view::{BrowseKey, BrowseRequest, ScrollTarget, SessionPage};
    use super::*;

    /// Returns the screen as lines of text.
    fn screen(model: &mut BrowseModel, (width, height): (u16, u16)) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(model, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    fn model() -> BrowseModel {
        let row = |session: usize, title: &str| ListRow {
            session,
            at: None,
            title: title.to_owned(),
            about: "game 3 1d".to_owned(),
            folded: title.to_lowercase(),
        };
        BrowseModel::new(vec![row(0, "Tower"), row(1, "竜の塔")], "store".to_owned())
    }

    fn entries() -> Vec<PageLine> {
        let heading = |turn: u64| PageLine::Heading {
            at: EntryPosition { turn, seq: turn },
            words: format!("[{turn}] gm"),
        };
        vec![
            heading(1),
            PageLine::Text("The gate opens.".to_owned()),
            heading(2),
            PageLine::Text("You walk to the market and look around.".to_owned()),
        ]
    }

    #[test]
    fn the_list_stands_beside_the_preview() {
        let mut model = model();
        model.preview((0, None), entries());
        model.press(BrowseKey::Type('t'));
        model.press(BrowseKey::Clear);
        assert_eq!(
            screen(&mut model, (64, 9)),
            [
                " everturn  2 sessions in store",
                " / ▏",
                " Tower                       │ [1] gm",
                "   game 3 1d                 │ The gate opens.",
                " 竜 の 塔                       │",
                "   game 3 1d                 │ [2] gm",
                "                             │ You walk to the market and look",
                "                             │ around.",
                " type to search  ↑↓ select  Enter open  ^R replay  ^E export  Es",
            ]
        );
        assert_eq!(screen(&mut model, (20, 5))[2], " Tower");
        // A title fits on one line, and the preview shows the end of a session.
        assert_eq!(screen(&mut model, (12, 4))[2], " Tower");
        assert_eq!(screen(&mut model, (64, 4))[2], " Tower                       │ around.");
        model.reading = "reading sessions, 7 %".to_owned();
        let line = " / ▏                                      reading sessions, 7 %";
        assert_eq!(screen(&mut model, (64, 5))[1], line);
    }

    #[test]
    fn a_session_begins_at_the_turn_that_was_found_and_ends_at_its_end() {
        let mut model = model();
        let page = |all| SessionPage { lines: entries(), turns: 1..=2, all };
        model.show(0, page(1..=2), ScrollPosition::To { line: 2, rows: 0 });
        let shown = screen(&mut model, (20, 6));
        assert_eq!(shown[2..5], [" [2] gm", " You walk to the", " market and look"]);
        model.press(BrowseKey::Last);
        let shown = screen(&mut model, (20, 6));
        assert_eq!(shown[2..5], [" market and look", " around.", ""]);
        model.press(BrowseKey::First);
        assert_eq!(screen(&mut model, (20, 6))[2], " [1] gm");
        // When more has to be read, it is read around the top of the screen.
        model.show(0, page(1..=9), ScrollPosition::To { line: 2, rows: 2 });
        let shown = screen(&mut model, (20, 6));
        assert_eq!(shown[2..5], [" market and look", " around.", ""]);
        let to = ScrollTarget::Entry { at: EntryPosition { turn: 2, seq: 2 }, rows: 3 };
        assert_eq!(model.press(BrowseKey::Down), Some(BrowseRequest::Read { session: 0, to }));
        // Tiny terminals show something, and nothing breaks.
        for size in [(1, 1), (3, 2), (0, 0), (200, 3)] {
            screen(&mut model, size);
        }
    }
}
