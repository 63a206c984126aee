//! The pages before the text: the title page and the contents.

use crate::book::Front;
use crate::clean::title;
use crate::compose::{Align, Composer, Frame};
use crate::design::Design;
use crate::line::{Line, Page};
use crate::pager::{Landmark, Pager, Pages, Role, Setting};
use crate::passage::{Face, Passage};

/// More lines than this do not fit on a title page.
const MOST_IMPRINT_LINES: usize = 6;

/// The title page, and the contents if there are any.
pub(crate) fn pages(
    front: &Front,
    design: Design,
    landmarks: &[Landmark],
    composer: &mut Composer,
) -> Pages {
    let mut pages = title_page(front, design, composer);
    let chapters: Vec<&Landmark> = landmarks.iter().filter(|mark| mark.level == 1).collect();
    if !chapters.is_empty() {
        let mut contents = contents(front, design, &chapters, composer);
        // The text starts on the right of the spine.
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

/// Places lines on the title page, one below the other.
struct TitlePage<'a> {
    page: Page,
    roles: Vec<Role>,
    design: Design,
    composer: &'a mut Composer,
    y: f32,
}

impl TitlePage<'_> {
    fn add(&mut self, text: &str, face: Face, leading: f32, role: Role) {
        let frame = Frame::new(self.design.measure(), Align::Center);
        let lines = self.composer.lines(&Passage::of(text, face), frame);
        let element = u32::try_from(self.roles.len()).unwrap_or(u32::MAX);
        self.roles.push(role);
        // The title page lies on the right of the spine, and its text in the middle of the page.
        let left = (self.design.width - self.design.measure()) / 2.0;
        for line in lines {
            self.y += leading;
            self.page.place(&line, left, self.y, element);
        }
    }
}

fn title_page(front: &Front, design: Design, composer: &mut Composer) -> Pages {
    let page = Page { opens: true, ..Page::default() };
    let y = design.height * 0.24;
    let mut page = TitlePage { page, roles: Vec::new(), design, composer, y };
    let size = design.size;
    page.add(&title(&front.title), Face::serif(size * 2.7), size * 3.2, Role::Title);
    page.y += size;
    let subtitle = Face::serif(size * 1.4).italic();
    page.add(&title(&front.subtitle), subtitle, size * 1.9, Role::Paragraph);
    page.y += size * 2.0;
    let author = Face::serif(size * 1.2).small_caps();
    page.add(&title(&front.author), author, size * 1.6, Role::Paragraph);
    let imprint: Vec<String> = front.imprint.lines().take(MOST_IMPRINT_LINES).map(title).collect();
    let leading = design.small_leading();
    #[expect(clippy::cast_precision_loss, reason = "there are six lines at most")]
    let height = imprint.len() as f32 * leading;
    page.y = page.y.max(design.bottom() - height);
    page.add(&imprint.join("\n"), design.small().grey(), leading, Role::Paragraph);
    Pages { pages: vec![page.page], roles: page.roles, landmarks: Vec::new() }
}

/// The word for the contents.
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

fn contents(
    front: &Front,
    design: Design,
    chapters: &[&Landmark],
    composer: &mut Composer,
) -> Pages {
    let mut pager = Pager::new(design);
    pager.chapter(0);
    pager.skip(design.leading * 4.0);
    let plain = Setting {
        role: Role::Paragraph,
        above: 0.0,
        below: design.leading * 1.5,
        leading: design.leading * 1.5,
        shift: 0.0,
        announces: true,
        backdrop: None,
    };
    let heading = Passage::of(contents_word(&front.language), Face::serif(design.size * 1.5));
    let frame = Frame::new(design.measure(), Align::Start);
    let lines = composer.lines(&heading, frame);
    pager.element(plain.clone(), lines);
    for chapter in chapters {
        let number = Passage::of(&(chapter.page + 1).to_string(), design.text());
        let number = composer.one_line(&number, design.measure(), Align::Start);
        let room = design.measure() - design.size * 4.0;
        let frame = Frame { rest: design.indent(), ..Frame::new(room, Align::Start) };
        let mut lines = composer.lines(&Passage::of(&chapter.title, design.text()), frame);
        if let Some(last) = lines.last_mut() {
            add_at_right(last, &number, design.measure());
        }
        let setting = Setting {
            role: Role::Entry { page: chapter.page, top: chapter.top },
            below: design.leading * 0.3,
            leading: design.leading,
            announces: false,
            ..plain.clone()
        };
        pager.element(setting, lines);
    }
    pager.finish()
}

fn add_at_right(line: &mut Line, number: &Line, width: f32) {
    line.add(number, width - number.right);
}
