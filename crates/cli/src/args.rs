//! The command line: the global options and the command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};

use crate::commands::{Command, GROUPS};
use crate::exit;
use crate::format_names::all_layouts;

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

    /// Whether the root was given as an option. The variable only says where Everturn's own sessions are.
    #[arg(skip)]
    pub(crate) is_root_named: bool,

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
        let mut matches = command.try_get_matches_from_mut(help_words(words))?;
        let is_named = matches.value_source("root") == Some(ValueSource::CommandLine);
        let parsed = Arguments::from_arg_matches_mut(&mut matches);
        let mut parsed = parsed.map_err(|error| error.format(&mut command))?;
        parsed.globals.is_root_named = is_named;
        Ok(parsed)
    }
}

/// Returns the words without `--help` after `help`, which clap does not accept there.
fn help_words(words: &[OsString]) -> Vec<&OsString> {
    let is_help = words.get(1).is_some_and(|word| word == "help");
    words.iter().filter(|word| !is_help || (*word != "--help" && *word != "-h")).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_has_help() {
        let words = ["everturn", "help", "--help"].map(OsString::from);
        let shown = Arguments::parse_words(&words).unwrap_err();
        assert_eq!(shown.kind(), clap::error::ErrorKind::DisplayHelp);
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
}
