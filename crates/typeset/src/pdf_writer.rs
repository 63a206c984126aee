//! Writes pages as a PDF with embedded font subsets, tagged text and an outline.

use std::num::NonZeroU32;

use krilla::SerializeSettings;
use krilla::annotation::{Annotation, LinkAnnotation, Target};
use krilla::color::{luma, rgb};
use krilla::destination::{Destination, XyzDestination};
use krilla::document::Document;
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::metadata::{DateTime, Metadata};
use krilla::num::NormalizedF32;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::{NumberingStyle, PageLabel, PageSettings};
use krilla::paint::{Fill, FillRule, Paint};
use krilla::surface::Surface;
use krilla::tagging::{Artifact, ArtifactType, ContentTag, Identifier};
use krilla::text::{GlyphId, KrillaGlyph};

use crate::book::FrontMatter;
use crate::clean_text::clean_title;
use crate::compose::{Composer, TextAlign};
use crate::design::PageDesign;
use crate::error::TypesetError;
use crate::fonts::FontTable;
use crate::line::{FilledArea, GlyphRun, Page, PlacedPicture, Shade, TextLine};
use crate::pager::{ElementRole, PageSet, PlacedHeading};
use crate::structure::TagStructure;
use crate::styled_text::{Ink, StyledText};

/// The input of the PDF writer.
pub(crate) struct Manuscript<'a> {
    pub(crate) front: &'a FrontMatter,
    pub(crate) design: PageDesign,
    pub(crate) front_pages: PageSet,
    pub(crate) body: PageSet,
    /// The titles of the chapters that pages refer to.
    pub(crate) chapters: Vec<String>,
}

/// Writes the book. Returns the file and its number of pages.
pub(crate) fn write_pdf(
    manuscript: Manuscript<'_>,
    composer: &mut Composer,
) -> Result<(Vec<u8>, usize), TypesetError> {
    let Manuscript { front, design, front_pages, body, chapters } = manuscript;
    let settings = SerializeSettings { enable_tagging: true, ..SerializeSettings::default() };
    let before = front_pages.pages.len();
    let mut writer = PdfWriter {
        document: Document::new_with(settings),
        design,
        structure: TagStructure::new(),
        before,
        written: 0,
        heads: RunningHeads { book: clean_title(&front.title), chapters, known: Vec::new() },
    };
    for page in front_pages.pages {
        writer.write_page(&page, &front_pages.roles, None, composer)?;
    }
    for (index, page) in body.pages.into_iter().enumerate() {
        writer.write_page(&page, &body.roles, Some(index + 1), composer)?;
    }
    let PdfWriter { mut document, structure, written, .. } = writer;
    document.set_tag_tree(structure.finish());
    document.set_outline(pdf_outline(&body.landmarks, before));
    document.set_metadata(pdf_metadata(front));
    let bytes =
        document.finish().map_err(|error| TypesetError::Pdf { reason: error.to_string() })?;
    Ok((bytes, written))
}

struct PdfWriter {
    document: Document,
    design: PageDesign,
    structure: TagStructure,
    /// The number of pages before the text.
    before: usize,
    written: usize,
    heads: RunningHeads,
}

/// The running heads, each composed once.
struct RunningHeads {
    book: String,
    chapters: Vec<String>,
    known: Vec<(String, TextLine)>,
}

impl RunningHeads {
    /// Returns a running head: the book title on left-hand pages, the chapter title on right-hand pages.
    fn head_line(
        &mut self,
        page: &Page,
        number: usize,
        design: PageDesign,
        composer: &mut Composer,
    ) -> TextLine {
        let chapter = self.chapters.get(page.chapter).filter(|title| !title.is_empty());
        let words = match chapter {
            Some(chapter) if !number.is_multiple_of(2) => chapter,
            _ => &self.book,
        };
        if let Some((_, line)) = self.known.iter().rev().find(|(known, _)| known == words) {
            return line.clone();
        }
        let passage = StyledText::of(words, design.running_head_face());
        let line = composer.one_line(&passage, design.text_width() * 0.8, TextAlign::Start);
        // Only the most recent chapters are needed, which bounds memory in books with many chapters.
        if self.known.len() > 8 {
            self.known.remove(0);
        }
        self.known.push((words.clone(), line.clone()));
        line
    }
}

