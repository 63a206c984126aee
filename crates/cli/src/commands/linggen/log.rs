//! `everturn linggen log`: the daily logs, and how long they are kept.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use everturn::linggen::{LOG_DAYS, append_log, logs, plan_expired_logs, remove_expired_logs};
use everturn::names::FilePath;
use everturn::store::Store;
use serde_json::json;

use crate::context::{Context, next_command};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::{
    open_home, open_home_if_present, open_home_to_change, open_home_to_write, retry_linggen,
};
use crate::output::{Output, count_noun, escape_controls};
use crate::{input, settings};

/// The time between two looks at a log that is followed.
const FOLLOW_PAUSE: Duration = Duration::from_millis(200);

/// List, show and expire the daily logs
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen log list
  everturn linggen log show 2026-01-01
  everturn linggen log expire --days 7 --yes

A line of the list with --json:
  {"date":"2026-01-01","path":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: LogCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LogCommand {
    /// List the logs, oldest first
    #[command(after_help = "\
Examples:
  everturn linggen log list")]
    List,
    /// Print the log of a day, without terminal colours
    #[command(after_help = "\
Examples:
  everturn linggen log show
  everturn linggen log show 2026-01-01
  everturn linggen log show --follow")]
    Show {
        /// The day; default: the newest log
        #[arg(value_name = "DATE")]
        date: Option<String>,

        /// Keep printing what is added, also to the log of the next day
        #[arg(long, conflicts_with = "date")]
        follow: bool,
    },
    /// Append the lines on stdin to the log of today (UTC)
    #[command(after_help = "\
Examples:
  everturn linggen log add < lines.txt")]
    Add,
    /// List the logs that are older than some days, and move them to the trash with --yes
    #[command(after_help = "\
Examples:
  everturn linggen log expire
  everturn linggen log expire --days 30 --yes")]
    Expire {
        /// The number of days to keep, today included
        #[arg(long, value_name = "N", default_value_t = LOG_DAYS)]
        days: u16,

        /// Move the listed logs
        #[arg(long)]
        yes: bool,
    },
}

/// Returns a text without the sequences that colour it on a terminal.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|letter: char| letter.is_ascii_alphabetic());
        rest = end.and_then(|end| after.get(end + 1..)).unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

fn show(context: &mut Context, date: Option<&str>) -> Result<(), EarlyExit> {
    let root = open_home(context)?;
    let all = logs(&root.store()).map_err(Error::from)?;
    let is_meant =
        |name: &everturn::linggen::LogName| date.is_none_or(|date| name.date.to_string() == date);
    let Some((_, file)) = all.iter().rev().find(|(name, _)| is_meant(name)) else {
        let what = match date {
            Some(date) => format!("there is no log of {date}"),
            None => "there are no logs".to_owned(),
        };
        return Err(Error::new(Exit::Request, what).hint(next_command("linggen log list")).into());
    };
    let bytes = root.store().read(file, 0..u64::MAX).map_err(Error::from)?;
    let text = without_colours(&String::from_utf8_lossy(&bytes));
    write!(context.out, "{}", escape_controls(&text))
}

/// Returns the whole lines of a file from an offset on, and the offset after them.
fn read_lines(store: &Arc<dyn Store>, file: &FilePath, from: u64) -> Result<(String, u64), Error> {
    let length = store.stat(file)?.map_or(0, |stat| stat.len);
    // A shorter file was replaced.
    let from = if length < from { 0 } else { from };
    let bytes = if length > from { store.read(file, from..length)? } else { Vec::new() };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let whole = bytes.get(..end).unwrap_or_default();
    Ok((without_colours(&String::from_utf8_lossy(whole)), from + end as u64))
}

/// Prints the newest log, and what is added to it, until the reader of the output is gone or the user interrupts.
fn follow(context: &mut Context) -> Result<(), EarlyExit> {
    let root = open_home(context)?;
    let store = root.store();
    let mut current: Option<FilePath> = None;
    let mut at = 0;
    loop {
        let newest = logs(&store).map_err(Error::from)?.pop().map(|(_, file)| file);
        if let Some(file) = &current {
            let (text, end) = read_lines(&store, file, at)?;
            write!(context.out, "{}", escape_controls(&text))?;
            context.out.flush()?;
            at = end;
        }
        if newest == current {
            thread::sleep(FOLLOW_PAUSE);
        } else {
            (current, at) = (newest, 0);
        }
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        LogCommand::List => {
            let Some(root) = open_home_if_present(context)? else { return Ok(Exit::Success) };
            for (name, file) in logs(&root.store()).map_err(Error::from)? {
                let (date, path) = (name.date.to_string(), root.shown(&file));
                match context.json {
                    true => writeln!(context.out, "{}", json!({"date": date, "path": path}))?,
                    false => writeln!(context.out, "{date}  {path}")?,
                }
            }
        }
        LogCommand::Show { follow: true, .. } => follow(context)?,
        LogCommand::Show { date, .. } => show(context, date.as_deref())?,
        LogCommand::Add => {
            let text = input::text("the lines of the log")?;
            let root = open_home_to_write(context)?;
            let file = retry_linggen(|| append_log(&root.store(), &text, settings::now()))?;
            let path = root.shown(&file);
            root.close()?;
            match context.json {
                true => writeln!(context.out, "{}", json!({"path": path}))?,
                false => writeln!(context.out, "{path}")?,
            }
        }
        LogCommand::Expire { days, yes } => {
            let root = if *yes { open_home_to_change(context)? } else { open_home(context)? };
            let (store, now) = (root.store(), settings::now());
            let plan = plan_expired_logs(&store, *days, now).map_err(Error::from)?;
            for file in &plan.files {
                writeln!(context.out, "{}", root.shown(file))?;
            }
            context.out.flush()?;
            let count = count_noun(plan.files.len() as u64, "log", "logs");
            if *yes {
                let moved = retry_linggen(|| remove_expired_logs(&store, &plan, now))?;
                let place =
                    moved.map_or_else(String::new, |dir| format!(" to {}", root.shown(&dir)));
                Output::status(&format!("moved {count}{place}"));
                root.close()?;
            } else {
                let since = plan.since;
                Output::status(&format!(
                    "{count} before {since} would be moved to the trash; re-run with --yes to apply"
                ));
            }
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::without_colours;

    #[test]
    fn colours_are_removed() {
        assert_eq!(
            without_colours("\u{1b}[2m10:00\u{1b}[0m \u{1b}[32mINFO\u{1b}[0m x"),
            "10:00 INFO x"
        );
        assert_eq!(without_colours("plain [x]"), "plain [x]");
        assert_eq!(without_colours("cut \u{1b}[3"), "cut ");
    }
}
