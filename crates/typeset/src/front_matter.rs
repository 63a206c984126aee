//! The pages before the text: the title page and the contents.

use crate::book::FrontMatter;
use crate::clean_text::clean_title;
use crate::compose::{Composer, TextAlign, TextFrame};
use crate::design::PageDesign;
use crate::line::{Page, TextLine};
use crate::pager::{ElementLayout, ElementRole, PageSet, Pager, PlacedHeading};
use crate::styled_text::{FontFace, StyledText};

/// The number of lines that fit on a title page.
const MOST_IMPRINT_LINES: usize = 6;

/// Returns the title page, and the contents if there are any.
pub(crate) fn front_pages(
    front: &FrontMatter,
    design: PageDesign,
    landmarks: &[PlacedHeading],
    composer: &mut Composer,
) -> PageSet {
    let mut pages = title_page(front, design, composer);
    let chapters: Vec<&PlacedHeading> = landmarks.iter().filter(|mark| mark.level == 1).collect();
    if !chapters.is_empty() {
        let mut contents = contents_pages(front, design, &chapters, composer);
        // The text starts on a right-hand page.
        if contents.pages.len().is_multiple_of(2) {
            contents.pages.push(Page::default());
        }
        let shift = u32::try_from(pages.roles.len()).unwrap_or(0);
        for span in contents.pages.iter_mut().flat_map(|page| &mut page.spans) {
            span.element += shift;
        }
        pages.pages.append(&mut contents.pages);
        pages.roles.append(&mut contents.roles);
    }
    pages
}

/// Places lines on the title page from top to bottom.
struct TitlePage<'a> {
    page: Page,
    roles: Vec<ElementRole>,
    design: PageDesign,
    composer: &'a mut Composer,
    y: f32,
}

impl TitlePage<'_> {
    fn add(&mut self, text: &str, face: FontFace, leading: f32, role: ElementRole) {
        let frame = TextFrame::new(self.design.text_width(), TextAlign::Center);
        let lines = self.composer.lines(&StyledText::of(text, face), frame);
        let element = u32::try_from(self.roles.len()).unwrap_or(u32::MAX);
        self.roles.push(role);
        // The title page is a right-hand page, but its text is centred on the page.
        let left = (self.design.width - self.design.text_width()) / 2.0;
        for line in lines {
            self.y += leading;
            self.page.place(&line, left, self.y, element);
        }
    }
}

fn title_page(front: &FrontMatter, design: PageDesign, composer: &mut Composer) -> PageSet {
    let page = Page { opens: true, ..Page::default() };
    let y = design.height * 0.24;
    let mut page = TitlePage { page, roles: Vec::new(), design, composer, y };
    let size = design.size;
    page.add(
        &clean_title(&front.title),
        FontFace::serif(size * 2.7),
        size * 3.2,
        ElementRole::Title,
    );
    page.y += size;
    let subtitle = FontFace::serif(size * 1.4).italic();
    page.add(&clean_title(&front.subtitle), subtitle, size * 1.9, ElementRole::Paragraph);
    page.y += size * 2.0;
    let author = FontFace::serif(size * 1.2).small_caps();
    page.add(&clean_title(&front.author), author, size * 1.6, ElementRole::Paragraph);
    let imprint: Vec<String> =
        front.imprint.lines().take(MOST_IMPRINT_LINES).map(clean_title).collect();
    let leading = design.small_leading();
    #[expect(clippy::cast_precision_loss, reason = "there are six lines at most")]
    let height = imprint.len() as f32 * leading;
    page.y = page.y.max(design.bottom() - height);
    page.add(&imprint.join("\n"), design.small_face().grey(), leading, ElementRole::Paragraph);
    PageSet { pages: vec![page.page], roles: page.roles, landmarks: Vec::new() }
}

/// Returns the heading of the contents.
fn contents_word(language: &str) -> &'static str {
    match language.split(['-', '_']).next().unwrap_or_default() {
        "de" => "Inhalt",
        "fr" => "Table des matières",
        "es" => "Índice",
        "it" => "Indice",
        "pt" => "Sumário",
        "nl" => "Inhoud",
        "sv" => "Innehåll",
        "da" => "Indhold",
        "nb" | "nn" | "no" => "Innhold",
        "pl" => "Spis treści",
        "cs" => "Obsah",
        "ru" => "Содержание",
        "uk" => "Зміст",
        "el" => "Περιεχόμενα",
        "tr" => "İçindekiler",
        "ja" => "目次",
        "zh" => "目录",
        "ko" => "차례",
        "he" => "תוכן העניינים",
        "ar" => "المحتويات",
        _ => "Contents",
    }
}

fn contents_pages(
    front: &FrontMatter,
    design: PageDesign,
    chapters: &[&PlacedHeading],
    composer: &mut Composer,
) -> PageSet {
    let mut pager = Pager::new(design);
    pager.start_chapter(0);
    pager.skip_height(design.leading * 4.0);
    let plain = ElementLayout {
        role: ElementRole::Paragraph,
        above: 0.0,
        below: design.leading * 1.5,
        leading: design.leading * 1.5,
        shift: 0.0,
        announces: true,
        backdrop: None,
    };
    let heading =
        StyledText::of(contents_word(&front.language), FontFace::serif(design.size * 1.5));
    let frame = TextFrame::new(design.text_width(), TextAlign::Start);
    let lines = composer.lines(&heading, frame);
    pager.add_element(plain.clone(), lines);
    for chapter in chapters {
        let number = StyledText::of(&(chapter.page + 1).to_string(), design.text_face());
        let number = composer.one_line(&number, design.text_width(), TextAlign::Start);
        let room = design.text_width() - design.size * 4.0;
        let frame = TextFrame { rest: design.indent(), ..TextFrame::new(room, TextAlign::Start) };
        let mut lines = composer.lines(&StyledText::of(&chapter.title, design.text_face()), frame);
        if let Some(last) = lines.last_mut() {
            add_at_right(last, &number, design.text_width());
        }
        let setting = ElementLayout {
            role: ElementRole::Entry { page: chapter.page, top: chapter.top },
            below: design.leading * 0.3,
            leading: design.leading,
            announces: false,
            ..plain.clone()
        };
        pager.add_element(setting, lines);
    }
    pager.finish()
}

fn add_at_right(line: &mut TextLine, number: &TextLine, width: f32) {
    line.add(number, width - number.right);
}
