//! Turns lines into pages. [`Pager`] avoids widows and orphans, and keeps headings on the page of the text they
//! introduce.

use std::collections::VecDeque;

use crate::design::PageDesign;
use crate::line::{FilledArea, Page, PlacedPicture, Shade, SizedPicture, TextLine};

/// The number of lines of lookahead. It is enough to never leave a single line behind: a paragraph of three lines is
/// not split, and a longer one leaves two lines on each page.
const IN_VIEW: usize = 4;

/// The role of an element of the book, for screen readers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ElementRole {
    /// The title on the title page.
    Title,
    /// A heading; chapters have level 1.
    Heading {
        level: u8,
        title: String,
    },
    Paragraph,
    Quotation,
    Item {
        numbered: bool,
    },
    Code,
    Figure {
        alt: String,
    },
    Note,
    /// An entry of the contents that links to a page of the body.
    Entry {
        page: usize,
        top: f32,
    },
    /// Decoration that is not read aloud.
    Ornament,
}

/// How the lines of an element are placed.
#[derive(Clone, Debug)]
pub(crate) struct ElementLayout {
    pub(crate) role: ElementRole,
    /// The space above and below; between two elements the larger one applies.
    pub(crate) above: f32,
    pub(crate) below: f32,
    /// The height of a line.
    pub(crate) leading: f32,
    /// The offset from the left edge of the text.
    pub(crate) shift: f32,
    /// Whether it must be on the same page as the next element.
    pub(crate) announces: bool,
    /// The background or rule of its lines.
    pub(crate) backdrop: Option<Backdrop>,
}

/// The background or rule of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backdrop {
    pub(crate) shade: Shade,
    pub(crate) x: f32,
    pub(crate) width: f32,
}

/// A line that is not placed yet.
#[derive(Debug)]
struct PendingLine {
    line: TextLine,
    height: f32,
    /// The space above, ignored at the top of a page.
    above: f32,
    shift: f32,
    element: u32,
    backdrop: Option<Backdrop>,
    /// Whether it is the first line of its element.
    is_first: bool,
    /// The line in the margin beside it.
    margin: Option<TextLine>,
    picture: Option<SizedPicture>,
}

/// A placed heading, for the contents and the outline.
#[derive(Clone, Debug)]
pub(crate) struct PlacedHeading {
    pub(crate) level: u8,
    pub(crate) title: String,
    /// The page of the body, from 0, and the vertical position on it.
    pub(crate) page: usize,
    pub(crate) top: f32,
}

/// Places lines on pages.
#[derive(Debug)]
pub(crate) struct Pager {
    design: PageDesign,
    pages: Vec<Page>,
    /// The page being filled, the height used, and whether it has any lines yet.
    page: Option<Page>,
    y: f32,
    has_lines: bool,
    /// The space that the last element wants below it.
    below: f32,
    chapter: usize,
    /// The lines of the element that are not placed yet, and the pending headings.
    queue: VecDeque<PendingLine>,
    announced: Vec<PendingLine>,
    setting: Option<ElementLayout>,
    started: bool,
    pub(crate) roles: Vec<ElementRole>,
    pub(crate) landmarks: Vec<PlacedHeading>,
}

impl Pager {
    pub(crate) fn new(design: PageDesign) -> Self {
        Self {
            design,
            pages: Vec::new(),
            page: None,
            y: design.top,
            has_lines: false,
            below: 0.0,
            chapter: 0,
            queue: VecDeque::new(),
            announced: Vec::new(),
            setting: None,
            started: false,
            roles: Vec::new(),
            landmarks: Vec::new(),
        }
    }

    /// Starts a chapter on a new page.
    pub(crate) fn start_chapter(&mut self, chapter: usize) {
        self.flush();
        self.close_page();
        self.chapter = chapter;
        self.page = Some(Page { chapter, opens: true, ..Page::default() });
        self.y = self.design.top;
        self.below = 0.0;
    }

    /// Adds vertical space, for instance above a chapter title; at the top of a page, too.
    pub(crate) fn skip_height(&mut self, height: f32) {
        self.flush();
        self.open_page();
        self.y += height;
        self.below = 0.0;
    }

    /// Places all lines of an element.
    pub(crate) fn add_element(
        &mut self,
        setting: ElementLayout,
        lines: impl IntoIterator<Item = TextLine>,
    ) {
        self.begin_element(setting);
        for line in lines {
            self.add_line(line);
        }
        self.end_element();
    }

    /// Starts an element; its lines follow.
    pub(crate) fn begin_element(&mut self, setting: ElementLayout) {
        self.roles.push(setting.role.clone());
        self.setting = Some(setting);
        self.started = false;
    }

    /// Adds a line to the element.
    pub(crate) fn add_line(&mut self, line: TextLine) {
        self.add_line_with_margin(line, None);
    }

