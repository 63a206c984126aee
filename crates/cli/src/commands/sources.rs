//! `everturn sources`: lists and changes the sources of sessions.

use std::path::{Path, PathBuf};

use everturn::format;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::server_roots;
use crate::sources::{self, SourceLocation, SourceOrigin};

/// List, add or remove the folders that are searched for sessions
///
/// Everturn's own root, the homes of agents, and the folders of other programs are found in their
/// usual locations. Folders of other programs are never changed. With --root, only that root is
/// used.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn sources list
  everturn sources add ~/backup/.claude --layout claude-code
  everturn sources add /srv/tavern/data --name tavern --layout sillytavern
  everturn sources remove tavern

A source with --json:
  {"name":"codex","layout":"codex","origin":"usual","path":"/srv/home/.codex","there":true}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: SourcesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SourcesCommand {
    /// List the sources
    #[command(after_help = "\
Examples:
  everturn sources list
  everturn sources list --json")]
    List,
    /// Add a folder or a file with sessions; --layout sets its format
    #[command(after_help = "\
Examples:
  everturn sources add ~/backup/.claude --layout claude-code
  everturn sources add /srv/tavern/data --name tavern --layout sillytavern")]
    Add {
        /// The path of the folder or file
        path: PathBuf,

        /// The name of the source; default: its format, or its last directory
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Remove an added folder from the list; its files are not changed
    #[command(after_help = "\
Examples:
  everturn sources remove tavern")]
    Remove {
        /// The name of the source
        #[arg(value_name = "SOURCE")]
        name: String,
    },
}

fn list(context: &mut Context) -> Result<Exit, EarlyExit> {
    let sources = sources::all_sources()?;
    let name_width = sources.iter().map(|source| source.name.len()).max().unwrap_or(0);
    for source in sources {
        let layout = source.layout.map(|layout| layout.name());
        let path = source.path.to_string_lossy();
        let there = server_roots::may_exist(&source.path);
        if context.json {
            let object = JsonObject::new().text("name", &source.name);
            let object = match layout {
                Some(layout) => object.text("layout", layout),
                None => object.raw("layout", "null"),
            };
            let object = object.text("origin", source.origin.as_str()).text("path", &path);
            let line = object.raw("there", if there { "true" } else { "false" }).close();
            writeln!(context.out, "{line}")?;
            continue;
        }
        let missing = if there { "" } else { "  (missing)" };
        let line = format!(
            "{:name_width$}  {:11}  {:5}  {path}{missing}",
            source.name,
            layout.unwrap_or("any"),
            source.origin.as_str()
        );
        writeln!(context.out, "{}", escape_controls(&line).replace('\n', " "))?;
    }
    Ok(Exit::Success)
}

/// Returns a text as a valid key: lower-case letters, digits and dashes.
fn key(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
}

fn add(context: &mut Context, path: &Path, name: Option<&str>) -> Result<Exit, EarlyExit> {
    let failed = |cause: std::io::Error| {
        Error::new(Exit::Request, format!("cannot read {}", path.display())).caused_by(cause)
    };
    let path = path.canonicalize().map_err(failed)?;
    let layout = context.layout.as_deref().and_then(format::find);
    let last = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let given = name.map(str::to_owned).or_else(|| layout.map(|layout| layout.name().to_owned()));
    let name = key(&given.or(last).unwrap_or_default());
    if name.is_empty() {
        let what = "a source needs a name of letters and digits";
        return Err(Error::new(Exit::Request, what).hint("--name NAME").into());
    }
    let known = sources::all_sources()?;
    if known.iter().any(|source| source.name == name) {
        let what = format!("source {name} already exists");
        return Err(Error::new(Exit::Request, what).hint("choose another with --name NAME").into());
    }
    let source = SourceLocation { name: name.clone(), path, layout, origin: SourceOrigin::Added };
    if let Some(other) = known.iter().find(|known| known.overlaps(&source)) {
        let what = format!("source {} already contains {}", other.name, other.path.display());
        let why = "its sessions would be listed and counted twice";
        return Err(Error::new(Exit::Request, what)
            .caused_by(why)
            .hint("everturn sources list")
            .into());
    }
    sources::change(&name, Some(&source))?;
    Output::status(&format!("source {name}: {}", source.path.display()));
    Ok(Exit::Success)
}

fn remove(name: &str) -> Result<Exit, EarlyExit> {
    if sources::change(name, None)? {
        Output::status(&format!("source {name} was removed from the list"));
        return Ok(Exit::Success);
    }
    let usual = sources::all_sources()?.iter().any(|source| source.name == name);
    let what = match usual {
        true => format!("source {name} was not added: it is listed because its folder exists"),
        false => format!("there is no source {name:?}"),
    };
    Err(Error::new(Exit::Request, what).hint("everturn sources list").into())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        SourcesCommand::List => list(context),
        SourcesCommand::Add { path, name } => add(context, path, name.as_deref()),
        SourcesCommand::Remove { name } => remove(name),
    }
}
