//! The narrator of a campaign: the embedded one, or a model behind any `chat/completions` endpoint.
//!
//! `arguments, environment -> NarratorArgs -> a Narrator`

mod answer;
mod client;
mod config;
mod endpoint;
mod key;
mod memory;
mod partial;
mod prompt;
mod reasoning;
#[cfg(test)]
mod tests;

use everturn::campaign::{EmbeddedNarrator, Narrator};

use crate::error::Error;
use config::{EndpointConfig, NarratorKind};
use endpoint::{Endpoint, RetryPolicy};

pub(crate) use config::NarratorArgs;

/// An event while an answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NarrationEvent<'a> {
    /// More text. Control characters are already escaped.
    Text(&'a str),
    /// Discard the text shown so far; the answer starts again.
    Again,
    /// A remark for the player, such as that the endpoint is busy.
    Remark(&'a str),
}

/// Receives events while an answer arrives.
pub(crate) type NarrationListener = Box<dyn FnMut(NarrationEvent<'_>)>;

impl NarratorArgs {
    /// Returns the selected narrator; by default the embedded one, whose choices follow from `seed`.
    ///
    /// `listener` receives the text of an answer as it arrives: the concatenation of [`NarrationEvent::Text`] since
    /// the last [`NarrationEvent::Again`] is the text of the final answer. The embedded narrator answers at once, and
    /// sends no events.
    pub(crate) fn build(
        &self,
        seed: u64,
        listener: NarrationListener,
    ) -> Result<Box<dyn Narrator>, Error> {
        Ok(match self.embedded(seed) {
            Some(embedded) => Box::new(embedded),
            None => {
                Box::new(Endpoint::new(EndpointConfig::of(self)?, listener, RetryPolicy::default()))
            }
        })
    }

    /// Returns the embedded narrator, if it is selected.
    pub(crate) fn embedded(&self, seed: u64) -> Option<EmbeddedNarrator> {
        match self.narrator.unwrap_or(NarratorKind::Embedded) {
            NarratorKind::Embedded => Some(EmbeddedNarrator::new(seed)),
            NarratorKind::Openai => None,
        }
    }
}
