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

use everturn::campaign::{Embedded, Narrator};

use crate::error::Error;
use config::{Config, Who};
use endpoint::{Endpoint, Pace};

pub(crate) use config::NarratorArgs;

/// What is known of an answer while it is being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// More of the text. Control characters are escaped already.
    Text(&'a str),
    /// What was shown of the text so far does not count; it is told again.
    Again,
    /// Something that the player should know, such as that the endpoint is busy.
    Remark(&'a str),
}

/// Is told of an answer while it arrives.
pub(crate) type Listener = Box<dyn FnMut(Shown<'_>)>;

impl NarratorArgs {
    /// The narrator that was chosen; the embedded one, whose choices follow from `seed`, if none was.
    ///
    /// `listener` hears the text of an answer as it arrives: all of [`Shown::Text`] since the last
    /// [`Shown::Again`] is the text of the answer that counts. The embedded narrator answers at once, and tells
    /// the listener nothing.
    pub(crate) fn build(&self, seed: u64, listener: Listener) -> Result<Box<dyn Narrator>, Error> {
        Ok(match self.embedded(seed) {
            Some(embedded) => Box::new(embedded),
            None => Box::new(Endpoint::new(Config::of(self)?, listener, Pace::default())),
        })
    }

    /// The embedded narrator, if it is the one that was chosen.
    pub(crate) fn embedded(&self, seed: u64) -> Option<Embedded> {
        match self.narrator.unwrap_or(Who::Embedded) {
            Who::Embedded => Some(Embedded::new(seed)),
            Who::Openai => None,
        }
    }
}