/// The part of an element that is on a page.
struct DrawnElement {
    element: u32,
    content: Vec<Identifier>,
    top: f32,
    bottom: f32,
}

impl PdfWriter {
    /// Writes a page; pages of the text are numbered.
    fn write_page(
        &mut self,
        page: &Page,
        roles: &[ElementRole],
        number: Option<usize>,
        composer: &mut Composer,
    ) -> Result<(), TypesetError> {
        let design = self.design;
        let head = number
            .filter(|_| !page.opens)
            .map(|number| self.heads.head_line(page, number, design, composer));
        let folio = number.map(|number| {
            let passage = StyledText::of(&number.to_string(), design.number_face());
            composer.one_line(&passage, design.text_width(), TextAlign::Start)
        });
        let settings = PageSettings::from_wh(design.width, design.height)
            .ok_or_else(|| TypesetError::Pdf { reason: "the page has no size".to_owned() })?
            .with_page_label(page_label(number, self.written));
        let mut sheet = self.document.start_page_with(settings);
        let mut surface = sheet.surface();
        let table = &composer.table;
        draw_areas(&mut surface, &page.areas);
        if let (Some(number), Some(folio)) = (number, folio) {
            draw_margins(&mut surface, table, design, number, &folio, head.as_ref());
        }
        let mut drawn = draw_spans(&mut surface, table, page, roles);
        drawn.extend(draw_pictures(&mut surface, page));
        // Elements are numbered in reading order.
        drawn.sort_by_key(|part| part.element);
        surface.finish();
        for part in &mut drawn {
            if let Some(ElementRole::Entry { page, top }) = role_of(roles, part.element)
                && let Some(area) =
                    Rect::from_ltrb(0.0, part.top, design.width, part.bottom.max(part.top + 1.0))
            {
                let to = XyzDestination::new(self.before + page, Point::from_xy(0.0, *top));
                let target = Target::Destination(Destination::Xyz(to));
                let words = format!("{}", page + 1);
                let link = Annotation::new_link(LinkAnnotation::new(area, target), Some(words));
                part.content.push(sheet.add_tagged_annotation(link));
            }
        }
        sheet.finish();
        if page.opens {
            self.structure.section();
        }
        for part in drawn {
            if let Some(role) = role_of(roles, part.element) {
                self.structure.add(number.is_some(), part.element, role, part.content);
            }
        }
        self.written += 1;
        Ok(())
    }
}

fn role_of(roles: &[ElementRole], element: u32) -> Option<&ElementRole> {
    usize::try_from(element).ok().and_then(|index| roles.get(index))
}

/// Returns the page label that PDF viewers show: lower-case Roman numerals before the text.
fn page_label(number: Option<usize>, written: usize) -> PageLabel {
    let (style, number) = match number {
        Some(number) => (NumberingStyle::Arabic, number),
        None => (NumberingStyle::LowerRoman, written + 1),
    };
    let number = u32::try_from(number).ok().and_then(NonZeroU32::new);
    PageLabel::new(Some(style), None, number)
}

fn grey(value: u8) -> Fill {
    solid(luma::Color::new(value).into())
}

fn solid(paint: Paint) -> Fill {
    Fill { paint, opacity: NormalizedF32::ONE, rule: FillRule::default() }
}

fn draw_areas(surface: &mut Surface<'_>, areas: &[FilledArea]) {
    if areas.is_empty() {
        return;
    }
    surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout)));
    for area in areas {
        surface.set_fill(Some(match area.shade {
            Shade::Tint => grey(244),
            Shade::Rule => grey(190),
        }));
        draw_rect(surface, Rect::from_xywh(area.x, area.y, area.width, area.height));
    }
    surface.end_tagged();
}

