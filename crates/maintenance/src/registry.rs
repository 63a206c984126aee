//! The layouts there are, each on one line.

use everturn_session::format::SessionFormat;

/// Every layout that is compiled in.
pub static ALL: &[&dyn SessionFormat] = &[
    #[cfg(feature = "game")]
    &everturn_game::GameFormat,
    #[cfg(feature = "campaign")]
    &everturn_campaign::CampaignFormat,
    #[cfg(feature = "agents")]
    &everturn_codelia::CodeliaFormat,
    #[cfg(feature = "agents")]
    &everturn_linggen::LinggenFormat,
    #[cfg(feature = "chat")]
    &everturn_chatlog::ChatFormat,
];

/// The layouts of other programs, whose sessions are only ever read.
#[cfg(feature = "external")]
pub static EXTERNAL: &[&dyn SessionFormat] = everturn_external::FORMATS;

/// The layouts of other programs: the feature `external` has them.
#[cfg(not(feature = "external"))]
pub static EXTERNAL: &[&dyn SessionFormat] = &[];

/// The layout of that name, Everturn's own or foreign.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn SessionFormat> {
    ALL.iter().chain(EXTERNAL).copied().find(|layout| layout.name() == name)
}
