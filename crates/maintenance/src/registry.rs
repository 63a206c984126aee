//! The layouts there are, each on one line.

use everturn_session::layout::Layout;

/// Every layout that is compiled in.
pub static ALL: &[&dyn Layout] = &[
    #[cfg(feature = "game")]
    &everturn_game::GameLayout,
    #[cfg(feature = "campaign")]
    &everturn_campaign::CampaignLayout,
    #[cfg(feature = "agents")]
    &everturn_codelia::CodeliaLayout,
    #[cfg(feature = "agents")]
    &everturn_linggen::LinggenLayout,
    #[cfg(feature = "chat")]
    &everturn_chatlog::ChatLayout,
];

/// The layouts of other programs, whose sessions are only ever read.
#[cfg(feature = "external")]
pub static FOREIGN: &[&dyn Layout] = everturn_external::LAYOUTS;

/// The layouts of other programs: the feature `external` has them.
#[cfg(not(feature = "external"))]
pub static FOREIGN: &[&dyn Layout] = &[];

/// The layout of that name, Everturn's own or foreign.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Layout> {
    ALL.iter().chain(FOREIGN).copied().find(|layout| layout.name() == name)
}