fn draw_rect(surface: &mut Surface<'_>, rect: Option<Rect>) {
    let mut path = PathBuilder::new();
    if let Some(rect) = rect {
        path.push_rect(rect);
    }
    if let Some(path) = path.finish() {
        surface.draw_path(&path);
    }
}

/// Draws the pictures of a page, each with its own tag.
fn draw_pictures(surface: &mut Surface<'_>, page: &Page) -> Vec<DrawnElement> {
    let mut drawn = Vec::new();
    for placed in &page.pictures {
        let PlacedPicture { element, x, y, width, height, .. } = *placed;
        let Some(size) = Size::from_wh(width, height) else { continue };
        let identifier = surface.start_tagged(ContentTag::Other);
        surface.push_transform(&Transform::from_translate(x, y));
        surface.draw_image(placed.image.clone(), size);
        surface.pop();
        surface.end_tagged();
        let content = vec![identifier];
        drawn.push(DrawnElement { element, content, top: y, bottom: y + height });
    }
    drawn
}

/// Draws the page number, and the running head if there is one.
fn draw_margins(
    surface: &mut Surface<'_>,
    table: &FontTable,
    design: PageDesign,
    number: usize,
    folio: &TextLine,
    head: Option<&TextLine>,
) {
    let left = design.left(number);
    let middle = |line: &TextLine| left + (design.text_width() - line.right) / 2.0;
    let artifact = |kind| ContentTag::Artifact(Artifact::with_kind(kind));
    let Some(head) = head else {
        surface.start_tagged(artifact(ArtifactType::PageNumber));
        draw_line(surface, table, folio, middle(folio), design.foot());
        surface.end_tagged();
        return;
    };
    let outer =
        if number.is_multiple_of(2) { left } else { left + design.text_width() - folio.right };
    surface.start_tagged(artifact(ArtifactType::Header));
    draw_line(surface, table, head, middle(head), design.head());
    draw_line(surface, table, folio, outer, design.head());
    surface.end_tagged();
}

fn draw_line(surface: &mut Surface<'_>, table: &FontTable, line: &TextLine, x: f32, y: f32) {
    let mut page = Page::default();
    page.place(line, x, y, 0);
    let mut pieces = PieceCursor::of(&page);
    while pieces.draw_next(surface, table).is_some() {}
}

/// Draws the text, each element with its own tag.
fn draw_spans(
    surface: &mut Surface<'_>,
    table: &FontTable,
    page: &Page,
    roles: &[ElementRole],
) -> Vec<DrawnElement> {
    let mut pieces = PieceCursor::of(page);
    let mut drawn: Vec<DrawnElement> = Vec::new();
    for span in &page.spans {
        let is_read =
            role_of(roles, span.element).is_some_and(|role| *role != ElementRole::Ornament);
        let tag = if is_read {
            ContentTag::Other
        } else {
            ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout))
        };
        let identifier = surface.start_tagged(tag);
        let (mut top, mut bottom) = (f32::MAX, 0.0_f32);
        for _ in 0..span.pieces {
            let Some(piece) = pieces.draw_next(surface, table) else { break };
            top = top.min(piece.y - piece.size);
            bottom = bottom.max(piece.y + piece.size * 0.3);
        }
        surface.end_tagged();
        if is_read {
            let content = vec![identifier];
            drawn.push(DrawnElement { element: span.element, content, top, bottom });
        }
    }
    drawn
}

/// Iterates over the runs of a page, with the glyphs and the text of each.
struct PieceCursor<'a> {
    page: &'a Page,
    next: usize,
    glyphs: usize,
    text: usize,
    /// Reused for every run.
    buffer: Vec<KrillaGlyph>,
}

impl<'a> PieceCursor<'a> {
    fn of(page: &'a Page) -> Self {
        Self { page, next: 0, glyphs: 0, text: 0, buffer: Vec::new() }
    }

