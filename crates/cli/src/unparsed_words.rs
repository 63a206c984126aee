//! Reads options from words that are not parsed yet.

use std::ffi::OsString;

use clap::{ColorChoice, ValueEnum};

/// Returns the last `--color` among `words`, as far as it is known before parsing: help and usage errors are printed
/// before the parsed value exists.
pub(crate) fn early_colour(words: &[OsString]) -> ColorChoice {
    let words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let asked =
        values(words, "--color").filter_map(|value| ColorChoice::from_str(value, false).ok());
    asked.last().unwrap_or(ColorChoice::Auto)
}

/// Returns whether `--json` is among `words`, before they are parsed.
pub(crate) fn early_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Returns the values of an option among unparsed words.
pub(crate) fn values<'w>(
    mut words: impl Iterator<Item = &'w str>,
    option: &str,
) -> impl Iterator<Item = &'w str> {
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            match word.split_once('=') {
                Some((name, value)) if name == option => return Some(value),
                None if word == option => return words.next(),
                _ => {}
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, expect: ColorChoice) {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        assert_eq!(early_colour(&words), expect, "{words:?}");
    }

    #[test]
    fn the_colour_is_known_before_the_rest_is_understood() {
        check("everturn --help", ColorChoice::Auto);
        check("everturn --color never --help", ColorChoice::Never);
        check("everturn --what --color=always", ColorChoice::Always);
        check("everturn --color always man --color never", ColorChoice::Never);
        check("everturn --color", ColorChoice::Auto);
        check("everturn --color purple", ColorChoice::Auto);
        check("everturn -- --color never", ColorChoice::Auto);
    }
}
