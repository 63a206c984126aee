//! `everturn seal`: seals a session with a hash chain that reveals any later change.

use everturn::seal::seal_session;

use super::Context;
use crate::error::EarlyExit;
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, count_noun};
use crate::settings;

/// Seal a session so that later changes are detected
///
/// Stores a hash chain over the records below .everturn/seals; the session itself is not changed.
/// `everturn verify` reports records that were changed, removed, inserted or moved since. Records
/// appended later are accepted, and sealed by the next seal. Prints the head of the chain: stored
/// elsewhere, it also shows that the seal itself was not changed.
///
/// Sealed are the records: entries, and changes of the state. Not sealed are files that follow from
/// them or stand beside them: state files, snapshots, the base of a campaign, states of tools,
/// titles, marks, lorebooks and settings. `everturn check` compares some of these with the records.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn seal session-abc123
  everturn verify session-abc123

With --json:
  {"session":"…","head":"…","entries":120,"changes":340,"added":12,"file":".everturn/seals/…"}"#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    #[arg(value_name = "SESSION")]
    session: String,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_write(&args.session)?;
    let store = found.root.store();
    let sealed = seal_session(&store, found.layout, &found.place, settings::now());
    let sealed = sealed.map_err(|error| found.failed(error))?;
    drop(store);
    let session = found.place.id.clone();
    found.root.close()?;
    if context.json {
        let object = JsonObject::new()
            .text("session", &session)
            .text("head", &sealed.head)
            .number("entries", sealed.entries)
            .number("changes", sealed.changes)
            .number("added", sealed.added)
            .text("file", sealed.file.as_str());
        writeln!(context.out, "{}", object.close())?;
        return Ok(Exit::Success);
    }
    writeln!(context.out, "{}", sealed.head)?;
    context.out.flush()?;
    let (entries, changes, added) = (sealed.entries, sealed.changes, sealed.added);
    Output::status(&format!(
        "{session} is sealed: {}, {}, {added} of them new",
        count_noun(entries, "entry", "entries"),
        count_noun(changes, "change", "changes"),
    ));
    Ok(Exit::Success)
}
