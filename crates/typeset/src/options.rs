//! What the caller decides: the size of the page, and where fonts may come from.

use std::path::PathBuf;

/// How a book is made. The default is a small book in the fonts that are part of this crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The size of the page.
    pub paper: PaperSize,
    /// Fonts besides the ones that are part of this crate.
    pub fonts: FontSources,
}

/// The size of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaperSize {
    /// 148 by 210 millimetres, a small book. Two pages of it fit on a sheet of A4.
    #[default]
    A5,
    /// 210 by 297 millimetres.
    A4,
    /// 8½ by 11 inches.
    Letter,
}

/// Fonts besides the ones that are part of this crate, which have Latin, Greek and Cyrillic letters,
/// Hebrew, Arabic, Armenian, Georgian and many symbols. The others are for what these do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FontSources {
    /// Whether to look for fonts where the system keeps them. The pages then depend on the machine.
    pub system: bool,
    /// Directories of fonts, and files of fonts, in the order in which they are asked.
    pub paths: Vec<PathBuf>,
}
