//! Who tells the story of a campaign: the embedded narrator, or a model behind any `chat/completions` endpoint.
//!
//! `arguments, environment -> NarratorArgs -> a Narrator`

mod answer;
mod client;
mod config;
mod endpoint;
mod key;
mod partial;
mod prompt;
#[cfg(test)]
mod tests;

use everturn::campaign::{EmbeddedNarrator, Narrator};

use crate::error::Error;
use config::{EndpointConfig, NarratorKind};
use endpoint::{Endpoint, RetryPolicy};

pub(crate) use config::NarratorArgs;

/// What is known of an answer while it is being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NarrationEvent<'a> {
    /// More of the text. Control characters are escaped already.
    Text(&'a str),
    /// What was shown of the text so far does not count; it is told again.
    Again,
    /// Something that the player should know, such as that the endpoint is busy.
    Remark(&'a str),
}

/// Is told of an answer while it arrives.
pub(crate) type NarrationListener = Box<dyn FnMut(NarrationEvent<'_>)>;

impl NarratorArgs {
    /// The narrator that was chosen; the embedded one, whose choices follow from `seed`, if none was.
    ///
    /// `listener` hears the text of an answer as it arrives: all of [`NarrationEvent::Text`] since the last
    /// [`NarrationEvent::Again`] is the text of the answer that counts. The embedded narrator answers at once, and tells
    /// the listener nothing.
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

    /// The embedded narrator, if it is the one that was chosen.
    pub(crate) fn embedded(&self, seed: u64) -> Option<EmbeddedNarrator> {
        match self.narrator.unwrap_or(NarratorKind::Embedded) {
            NarratorKind::Embedded => Some(EmbeddedNarrator::new(seed)),
            NarratorKind::Openai => None,
        }
    }
}
