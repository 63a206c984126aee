//! Fonts: [`FontBook`] loads the bundled fonts and those of the caller; [`FontTable`] numbers the fonts in use.

use std::sync::Arc;

use fontique::{Blob, Collection, CollectionOptions, FontInfoOverride, SourceCache};
use parley::{Brush, FontContext, FontFamilyName};

use crate::error::TypesetError;
use crate::options::FontSources;

// The bundled families have names of their own, so that system fonts are never mixed with them.
const SERIF: &str = "Everturn Serif";
const MONO: &str = "Everturn Mono";
const SYMBOLS: &str = "Everturn Symbols";

const EMBEDDED: &[(&str, &[u8])] = &[
    (SERIF, include_bytes!("../fonts/LibertinusSerif-Regular.otf")),
    (SERIF, include_bytes!("../fonts/LibertinusSerif-Italic.otf")),
    (SERIF, include_bytes!("../fonts/LibertinusSerif-Bold.otf")),
    (SERIF, include_bytes!("../fonts/LibertinusSerif-BoldItalic.otf")),
    (MONO, include_bytes!("../fonts/DejaVuSansMono.ttf")),
    (MONO, include_bytes!("../fonts/DejaVuSansMono-Bold.ttf")),
    (SYMBOLS, include_bytes!("../fonts/DejaVuSans.ttf")),
];

/// The fonts available for shaping, in order of preference.
pub(crate) struct FontBook {
    pub(crate) context: FontContext,
    /// The family names for each kind of type, in order of preference.
    pub(crate) serif: Vec<FontFamilyName<'static>>,
    pub(crate) mono: Vec<FontFamilyName<'static>>,
}

impl FontBook {
    /// Loads the bundled fonts and those that the caller allows.
    pub(crate) fn load(fonts: &FontSources) -> Result<Self, TypesetError> {
        let system_fonts = fonts.system;
        let mut collection = Collection::new(CollectionOptions { shared: false, system_fonts });
        for (name, data) in EMBEDDED {
            let renamed =
                FontInfoOverride { family_name: Some(name), ..FontInfoOverride::default() };
            collection.register_fonts(Blob::new(Arc::new(*data)), Some(renamed));
        }
        let mut others = Vec::new();
        for path in &fonts.paths {
            let mut found = names_in(path);
            if found.is_empty() {
                return Err(TypesetError::NoFonts { path: path.clone() });
            }
            collection.load_fonts_from_paths([path]);
            others.append(&mut found);
        }
        let order = |first: &[&'static str]| {
            let ours = first.iter().map(|name| FontFamilyName::named(name));
            let others = others.iter().map(|name| FontFamilyName::Named(name.clone().into()));
            ours.chain(others).collect()
        };
        Ok(Self {
            context: FontContext { collection, source_cache: SourceCache::default() },
            serif: order(&[SERIF, SYMBOLS, MONO]),
            mono: order(&[MONO, SYMBOLS, SERIF]),
        })
    }
}

/// Returns the family names in a directory or file, sorted to make the result deterministic.
fn names_in(path: &std::path::Path) -> Vec<String> {
    let mut own = Collection::new(CollectionOptions { shared: false, system_fonts: false });
    own.load_fonts_from_paths([path]);
    let mut names: Vec<String> = own.family_names().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// The fonts that pages refer to by number.
#[derive(Default)]
pub(crate) struct FontTable {
    fonts: Vec<KnownFont>,
}

struct KnownFont {
    blob: u64,
    index: u32,
    variation: Vec<([u8; 4], u32)>,
    /// `None` if the PDF writer cannot read the font.
    font: Option<krilla::text::Font>,
}

impl FontTable {
    /// Returns the number of the font of a run.
    pub(crate) fn font_number<B: Brush>(&mut self, run: &parley::Run<'_, B>) -> u16 {
        let font = run.font();
        let synthesis = run.synthesis();
        let settings = synthesis.variation_settings();
        let variation = || settings.iter().map(|(tag, value)| (tag.into_bytes(), value.to_bits()));
        let found = self.fonts.iter().position(|known| {
            known.blob == font.data.id()
                && known.index == font.index
                && known.variation.iter().copied().eq(variation())
        });
        let number = found.unwrap_or_else(|| {
            let coordinates: Vec<_> = settings
                .iter()
                .map(|(tag, value)| (krilla::text::Tag::new(&tag.into_bytes()), *value))
                .collect();
            let (data, blob) = font.data.clone().into_raw_parts();
            let krilla = krilla::text::Font::new_variable(data.into(), font.index, &coordinates);
            let variation = variation().collect();
            self.fonts.push(KnownFont { blob, index: font.index, variation, font: krilla });
            self.fonts.len() - 1
        });
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    /// Returns the font with a number, if the PDF writer can use it.
    pub(crate) fn font(&self, number: u16) -> Option<&krilla::text::Font> {
        self.fonts.get(usize::from(number))?.font.as_ref()
    }
}
