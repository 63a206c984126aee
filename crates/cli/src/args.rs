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

const ABOUT: &str = "\
Keep, check and repair AI sessions on disk

Everturn stores every turn of an AI session or an AI-run game in plain JSON and
JSONL files. After a crash or a power cut, a turn is complete or absent.";

/// Keep, check and repair AI sessions on disk
#[derive(Debug, Parser)]
#[command(
    name = "everturn",
    version,
    long_about = ABOUT,
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

/// Returns the name of the command in a module. The module of a command named like a keyword begins with `r#`.
fn command_name<'n>(module: &&'n str) -> &'n str {
    module.strip_prefix("r#").unwrap_or(module)
}

/// Returns the command line, with the commands of `--help` in groups.
fn grouped_command() -> clap::Command {
    let command = Arguments::command();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let shown =
        |name: &&str| command.find_subcommand(name).is_some_and(|found| !found.is_hide_set());
    let mut groups = String::new();
    for (heading, modules) in GROUPS {
        groups.push_str(&format!("{header}{heading}:{header:#}\n"));
        for name in modules.iter().map(command_name).filter(shown) {
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
    let options = option_lines(&command);
    let closing = format!("{EXAMPLES}\n\n{}", exit::summary());
    command.after_long_help(closing).help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{after-help}}"
    ))
}

/// Returns the global options, one per line. The help of a command lists their values.
fn option_lines(command: &clap::Command) -> String {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut lines = format!("{header}Options:{header:#}\n");
    for argument in command.get_arguments() {
        let Some(long) = argument.get_long() else { continue };
        let takes_value = argument.get_action().takes_values();
        let value = argument.get_value_names().and_then(<[_]>::first).filter(|_| takes_value);
        let value = value.map(|value| format!(" {value}")).unwrap_or_default();
        let about = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let about = about.split([':', ';']).next().unwrap_or_default();
        let name = format!("--{long}{value}");
        lines.push_str(&format!("      {literal}{name:<15}{literal:#} {about}\n"));
    }
    let (help, version) = ("-h, --help", "-V, --version");
    lines.push_str(&format!("  {literal}{help:<19}{literal:#} Print help\n"));
    lines.push_str(&format!("  {literal}{version:<19}{literal:#} Print the version\n"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_fits_on_two_screens() {
        let words = ["everturn", "--help"].map(OsString::from);
        let shown = Arguments::parse_words(&words).unwrap_err().to_string();
        let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
        let lines = shown.lines().count();
        assert!(lines <= 2 * 50, "{lines} lines\n{shown}");
    }

    #[test]
    fn every_command_is_in_the_help_or_an_old_spelling() {
        let command = Arguments::command();
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, modules)| modules.iter().map(command_name)).collect();
        for subcommand in command.get_subcommands() {
            assert!(grouped.contains(&subcommand.get_name()), "{}", subcommand.get_name());
        }
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
