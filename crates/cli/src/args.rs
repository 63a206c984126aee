//! The command line: the global options and the command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, ValueEnum};
use everturn::format;

use crate::commands::{Command, GROUPS};
use crate::exit;

const EXAMPLES: &str = "\
Examples:
  everturn new game --name Vex
  everturn show latest
  everturn help append";

/// Keep, check and repair AI sessions on disk
///
/// Everturn stores every turn of an AI session or an AI-run game in plain JSON and JSONL files.
/// Writes are atomic: after a crash or a power cut, a turn is stored completely or not at all.
#[derive(Debug, Parser)]
#[command(
    name = "everturn",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{}", exit::table()),
    subcommand_value_name = "COMMAND",
    max_term_width = 100,
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    /// The directory that holds the sessions
    #[arg(long, global = true, value_name = "DIR", env = "EVERTURN_ROOT", hide_env_values = true)]
    pub(crate) root: Option<PathBuf>,

    /// Only use sessions of this format
    #[arg(long, global = true, value_name = "NAME", value_parser = all_layouts())]
    pub(crate) layout: Option<String>,

    /// Print data as JSON: one document, or one per line for streams
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colour; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

impl Arguments {
    /// Parses the words of a command line. The error may also be the output of `--help` or `--version`.
    pub(crate) fn parse_words(words: &[OsString]) -> Result<Arguments, clap::Error> {
        let mut command = grouped_command();
        let mut matches = command.try_get_matches_from_mut(words)?;
        Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }
}

/// Returns the command line, with the commands of `--help` in groups.
fn grouped_command() -> clap::Command {
    let command = Arguments::command();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let shown =
        |name: &&&str| command.find_subcommand(name).is_some_and(|found| !found.is_hide_set());
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        groups.push_str(&format!("{header}{heading}:{header:#}\n"));
        for name in names.iter().filter(shown) {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            groups.push_str(&format!("  {literal}{name:<12}{literal:#} {about}\n"));
        }
        groups.push('\n');
    }
    // `help` is added by clap itself, when the command is built.
    groups.insert_str(
        groups.len() - 1,
        &format!("  {literal}{:<12}{literal:#} Print the help of a command\n", "help"),
    );
    let options = format!("{header}Options:{header:#}\n{{options}}");
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{after-help}}"
    ))
}

/// The names of all formats, including those of other programs, as values of an option or argument.
pub(crate) fn all_layouts() -> PossibleValuesParser {
    let all = format::ALL.iter().chain(format::EXTERNAL);
    PossibleValuesParser::new(all.map(|layout| layout.name()))
}

/// The names of the writable formats, as values of an option or argument.
pub(crate) fn layouts() -> PossibleValuesParser {
    PossibleValuesParser::new(format::ALL.iter().map(|layout| layout.name()))
}

/// Returns the last `--color` among `words`, as far as it is known before parsing: help and usage errors are printed
/// before the parsed value exists.
pub(crate) fn early_colour(words: &[OsString]) -> ColorChoice {
    let words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let asked =
        values(words, "--color").filter_map(|value| ColorChoice::from_str(value, false).ok());
    asked.last().unwrap_or(ColorChoice::Auto)
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

    #[test]
    fn the_declaration_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    fn check(words: &str, expect: ColorChoice) {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        assert_eq!(early_colour(&words), expect, "{words:?}");
    }

    #[test]
    fn global_options_mean_the_same_before_and_after_the_command() {
        for words in ["--root a --json man x", "--json man x --root a", "man --root=a x --json"] {
            let words = std::iter::once("everturn").chain(words.split(' '));
            let GlobalOptions { root, json, .. } =
                Arguments::try_parse_from(words).unwrap().globals;
            assert_eq!((root, json), (Some(PathBuf::from("a")), true));
        }
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
