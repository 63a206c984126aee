//! Completes commands and names at the prompt: [`PlayCompleter`].

use rustyline::Context;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;

use super::player_input::COMMANDS;

/// Completes what the player types.
#[derive(Debug, Default)]
pub(super) struct PlayCompleter {
    /// The names that the player knows.
    pub(super) names: Vec<String>,
}

impl PlayCompleter {
    /// Returns where the completed part starts, and what it can become.
    fn candidates(&self, typed: &str) -> (usize, Vec<String>) {
        if let Some(command) = typed.strip_prefix('/')
            && !command.contains(char::is_whitespace)
        {
            let known = COMMANDS.iter().filter(|known| known.name.starts_with(command));
            return (0, known.map(|known| format!("/{} ", known.name)).collect());
        }
        let starts = typed.char_indices().filter(|(at, _)| {
            let before = typed.get(..*at).unwrap_or_default();
            before.is_empty() || before.ends_with(char::is_whitespace)
        });
        let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
        let lower = |text: &str| text.to_lowercase();
        // "go to the heron me" is completed to the longest part that begins a name.
        for start in &starts {
            let part = lower(typed.get(*start..).unwrap_or_default());
            let found = self.matching(|name| !part.is_empty() && lower(name).starts_with(&part));
            if !found.is_empty() {
                return (*start, found);
            }
        }
        let Some(start) = starts.last() else { return (typed.len(), Vec::new()) };
        let part = lower(typed.get(*start..).unwrap_or_default());
        let begins = |name: &str| lower(name).split(' ').any(|word| word.starts_with(&part));
        (*start, self.matching(|name| !part.is_empty() && begins(name)))
    }

    fn matching(&self, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found: Vec<String> = self.names.iter().filter(|name| fits(name)).cloned().collect();
        found.sort();
        found.dedup();
        found
    }
}

impl Completer for PlayCompleter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for PlayCompleter {
    type Hint = String;
}

impl Highlighter for PlayCompleter {}
impl Validator for PlayCompleter {}
impl rustyline::Helper for PlayCompleter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_names_are_completed() {
        let names = ["Heron Meadow", "Heron Hall", "Petra", "length of net"];
        let completer = PlayCompleter { names: names.map(str::to_owned).to_vec() };
        for (typed, start, expect) in [
            ("/ma", 0, vec!["/map ", "/mark ", "/marks "]),
            ("/inv", 0, vec!["/inventory "]),
            ("/sheet pe", 7, vec!["Petra"]),
            ("talk to p", 8, vec!["Petra"]),
            ("go to the heron m", 10, vec!["Heron Meadow"]),
            ("go to the her", 10, vec!["Heron Hall", "Heron Meadow"]),
            ("take ne", 5, vec!["length of net"]),
            ("xyz", 0, vec![]),
            ("talk to ", 5, vec![]),
            ("", 0, vec![]),
        ] {
            let (at, found) = completer.candidates(typed);
            assert_eq!(
                (at.min(typed.len()), found),
                (start, expect.into_iter().map(str::to_owned).collect()),
                "{typed}"
            );
        }
    }
}
