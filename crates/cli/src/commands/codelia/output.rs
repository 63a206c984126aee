//! `everturn codelia output`: the cached outputs of tools, by their references.

use everturn::codelia::{OutputLimits, OutputLine, ToolOutputs};
use everturn::home::HomeLayout;
use serde_json::json;

use crate::agent_homes::{AgentHome, home_of, open_if_present};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::{Output, escape_controls};

/// List, read or search cached tool outputs
///
/// A message refers to the output of its tool by a reference. `everturn run evict` removes outputs.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn codelia output list
  everturn codelia output show call_1
  everturn codelia output show call_1 --from 120 --count 40
  everturn codelia output grep call_1 error

A line of the list with --json:
  {"reference":"call_1","bytes":1234}
A line of an output with --json:
  {"line":1,"text":"…","cut":false}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: OutputCommand,
}

#[derive(Debug, clap::Args)]
struct ShownAmount {
    /// The maximum number of characters of a line
    #[arg(long, value_name = "N", default_value_t = OutputLimits::default().line_chars)]
    chars: usize,

    /// The maximum number of bytes of all lines
    #[arg(long, value_name = "N", default_value_t = OutputLimits::default().bytes)]
    bytes: usize,
}

impl ShownAmount {
    fn limits(&self) -> OutputLimits {
        OutputLimits { line_chars: self.chars, bytes: self.bytes }
    }
}

#[derive(Debug, clap::Subcommand)]
enum OutputCommand {
    /// List the outputs
    #[command(after_help = "\
Examples:
  everturn codelia output list")]
    List,
    /// Print lines of an output
    #[command(after_help = "\
Examples:
  everturn codelia output show call_1
  everturn codelia output show call_1 --from 120 --count 40")]
    Show {
        /// The reference of the output
        #[arg(value_name = "REFERENCE")]
        reference: String,

        /// The first line
        #[arg(long, value_name = "LINE", default_value_t = 1)]
        from: u64,

        /// The maximum number of lines
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        count: usize,

        #[command(flatten)]
        amount: ShownAmount,
    },
    /// Print the lines of an output that contain a text
    #[command(after_help = "\
Examples:
  everturn codelia output grep call_1 error")]
    Grep {
        /// The reference of the output
        #[arg(value_name = "REFERENCE")]
        reference: String,

        /// The text
        text: String,

        #[command(flatten)]
        amount: ShownAmount,
    },
}

/// Returns the outputs of a home; `None` if it does not exist yet.
fn outputs(home: &AgentHome) -> Result<Option<ToolOutputs>, Error> {
    let dirs = &home.dirs;
    Ok(match dirs.arrangement {
        HomeLayout::Home => open_if_present(&dirs.state_dir)?.map(ToolOutputs::in_home),
        HomeLayout::Xdg => {
            open_if_present(&dirs.cache_dir)?.map(ToolOutputs::in_cache).transpose()?
        }
    })
}

fn required(home: &AgentHome, reference: &str) -> Result<ToolOutputs, Error> {
    let missing = || {
        Error::new(Exit::Request, format!("there is no output {reference:?}"))
            .hint("everturn codelia output list")
    };
    outputs(home)?.ok_or_else(missing)
}

fn print_lines(context: &mut Context, lines: &[OutputLine]) -> Result<(), EarlyExit> {
    for OutputLine { number, text, cut } in lines {
        if context.json {
            writeln!(context.out, "{}", json!({"line": number, "text": text, "cut": cut}))?;
        } else {
            let end = if *cut { "…" } else { "" };
            writeln!(context.out, "{number}: {}{end}", escape_controls(text))?;
        }
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = home_of(context)?;
    match &args.what {
        OutputCommand::List => {
            let Some(outputs) = outputs(&home)? else { return Ok(Exit::Success) };
            for (reference, bytes) in outputs.list().map_err(Error::from)? {
                match context.json {
                    true => {
                        let line = json!({"reference": reference, "bytes": bytes});
                        writeln!(context.out, "{line}")?;
                    }
                    false => writeln!(context.out, "{reference}  {bytes} bytes")?,
                }
            }
        }
        OutputCommand::Show { reference, from, count, amount } => {
            let outputs = required(&home, reference)?;
            let lines = outputs.read(reference, *from, *count, amount.limits());
            print_lines(context, &lines.map_err(Error::from)?)?;
        }
        OutputCommand::Grep { reference, text, amount } => {
            let outputs = required(&home, reference)?;
            let lines = outputs.grep(reference, text, amount.limits()).map_err(Error::from)?;
            if lines.is_empty() {
                Output::status("no line contains the text");
            }
            print_lines(context, &lines)?;
        }
    }
    Ok(Exit::Success)
}
