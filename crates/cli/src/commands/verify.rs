//! `everturn verify`: verifies that a sealed session is unchanged.

use everturn::seal::{ChainKind, SealVerdict, find_earlier_head, verify_session};
use serde_json::json;

use super::Context;
use crate::context::next_command;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;

/// Verify a sealed session
///
/// Lists every record that was changed, removed, inserted or moved since `everturn seal`. Appended
/// records are counted. Exits with status 3 if a sealed record differs. Nothing is written.
///
/// --head compares the chain with a head that was kept elsewhere. The head of an earlier seal is
/// right, too, if the session still begins with the records that it sealed. `everturn seal --help`
/// names what a seal does not cover.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn verify session-abc123
  everturn verify session-abc123 --head 3f0a…

With --json:
  {"session":"…","head":"…","sealed":460,"appended":2,"time":"…","damages":[{"part":"entry","record":17,"turn":17,"harm":"changed"}]}"#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    #[arg(value_name = "SESSION")]
    session: String,

    /// The head that `everturn seal` printed, as stored elsewhere
    #[arg(long, value_name = "HEX")]
    head: Option<String>,
}

fn document(session: &str, verdict: &SealVerdict) -> String {
    let damages: Vec<_> = verdict
        .damages
        .iter()
        .map(|it| {
            let part = match it.part {
                ChainKind::Entries => "entry",
                ChainKind::Changes => "change",
            };
            json!({"part": part, "record": it.record, "turn": it.turn, "harm": it.harm.as_str()})
        })
        .collect();
    json!({
        "session": session, "head": verdict.head, "sealed": verdict.sealed,
        "appended": verdict.appended, "time": verdict.time.map(|time| time.to_string()),
        "damages": damages,
    })
    .to_string()
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let (found, read) = context.read_found(&args.session, |found| {
        let store = found.root.store();
        let verdict = verify_session(&store, found.layout, &found.place);
        let Some(verdict) = verdict.map_err(|error| found.failed(error))? else { return Ok(None) };
        let kept = args.head.as_ref().filter(|head| **head != verdict.head);
        let earlier = kept.map(|head| find_earlier_head(&store, found.layout, &found.place, head));
        let earlier = earlier.transpose().map_err(|error| found.failed(error))?;
        Ok(Some((verdict, earlier)))
    })?;
    let session = found.place.id;
    let Some((verdict, earlier)) = read else {
        let seal = next_command(&format!("seal {session}"));
        let error = Error::new(Exit::Request, format!("{session} was never sealed")).hint(seal);
        return Err(error.into());
    };
    if context.json {
        writeln!(context.out, "{}", document(&session, &verdict))?;
    } else {
        for damage in &verdict.damages {
            writeln!(context.out, "{damage}")?;
        }
    }
    context.out.flush()?;
    let is_other = earlier == Some(None);
    if let Some(Some(sealed)) = earlier {
        Output::status(&format!(
            "{session}: the head is that of an earlier seal of {sealed} records"
        ));
    }
    let SealVerdict { sealed, appended, damages, .. } = verdict;
    let outcome = match (is_other, damages.len()) {
        (true, _) => "the seal does not have this head".to_owned(),
        (false, 0) if sealed == 1 => {
            format!("1 sealed record is unchanged, {appended} appended since")
        }
        (false, 0) => format!("{sealed} sealed records are unchanged, {appended} appended since"),
        (false, count) => format!("records that differ from the seal: {count}"),
    };
    Output::status(&format!("{session}: {outcome}"));
    Ok(if is_other || !damages.is_empty() { Exit::Findings } else { Exit::Success })
}
