//! Converts errors of games to errors for the user.

use everturn::game::GameError;

use crate::context::next_command;
use crate::error::Error;
use crate::exit::Exit;

impl From<GameError> for Error {
    fn from(error: GameError) -> Error {
        match error {
            GameError::Store(error) => error.into(),
            GameError::Name(error) => error.into(),
            GameError::Damaged { .. } => Error::new(Exit::Damaged, error.to_string())
                .hint(format!("find the damage with: {}", next_command("check"))),
            other => Error::new(Exit::Request, other.to_string()),
        }
    }
}
