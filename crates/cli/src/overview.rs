//! `everturn` alone: what there is, and what to do next.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use everturn_catalog::{Detail, Sessions};

use crate::commands::Context;
use crate::commands::ls::{json, line};
use crate::error::Stop;
use crate::exit::Exit;
use crate::json::Object;
use crate::sessions::report;
use crate::settings;

/// How many of the newest sessions are shown.
const LATEST: usize = 5;

/// What to do next where there are sessions.
const SOME: &str = "
  everturn show latest     read the newest one
  everturn browse          look around in all of them
  everturn search WORDS    find what was said
  everturn help            all commands";

/// What to do next where there are none.
const NONE: &str = "
  everturn play            play a game, without a key or a model
  everturn new game        begin a session
  everturn sources list    where sessions of other programs are looked for
  everturn help            all commands";

fn plural(count: usize) -> &'static str {
    if count == 1 { "session" } else { "sessions" }
}

/// Tells how many sessions of each layout there are, the newest of them, and the next commands.
pub(crate) fn run(context: &mut Context) -> Result<Exit, Stop> {
    let mut collection = context.collection()?;
    let Sessions { mut sessions, findings, .. } = collection.sessions(Detail::Names)?;
    let all = sessions.len();
    let mut layouts: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &sessions {
        *layouts.entry(session.summary.layout).or_default() += 1;
    }
    sessions.truncate(LATEST);
    collection.catalog.complete(&collection.sources, &mut sessions);
    if context.json {
        let latest: Vec<String> =
            sessions.iter().map(|session| json(session, &collection)).collect();
        let counts = layouts.iter().fold(Object::new(), |object, (layout, count)| {
            object.number(layout, *count as u64)
        });
        let answer = Object::new()
            .number("sessions", all as u64)
            .raw("layouts", &counts.close())
            .raw("latest", &format!("[{}]", latest.join(",")));
        writeln!(context.out, "{}", answer.close())?;
        return Ok(Exit::Fine);
    }
    if all == 0 {
        writeln!(context.out, "There are no sessions in {}.\n{NONE}", collection.place())?;
        return Ok(Exit::Fine);
    }
    let counts: Vec<String> =
        layouts.iter().map(|(layout, count)| format!("{count} {layout}")).collect();
    writeln!(context.out, "{all} {}: {}\n", plural(all), counts.join(", "))?;
    let terminal = std::io::stdout().is_terminal().then(|| (settings::width(), settings::now()));
    let width = sessions.iter().map(|session| session.summary.place.id.chars().count()).max();
    for session in &sessions {
        writeln!(context.out, "{}", line(session, width.unwrap_or(0), terminal))?;
    }
    writeln!(context.out, "{SOME}")?;
    context.out.flush()?;
    collection.mention_notes();
    report(&findings);
    Ok(if collection.is_incomplete { Exit::Request } else { Exit::Fine })
}
