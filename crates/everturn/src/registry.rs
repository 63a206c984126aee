//! The layouts there are, each on one line.

use crate::layout::Layout;

/// Every layout there is.
pub static ALL: &[&dyn Layout] = &[
    &crate::game::GameLayout,
    &crate::campaign::CampaignLayout,
    &crate::codelia::CodeliaLayout,
    &crate::linggen::LinggenLayout,
    &crate::chatlog::ChatLayout,
];

/// The layouts of other programs, whose sessions are only ever read.
pub static FOREIGN: &[&dyn Layout] = crate::foreign::LAYOUTS;

/// The layout of that name, Everturn's own or foreign.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Layout> {
    ALL.iter().chain(FOREIGN).copied().find(|layout| layout.name() == name)
}