    fn draw_next(&mut self, surface: &mut Surface<'_>, table: &FontTable) -> Option<GlyphRun> {
        let piece = *self.page.pieces.get(self.next)?;
        let glyphs_end = self.glyphs + usize::try_from(piece.glyphs).ok()?;
        let text_end = self.text + usize::try_from(piece.text).ok()?;
        let glyphs = self.page.glyphs.get(self.glyphs..glyphs_end)?;
        let text = self.page.text.get(self.text..text_end)?;
        (self.next, self.glyphs, self.text) = (self.next + 1, glyphs_end, text_end);
        let Some(font) = table.font(piece.font) else { return Some(piece) };
        self.buffer.clear();
        let mut range = if piece.backwards { text.len()..text.len() } else { 0..0 };
        for glyph in glyphs {
            let length = usize::from(glyph.text);
            if length > 0 && piece.backwards {
                let start = range.start.saturating_sub(length);
                range = text.floor_char_boundary(start)..range.start;
            } else if length > 0 {
                let end = range.end.saturating_add(length);
                range = range.end..text.floor_char_boundary(end);
            }
            self.buffer.push(KrillaGlyph::new(
                GlyphId::new(u32::from(glyph.id)),
                glyph.advance,
                f32::from(glyph.right) / 1000.0,
                f32::from(glyph.up) / 1000.0,
                0.0,
                range.clone(),
                None,
            ));
        }
        surface.set_fill(Some(match piece.ink {
            Ink::Black => grey(0),
            Ink::Grey | Ink::Struck => grey(105),
            Ink::Blue => solid(rgb::Color::new(28, 62, 110).into()),
        }));
        let start = Point::from_xy(piece.x, piece.y);
        surface.draw_glyphs(start, &self.buffer, font.clone(), text, piece.size, false);
        if piece.ink == Ink::Struck {
            let width: f32 = glyphs.iter().map(|glyph| glyph.advance).sum();
            let y = piece.y - piece.size * 0.26;
            draw_rect(surface, Rect::from_xywh(piece.x, y, width * piece.size, piece.size * 0.05));
        }
        Some(piece)
    }
}

/// Returns the outline: chapters, and the headings within them.
fn pdf_outline(landmarks: &[PlacedHeading], before: usize) -> Outline {
    let mut outline = Outline::new();
    // The open headings, outermost first.
    let mut open: Vec<(u8, OutlineNode)> = Vec::new();
    for landmark in landmarks {
        close_headings(&mut open, landmark.level, &mut outline);
        let place = Point::from_xy(0.0, landmark.top);
        let destination = XyzDestination::new(before + landmark.page, place);
        open.push((landmark.level, OutlineNode::new(landmark.title.clone(), destination)));
    }
    close_headings(&mut open, 0, &mut outline);
    outline
}

/// Closes the headings that are not above `level`.
fn close_headings(open: &mut Vec<(u8, OutlineNode)>, level: u8, outline: &mut Outline) {
    while let Some((_, node)) = open.pop_if(|(open, _)| *open >= level) {
        match open.last_mut() {
            Some((_, parent)) => parent.push_child(node),
            None => outline.push_child(node),
        }
    }
}

fn pdf_metadata(front: &FrontMatter) -> Metadata {
    let mut metadata = Metadata::new().creator("Everturn".to_owned());
    let set = |text: &str| Some(clean_title(text)).filter(|text| !text.is_empty());
    if let Some(title) = set(&front.title) {
        metadata = metadata.title(title);
    }
    if let Some(subtitle) = set(&front.subtitle) {
        metadata = metadata.description(subtitle);
    }
    if let Some(author) = set(&front.author) {
        metadata = metadata.authors(vec![author]);
    }
    if let Ok(language) = parley::Language::parse(&front.language) {
        metadata = metadata.language(language.as_str().to_owned());
    }
    if let Some(date) = front.date {
        let time = DateTime::new(date.year)
            .month(date.month)
            .day(date.day)
            .hour(date.hour)
            .minute(date.minute)
            .second(date.second)
            .utc_offset_hour(0);
        metadata = metadata.creation_date(time);
    }
    metadata
}
