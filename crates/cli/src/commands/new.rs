//! `everturn new`: a new session.

use everturn::layout::{self, Editor, Layout, LayoutError};
use everturn::store::StoreError;
use everturn::tree::Tree;
use everturn::view::New;

use super::Context;
use crate::args::layouts;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::json::Object;
use crate::sessions::Root;
use crate::{input, settings};

/// Make a new session
///
/// The id is printed. What the session starts with can be given by options or as one JSON object on
/// stdin; options win. Fields that the layout does not know are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn new game --name Vex --config '{"theme":"cyberpunk"}'
  everturn new game - < start.json

The fields of a game:
  {"sessionId":"…","config":{…},"player":{"name":"…","characterId":"…"},
   "world":{…},"playerState":{…}}
  all of them optional.

The answer with --json:
  {"session":"session-mjv9xds0","turn":0,"layout":"game","path":"…"}"#)]
pub(crate) struct Args {
    /// The layout of the session
    #[arg(value_name = "LAYOUT", value_parser = layouts())]
    kind: String,

    /// `-` to read a JSON object from stdin
    #[arg(value_name = "-", value_parser = ["-"])]
    dash: Option<String>,

    /// Read a JSON object from stdin, like `-`
    #[arg(long)]
    stdin: bool,

    /// The id of the session; without it, one is made from the time
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// The name of the player
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The settings, as a JSON object
    #[arg(long, value_name = "JSON")]
    config: Option<String>,
}

/// How many ids are tried before somebody else's clock is blamed.
const TRIES: u64 = 1000;

/// An id that is made from a time in milliseconds.
fn id_at(millis: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest = millis;
    let mut digits = Vec::new();
    while rest > 0 {
        let digit = usize::try_from(rest % 36).ok().and_then(|at| DIGITS.get(at));
        digits.extend(digit.map(|digit| char::from(*digit)));
        rest /= 36;
    }
    format!("session-{}", digits.iter().rev().collect::<String>())
}

/// Makes the session; an id that was made from the time gives way to one that is taken.
fn create(
    layout: &'static dyn Layout,
    root: &Root,
    new: New,
    given: Option<String>,
) -> Result<Box<dyn Editor>, LayoutError> {
    let now = settings::now();
    if let Some(id) = given {
        return layout.create(&root.store(), &New { id, ..new }, now);
    }
    let start = u64::try_from(now.as_millisecond()).unwrap_or(0);
    let mut attempt = start;
    loop {
        let new = New { id: id_at(attempt), ..new.clone() };
        match layout.create(&root.store(), &new, now) {
            Err(LayoutError::Taken { .. } | LayoutError::Store(StoreError::Busy { .. }))
                if attempt < start + TRIES =>
            {
                attempt += 1;
            }
            other => return other,
        }
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let unknown = || Error::new(Exit::Internal, format!("no layout {}", args.kind));
    let layout = layout::find(&args.kind).ok_or_else(unknown)?;
    let config = args.config.as_ref().map(|text| input::tree(text, "--config")).transpose()?;
    let from_stdin = args.stdin || args.dash.is_some();
    let fields = if from_stdin { input::object()? } else { Tree::object() };
    let id = args.id.clone().or_else(|| fields.string_at(&["sessionId"]));
    let new = New { id: String::new(), name: args.name.clone(), config, fields };
    let root = Root::create(&settings::root(context.root.as_deref())?)?;
    let editor = create(layout, &root, new, id).map_err(|error| match error {
        LayoutError::Request { what } => {
            Error::new(Exit::Request, what).hint("everturn new --help")
        }
        error => error.into(),
    })?;
    root.mention_repairs();
    let place = editor.place();
    if context.json {
        let answer = Object::new()
            .text("session", &place.id)
            .number("turn", editor.turn())
            .text("layout", layout.name())
            .text("path", &root.shown(&place.path));
        writeln!(context.out, "{}", answer.close())?;
    } else {
        writeln!(context.out, "{}", place.id)?;
    }
    context.out.flush()?;
    editor.close(settings::now()).map_err(Error::from)?;
    root.close()?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_time() {
        assert_eq!(id_at(0), "session-");
        assert_eq!(id_at(35), "session-z");
        assert_eq!(id_at(36), "session-10");
        assert_eq!(id_at(1_767_261_600_000), "session-mjv9xds0");
    }
}
