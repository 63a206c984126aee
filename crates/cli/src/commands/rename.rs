//! `everturn rename`: gives a session a title.

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;
use crate::titles;

/// Give a session a title
///
/// The title is shown by `ls`, `search`, `browse` and `show`. It is kept beside Everturn's
/// configuration, so that sessions of other programs can have one, too: no session is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn rename 4fec7ea0 'The parser of dates'
  everturn rename 4fec7ea0 --remove

Output with --json:
  {"session":"…","layout":"codex","title":"The parser of dates","before":null}"#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The title
    #[arg(required_unless_present = "remove", conflicts_with = "remove")]
    title: Option<String>,

    /// Remove the title, so that the session has its own again
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = context.find_to_read(&args.session)?;
    let title = args.title.as_deref().map(str::trim);
    if title.is_some_and(|title| title.is_empty() || title.contains('\n')) {
        let error = Error::new(Exit::Request, "a title is one line that is not empty");
        return Err(error.hint("--remove removes the title").into());
    }
    let (id, layout) = (&found.place.id, found.layout.name());
    let before = titles::give(layout, id, title)?;
    if title.is_none() && before.is_none() {
        return Err(Error::new(Exit::Request, format!("{id} was given no title")).into());
    }
    if context.json {
        let text = |text: Option<&str>| serde_json::json!(text).to_string();
        let object = JsonObject::new().text("session", id).text("layout", layout);
        let object = object.raw("title", &text(title)).raw("before", &text(before.as_deref()));
        writeln!(context.out, "{}", object.close())?;
    } else {
        Output::status(&match title {
            Some(title) => format!("{id} is called {title:?}"),
            None => format!("{id} has its own title again"),
        });
    }
    Ok(Exit::Success)
}