    /// Adds a line with another line beside it in the margin.
    pub(crate) fn add_line_with_margin(&mut self, line: TextLine, margin: Option<TextLine>) {
        let height = self.setting.as_ref().map_or(0.0, |setting| setting.leading);
        self.add(line, height, margin, None);
    }

    /// Adds space within the element.
    pub(crate) fn add_padding(&mut self, height: f32) {
        self.add(TextLine::default(), height, None, None);
    }

    /// Adds a picture, which is a line of its height.
    pub(crate) fn add_picture(&mut self, picture: SizedPicture) {
        self.add(TextLine::default(), picture.height, None, Some(picture));
    }

    fn add(
        &mut self,
        line: TextLine,
        height: f32,
        margin: Option<TextLine>,
        picture: Option<SizedPicture>,
    ) {
        let Some(setting) = &self.setting else { return };
        let is_first = !self.started && self.queue.is_empty();
        let above = if is_first { setting.above.max(self.below) } else { 0.0 };
        let element = u32::try_from(self.roles.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let (shift, backdrop) = (setting.shift, setting.backdrop);
        let announces = setting.announces && self.is_short();
        self.queue.push_back(PendingLine {
            line,
            height,
            above,
            shift,
            element,
            backdrop,
            is_first,
            margin,
            picture,
        });
        while !announces && self.queue.len() >= IN_VIEW {
            self.place_next();
        }
    }

    /// Ends the element.
    pub(crate) fn end_element(&mut self) {
        let Some(setting) = self.setting.take() else { return };
        if self.queue.is_empty() && !self.started {
            return;
        }
        self.below = setting.below;
        if setting.announces && !self.started && self.is_short() {
            self.announced.extend(self.queue.drain(..));
            return;
        }
        if !self.started {
            let needed: f32 = self.queue.iter().map(|slot| slot.above + slot.height).sum();
            self.make_room(needed + self.announced_height());
            self.place_announced();
        }
        while let Some(slot) = self.queue.pop_front() {
            // The last two lines stay together.
            let with = if self.queue.len() == 1 { self.queue.front() } else { None };
            let needed = slot.above + slot.height + with.map_or(0.0, |slot| slot.height);
            self.make_room(needed);
            self.place(slot);
        }
        self.started = false;
    }

    /// Returns whether the pending headings leave enough of a page for the text that follows.
    fn is_short(&self) -> bool {
        let queued: f32 = self.queue.iter().map(|slot| slot.height).sum();
        queued + self.announced_height() < (self.design.bottom() - self.design.top) * 0.5
    }

    fn announced_height(&self) -> f32 {
        self.announced.iter().map(|slot| slot.above + slot.height).sum()
    }

    /// Places the next line of an element that has not ended.
    fn place_next(&mut self) {
        if !self.started {
            let first_two = self.queue.iter().take(2).map(|slot| slot.above + slot.height);
            let needed = first_two.sum::<f32>() + self.announced_height();
            self.make_room(needed);
            self.place_announced();
            self.started = true;
        }
        if let Some(slot) = self.queue.pop_front() {
            self.make_room(slot.above + slot.height);
            self.place(slot);
        }
    }

    fn place_announced(&mut self) {
        for slot in std::mem::take(&mut self.announced) {
            self.make_room(slot.above + slot.height);
            self.place(slot);
        }
    }

    /// Starts a new page unless the height fits or the page is empty.
    fn make_room(&mut self, height: f32) {
        if self.has_lines && self.y + height > self.design.bottom() + 0.5 {
            self.close_page();
        }
        self.open_page();
    }

    fn open_page(&mut self) {
        if self.page.is_none() {
            self.page = Some(Page { chapter: self.chapter, ..Page::default() });
            self.y = self.design.top;
        }
    }

    fn close_page(&mut self) {
        self.has_lines = false;
        if let Some(mut page) = self.page.take() {
            page.shrink();
            self.pages.push(page);
        }
    }

    fn place(&mut self, slot: PendingLine) {
        let number = self.pages.len() + 1;
        let left = self.design.left(number);
        let Some(page) = &mut self.page else { return };
        if self.y > self.design.top {
            self.y += slot.above;
        }
        if let Some(Backdrop { shade, x, width }) = slot.backdrop {
            page.fill(FilledArea { shade, x: left + x, y: self.y, width, height: slot.height });
        }
        let role = usize::try_from(slot.element).ok().and_then(|index| self.roles.get(index));
        if let Some(ElementRole::Heading { level, title }) = role
            && slot.is_first
        {
            let (level, title, page) = (*level, title.clone(), self.pages.len());
            self.landmarks.push(PlacedHeading { level, title, page, top: self.y });
        }
        let baseline = self.y + PageDesign::baseline(slot.height);
        page.place(&slot.line, left + slot.shift, baseline, slot.element);
        if let Some(margin) = slot.margin {
            // The outer margin, with the number aligned towards the text.
            let gap = self.design.size;
            let x = if number.is_multiple_of(2) {
                left - gap - margin.right
            } else {
                left + self.design.text_width() + gap
            };
            page.place(&margin, x, baseline, slot.element);
        }
        if let Some(SizedPicture { image, width, height }) = slot.picture {
            let (element, x, y) = (slot.element, left + slot.shift, self.y);
            page.pictures.push(PlacedPicture { image, element, x, y, width, height });
        }
        self.y += slot.height;
        self.has_lines = true;
    }

    fn flush(&mut self) {
        self.end_element();
        self.place_announced();
    }

    /// Returns the finished pages.
    pub(crate) fn finish(mut self) -> PageSet {
        self.flush();
        self.close_page();
        PageSet { pages: self.pages, roles: self.roles, landmarks: self.landmarks }
    }
}

/// Pages and the elements on them.
#[derive(Debug)]
pub(crate) struct PageSet {
    pub(crate) pages: Vec<Page>,
    pub(crate) roles: Vec<ElementRole>,
    pub(crate) landmarks: Vec<PlacedHeading>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::GlyphRun;
    use crate::options::PaperSize;
    use crate::styled_text::Ink;

