//! `everturn commit`: commits a batch to the store, for programs in any language.

use std::io::{self, BufRead};

use everturn::names::FilePath;
use everturn::store::{AppendAt, CommitReceipt, Durability, FileMode, Precondition, Step};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::{recovered, store_errors};

/// Change files in atomic batches
///
/// Reads one batch per line and prints one line for each, as soon as the batch is durable. While it
/// runs, it is the only writer of the scopes. It ends at the end of the input or at the first batch
/// that fails. A failed batch has changed nothing, unless the error says that the outcome is
/// unknown.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn commit --root game sessions/one < batches.jsonl

A batch:
  {"steps":[
    {"append":{"file":"sessions/one/turns.jsonl","lines":[{"turn":1}]}},
    {"replace":{"file":"sessions/one/state.json","text":"{}"}},
    {"rename":{"from":"sessions/one/a","to":"sessions/one/b"}},
    {"remove":{"path":"sessions/one/old.json"}}]}
  all on one line. "append" also takes "at" (the offset at which the file must
  end), and "replace" also takes "private" (readable by the owner only) and
  "new" (the file must not exist).

Output:
  {"line":1,"appended":[0],"findings":[]}"#)]
pub(crate) struct Args {
    /// The scopes to lock: directories or files below the root
    #[arg(required = true, value_name = "SCOPE")]
    scopes: Vec<String>,

    /// Acknowledge batches without flushing: they survive a crash of the program, not a power cut
    #[arg(long, alias = "written")]
    buffered: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchText {
    steps: Vec<StepText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum StepText {
    Append {
        file: String,
        lines: Vec<Box<RawValue>>,
        #[serde(default)]
        at: Option<u64>,
    },
    Replace {
        file: String,
        text: String,
        #[serde(default)]
        private: bool,
        #[serde(default)]
        new: bool,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
}

impl StepText {
    fn parse(self) -> Result<Step, Error> {
        Ok(match self {
            StepText::Append { file, lines, at } => {
                let mut bytes = Vec::new();
                for line in lines {
                    bytes.extend_from_slice(line.get().as_bytes());
                    bytes.push(b'\n');
                }
                let at = at.map_or(AppendAt::End, AppendAt::Offset);
                Step::Append { file: FilePath::parse(&file)?, at, lines: bytes }
            }
            StepText::Replace { file, text, private, new } => Step::Replace {
                file: FilePath::parse(&file)?,
                expect: if new { Precondition::Absent } else { Precondition::Anything },
                bytes: text.into_bytes(),
                mode: if private { FileMode::OwnerOnly } else { FileMode::Default },
            },
            StepText::Rename { from, to } => {
                Step::Rename { from: FilePath::parse(&from)?, to: FilePath::parse(&to)? }
            }
            StepText::Remove { path } => Step::Remove { path: FilePath::parse(&path)? },
        })
    }
}

fn read_batch(line: &str, number: u64) -> Result<Vec<Step>, Error> {
    let bad = |cause| {
        Error::new(Exit::Request, format!("line {number} of the input is not a batch"))
            .caused_by(cause)
            .hint("everturn commit --help")
    };
    let batch: BatchText = serde_json::from_str(line).map_err(bad)?;
    batch.steps.into_iter().map(StepText::parse).collect()
}

fn answer(number: u64, receipt: &CommitReceipt) -> String {
    let findings: Vec<String> = receipt.findings.iter().map(ToString::to_string).collect();
    json!({"line": number, "appended": receipt.appended, "findings": findings}).to_string()
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let scopes: Result<Vec<FilePath>, _> =
        args.scopes.iter().map(|scope| FilePath::parse(scope)).collect();
    let scopes = scopes.map_err(Error::from)?;
    let store = store_errors::open_store(&context.root_dir()?)?;
    let writer = store.lock(&scopes).map_err(Error::from)?;
    // Findings of recovery are known only now.
    recovered::report();
    let durability = if args.buffered { Durability::Buffered } else { Durability::Synced };
    let mut number = 0;
    for line in io::stdin().lock().lines() {
        number += 1;
        let failed = |cause| Error::new(Exit::Request, "cannot read the input").caused_by(cause);
        let line = line.map_err(failed)?;
        if line.trim().is_empty() {
            continue;
        }
        let steps = read_batch(&line, number)?;
        let refused =
            |cause| Error::from(cause).saying(format!("line {number} of the input failed"));
        let receipt = writer.commit(steps, durability).map_err(refused)?;
        writeln!(context.out, "{}", answer(number, &receipt))?;
        // The output acknowledges a durable commit, so it must not stay in a buffer.
        context.out.flush()?;
    }
    writer.release().map_err(Error::from)?;
    store.checkpoint().map_err(Error::from)?;
    Ok(Exit::Success)
}
