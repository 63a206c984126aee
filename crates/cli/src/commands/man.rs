//! `everturn man`: prints the manual pages, made from the same text as `--help`.

use std::io;

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};

use super::Context;
use crate::args::Arguments;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;

/// Print a manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  everturn man | man -l -
  everturn man completions > everturn-completions.1")]
pub(crate) struct Args {
    /// The command to describe; without it, everturn itself
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let mut everturn = Arguments::command();
    everturn.build();
    let command = args.path.iter().try_fold(&everturn, |command, name| {
        command.find_subcommand(name).ok_or_else(|| unknown_command(command, name))
    })?;
    let mut page = Vec::new();
    render(command.clone(), &mut page).map_err(|cause| {
        Error::new(Exit::Internal, "cannot render the manual page").caused_by(cause)
    })?;
    context.out.write_own(&page)?;
    Ok(Exit::Success)
}

fn unknown_command(parent: &Command, name: &str) -> Error {
    let parent = parent.get_bin_name().unwrap_or("everturn");
    Error::new(Exit::Request, format!("{parent} has no command {name:?}"))
        .hint(format!("{parent} --help"))
}

fn render(command: Command, page: &mut Vec<u8>) -> io::Result<()> {
    let closing = command.get_after_long_help().or(command.get_after_help()).cloned();
    let command = command.after_help(Resettable::Reset).after_long_help(Resettable::Reset);
    clap_mangen::Man::new(command)
        .source(concat!("everturn ", env!("CARGO_PKG_VERSION")))
        .manual("Everturn Manual")
        .render(page)?;
    closing.map_or(Ok(()), |text| closing_sections(&text.to_string()).to_writer(page))
}

/// Turns the text below the options into sections of their own; the generator would join its lines under one heading
/// "EXTRA".
fn closing_sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for line in text.lines() {
        match line.strip_suffix(':').filter(|heading| !heading.starts_with(' ')) {
            Some(heading) => {
                roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", [])
            }
            None if line.is_empty() => roff.control("fi", []),
            None => roff.text([roman(line.trim_start())]),
        };
    }
    roff.control("fi", []);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_closing_section_has_a_heading_and_keeps_its_lines_apart() {
        assert_eq!(
            closing_sections("Examples:\n  a\n  b:\n\nExit status:\n  0  c").to_roff(),
            ".SH EXAMPLES\n.nf\na\nb:\n.fi\n.SH \"EXIT STATUS\"\n.nf\n0  c\n.fi\n"
        );
    }
}
