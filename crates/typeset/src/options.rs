//! Options of the caller: [`PaperSize`] and [`FontSources`].

use std::path::PathBuf;

/// Options of a book. The default is A5 with the bundled fonts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The paper size.
    pub paper: PaperSize,
    /// Fonts in addition to the bundled ones.
    pub fonts: FontSources,
}

/// The paper size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaperSize {
    /// 148 by 210 millimetres, a small book. Two pages fit on a sheet of A4.
    #[default]
    A5,
    /// 210 by 297 millimetres.
    A4,
    /// 8½ by 11 inches.
    Letter,
}

/// Fonts in addition to the bundled ones, which cover Latin, Greek, Cyrillic, Hebrew, Arabic, Armenian, Georgian and
/// many symbols. They are used for characters that the bundled fonts lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FontSources {
    /// Whether to use system fonts. The pages then depend on the machine.
    pub system: bool,
    /// Font directories and font files, in order of preference.
    pub paths: Vec<PathBuf>,
}