    fn setting(announces: bool) -> ElementLayout {
        let leading = PageDesign::for_paper(PaperSize::A5).leading;
        ElementLayout {
            role: ElementRole::Paragraph,
            above: 0.0,
            below: 0.0,
            leading,
            shift: 0.0,
            announces,
            backdrop: None,
        }
    }

    fn line() -> TextLine {
        let piece = GlyphRun {
            font: 0,
            ink: Ink::Black,
            backwards: false,
            size: 10.0,
            x: 0.0,
            y: 0.0,
            glyphs: 0,
            text: 0,
        };
        TextLine { pieces: vec![piece], ..TextLine::default() }
    }

    /// Returns the pages of paragraphs with the given numbers of lines: the lines of each paragraph on each page.
    fn pages(paragraphs: &[usize]) -> Vec<Vec<(u32, u32)>> {
        let mut pager = Pager::new(PageDesign::for_paper(PaperSize::A5));
        for lines in paragraphs {
            pager.add_element(setting(false), (0..*lines).map(|_| line()));
        }
        let pages = pager.finish().pages.into_iter();
        pages
            .map(|page| page.spans.iter().map(|span| (span.element, span.pieces)).collect())
            .collect()
    }

    #[test]
    fn no_line_of_a_paragraph_is_alone_on_a_page() {
        for before in 1..=40 {
            for lines in 2..=12 {
                let paragraphs = [vec![1; before], vec![lines; 40]].concat();
                let pages = pages(&paragraphs);
                assert!(pages.len() >= 2);
                let first = u32::try_from(before).unwrap();
                for (element, count) in
                    pages.iter().flatten().filter(|(element, _)| *element >= first)
                {
                    assert!(*count >= 2, "{before}, {lines}: {element} has {count}");
                }
                let placed: u32 = pages.iter().flatten().map(|(_, count)| count).sum();
                assert_eq!(usize::try_from(placed).unwrap(), before + lines * 40);
            }
        }
    }

    #[test]
    fn a_page_is_full_before_the_next_one_starts() {
        assert_eq!(pages(&[35]), [[(0, 35)]]);
        assert_eq!(pages(&[37]), [[(0, 35)], [(0, 2)]]);
        // The last line would be alone, so the line before it moves along.
        assert_eq!(pages(&[36]), [[(0, 34)], [(0, 2)]]);
        assert_eq!(pages(&[33, 3]), [vec![(0, 33)], vec![(1, 3)]]);
        assert_eq!(pages(&[33, 4]), [vec![(0, 33), (1, 2)], vec![(1, 2)]]);
    }

    #[test]
    fn what_announces_stays_with_what_follows() {
        for before in 0..=80 {
            let mut pager = Pager::new(PageDesign::for_paper(PaperSize::A5));
            pager.add_element(setting(false), (0..before).map(|_| line()));
            pager.add_element(setting(true), [line()]);
            pager.add_element(setting(true), [line(), line()]);
            pager.add_element(setting(false), (0..5).map(|_| line()));
            let pages = pager.finish().pages;
            let is_there =
                |page: &Page, element| page.spans.iter().any(|span| span.element == element);
            let page = pages.iter().find(|page| is_there(page, 1)).unwrap();
            assert!(is_there(page, 2) && is_there(page, 3), "{before}");
        }
    }

    #[test]
    fn an_announcement_without_end_is_set_as_text() {
        let mut pager = Pager::new(PageDesign::for_paper(PaperSize::A5));
        pager.add_element(setting(true), (0..1000).map(|_| line()));
        pager.add_element(setting(true), (0..16).map(|_| line()));
        pager.add_element(setting(true), (0..16).map(|_| line()));
        let pages = pager.finish().pages;
        let most = pages.iter().map(|page| page.pieces.len()).max();
        assert_eq!(most, Some(35));
        assert_eq!(pages.iter().map(|page| page.pieces.len()).sum::<usize>(), 1032);
    }
}
