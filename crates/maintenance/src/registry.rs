//! The registry of formats: [`ALL`], [`EXTERNAL`] and [`find`].

use everturn_session::format::{CheckedFormat, SessionFormat};

/// Everturn's own formats that are compiled in.
pub static ALL: &[&dyn SessionFormat] = &[
    #[cfg(feature = "game")]
    &everturn_game::GameFormat,
    #[cfg(feature = "campaign")]
    &everturn_campaign::CampaignFormat,
    #[cfg(feature = "agents")]
    &everturn_codelia::CodeliaFormat,
    #[cfg(feature = "agents")]
    &everturn_linggen::LinggenFormat,
    #[cfg(feature = "agents")]
    &everturn_thread::ThreadFormat,
    #[cfg(feature = "chat")]
    &everturn_chatlog::ChatFormat,
];

/// The formats of other programs, whose sessions are read only.
#[cfg(feature = "external")]
pub static EXTERNAL: &[&dyn SessionFormat] = everturn_external::FORMATS;

/// The formats of other programs: none without the feature `external`.
#[cfg(not(feature = "external"))]
pub static EXTERNAL: &[&dyn SessionFormat] = &[];

/// The format of that name, Everturn's own or of another program.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn SessionFormat> {
    ALL.iter().chain(EXTERNAL).copied().find(|layout| layout.name() == name)
}

/// The checks of all formats, Everturn's own first.
pub(crate) fn checked_formats() -> impl Iterator<Item = &'static dyn CheckedFormat> {
    #[cfg(feature = "external")]
    let external = Some(everturn_external::CHECKED);
    #[cfg(not(feature = "external"))]
    let external = None;
    ALL.iter().filter_map(|format| format.capabilities().checked).chain(external)
}
