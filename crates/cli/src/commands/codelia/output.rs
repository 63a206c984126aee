//! `everturn codelia output`: the cached outputs of tools, by their references.

use std::sync::Arc;

use everturn::codelia::{OutputLimits, OutputLine, ToolOutputs};
use everturn::config::Config;
use serde_json::{Value, json};

use crate::agent_homes::{AgentHome, home_of};
use crate::codelia::{cached_outputs, outputs_of};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, escape_controls};

/// List, read, search or add cached tool outputs
///
/// A message refers to the output of its tool by a reference. `everturn run evict` removes outputs.
/// The limits are also set by CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH, ..._MAX_READ_BYTES and
/// ..._MAX_GREP_BYTES, and by `tool_output_cache` in the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn codelia output list
  everturn codelia output show call_1
  everturn codelia output show call_1 --from 120 --count 40
  everturn codelia output grep call_1 error
  everturn codelia output add call_2 < listing.txt

A line of the list with --json:
  {"reference":"call_1","bytes":1234}
A line of an output with --json:
  {"line":1,"text":"…","cut":false}
Output of `add` with --json:
  {"reference":"call_2"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: OutputCommand,
}

#[derive(Debug, clap::Args)]
struct ShownAmount {
    /// The maximum number of characters of a line [default: 1000]
    #[arg(long, value_name = "N")]
    chars: Option<usize>,

    /// The maximum number of bytes of all lines [default: 65536]
    #[arg(long, value_name = "N")]
    bytes: Option<usize>,
}

/// Returns a limit from a variable or a setting. Anything but a positive number is ignored, as by Codelia.
fn configured(config: &Config, key: &str) -> Option<usize> {
    let value = config.get(&format!("tool_output_cache.{key}"))?;
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64().and_then(|number| usize::try_from(number).ok()),
    };
    number.filter(|number| *number > 0)
}

impl ShownAmount {
    /// Returns the limits: an option takes precedence over the variable, and that over the setting.
    fn limits(&self, home: &AgentHome, bytes: &str) -> Result<OutputLimits, Error> {
        let config = home.config(&[])?;
        let default = OutputLimits::default();
        let line_chars = self.chars.or_else(|| configured(&config, "max_line_length"));
        let bytes = self.bytes.or_else(|| configured(&config, bytes));
        Ok(OutputLimits {
            line_chars: line_chars.unwrap_or(default.line_chars),
            bytes: bytes.unwrap_or(default.bytes),
        })
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
    /// Store the output of a call, from stdin, and print its reference
    #[command(after_help = "\
Examples:
  everturn codelia output add call_2 < listing.txt")]
    Add {
        /// The ID of the call
        #[arg(value_name = "CALL")]
        call: String,
    },
}

fn required(home: &AgentHome, reference: &str) -> Result<ToolOutputs, Error> {
    let missing = || {
        Error::new(Exit::Request, format!("there is no output {reference:?}"))
            .hint("everturn codelia output list")
    };
    cached_outputs(home)?.ok_or_else(missing)
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
            let Some(outputs) = cached_outputs(&home)? else { return Ok(Exit::Success) };
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
            let limits = amount.limits(&home, "max_read_bytes")?;
            let lines = outputs.read(reference, *from, *count, limits);
            print_lines(context, &lines.map_err(Error::from)?)?;
        }
        OutputCommand::Grep { reference, text, amount } => {
            let outputs = required(&home, reference)?;
            let limits = amount.limits(&home, "max_grep_bytes")?;
            let lines = outputs.grep(reference, text, limits).map_err(Error::from)?;
            if lines.is_empty() {
                Output::status("no line contains the text");
            }
            print_lines(context, &lines)?;
        }
        OutputCommand::Add { call } => {
            let text = input::optional_text()?;
            let (store, is_cache) = home.cache_store()?;
            let outputs = outputs_of(Arc::clone(&store), is_cache)?;
            let reference = outputs.put(call, &text).map_err(Error::from)?;
            drop(outputs);
            store.checkpoint().map_err(Error::from)?;
            match context.json {
                true => writeln!(context.out, "{}", json!({"reference": reference}))?,
                false => writeln!(context.out, "{reference}")?,
            }
        }
    }
    Ok(Exit::Success)
}
