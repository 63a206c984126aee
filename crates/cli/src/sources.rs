//! The sources of sessions: named roots, Everturn's own, the homes of agents, and the folders of other programs.
//!
//! [`KNOWN_LOCATIONS`] lists where each program keeps its sessions. Folders of other programs are only read.

use std::path::{Path, PathBuf};

use everturn::campaign;
use everturn::config::{self, Config};
use everturn::format::{self, SessionFormat};

use everturn::model::SessionRef;
use everturn_server::{ServedSource, SourceOpener};
use serde_json::{Value, json};

use crate::agent_homes::{self, AgentKind};
use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::server_roots;
use crate::settings;

/// A location of sessions.
#[derive(Clone)]
pub(crate) struct SourceLocation {
    /// The name in lists and messages.
    pub(crate) name: String,
    /// The directory, or a file that contains sessions.
    pub(crate) path: PathBuf,
    /// The only format to look for, if known.
    pub(crate) layout: Option<&'static dyn SessionFormat>,
    pub(crate) origin: SourceOrigin,
}

/// Why a source is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceOrigin {
    /// The user named it as the root.
    Named,
    /// It is Everturn's own root.
    Own,
    /// It is where `play` keeps campaigns, in the current directory.
    Here,
    /// It is the usual location of a program's sessions.
    Usual,
    /// The user added it.
    Added,
}

impl SourceOrigin {
    /// The value in `--json`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SourceOrigin::Named => "named",
            SourceOrigin::Own => "own",
            SourceOrigin::Here => "here",
            SourceOrigin::Usual => "usual",
            SourceOrigin::Added => "added",
        }
    }
}

/// The directory of `play`'s campaigns, below the current directory.
pub(crate) const STORAGE: &str = "storage";

/// The base of a path in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaseDir {
    Home,
    /// `XDG_DATA_HOME`, or its default.
    Data,
    /// `XDG_CONFIG_HOME`, or its default.
    Config,
    /// The current directory.
    Here,
}

/// The usual locations of a program's sessions.
struct KnownLocation {
    layout: &'static str,
    /// A variable that overrides the location, and the path below it. If it is set, no other location is used.
    variable: Option<(&'static str, &'static str)>,
    places: &'static [(BaseDir, &'static str)],
}

const KNOWN_LOCATIONS: &[KnownLocation] = &[
    KnownLocation {
        layout: "claude-code",
        variable: Some(("CLAUDE_CONFIG_DIR", "")),
        places: &[(BaseDir::Home, ".claude"), (BaseDir::Config, "claude")],
    },
    KnownLocation {
        layout: "codex",
        variable: Some(("CODEX_HOME", "")),
        places: &[(BaseDir::Home, ".codex")],
    },
    KnownLocation {
        layout: "gemini-cli",
        variable: Some(("GEMINI_CLI_HOME", ".gemini")),
        places: &[(BaseDir::Home, ".gemini")],
    },
    KnownLocation {
        layout: "sillytavern",
        variable: Some(("SILLYTAVERN_DATAROOT", "")),
        places: &[(BaseDir::Home, "SillyTavern/data")],
    },
    KnownLocation {
        layout: "pi",
        variable: Some(("PI_CODING_AGENT_DIR", "")),
        places: &[(BaseDir::Home, ".pi/agent")],
    },
    KnownLocation { layout: "opencode", variable: None, places: &[(BaseDir::Data, "opencode")] },
    KnownLocation {
        layout: "goose",
        variable: Some(("GOOSE_PATH_ROOT", "data/sessions")),
        places: &[(BaseDir::Data, "goose/sessions")],
    },
    KnownLocation {
        layout: "aider",
        variable: Some(("AIDER_CHAT_HISTORY_FILE", "")),
        places: &[
            (BaseDir::Here, ".aider.chat.history.md"),
            (BaseDir::Home, ".aider.chat.history.md"),
        ],
    },
];

/// The environment of the process.
struct ProcessEnvironment<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    here: PathBuf,
}

impl ProcessEnvironment<'_> {
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    fn base(&self, base: BaseDir) -> Option<PathBuf> {
        let home = || self.absolute("HOME");
        match base {
            BaseDir::Home => home(),
            BaseDir::Data => {
                self.absolute("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))
            }
            BaseDir::Config => {
                self.absolute("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))
            }
            BaseDir::Here => Some(self.here.clone()),
        }
    }

    /// Returns all locations of the table, existing or not, with their formats.
    fn known_locations(&self) -> Vec<(&'static str, PathBuf)> {
        let mut found: Vec<(&'static str, PathBuf)> = Vec::new();
        for usual in KNOWN_LOCATIONS {
            let named = usual.variable.and_then(|(name, below)| {
                let base = (self.variable)(name).filter(|value| !value.is_empty())?;
                Some(joined(&self.here.join(base), below))
            });
            let paths: Vec<PathBuf> = match named {
                Some(path) => vec![path],
                None => {
                    let places = usual.places.iter();
                    places
                        .filter_map(|(base, below)| Some(joined(&self.base(*base)?, below)))
                        .collect()
                }
            };
            for path in paths {
                if !found.iter().any(|(_, known)| *known == path) {
                    found.push((usual.layout, path));
                }
            }
        }
        found
    }
}

fn joined(base: &Path, below: &str) -> PathBuf {
    if below.is_empty() { base.to_owned() } else { base.join(below) }
}

impl SourceLocation {
    /// Returns a source for a directory that may contain any of Everturn's formats.
    pub(crate) fn own(path: &Path) -> SourceLocation {
        SourceLocation {
            name: "root".to_owned(),
            path: path.to_owned(),
            layout: None,
            origin: SourceOrigin::Own,
        }
    }

    /// Returns the directory to open.
    pub(crate) fn dir(&self) -> &Path {
        let above = self.path.parent().filter(|_| self.path.is_file());
        above.unwrap_or(&self.path)
    }

    /// Returns whether its sessions may be written.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.origin, SourceOrigin::Own | SourceOrigin::Here | SourceOrigin::Named)
    }

    /// Returns whether two sources may share sessions: one contains the other, and they are not used for different
    /// formats.
    pub(crate) fn overlaps(&self, other: &SourceLocation) -> bool {
        let real = |source: &SourceLocation| {
            source.path.canonicalize().unwrap_or_else(|_| source.path.clone())
        };
        let (one, two) = (real(self), real(other));
        let is_foreign =
            |source: &SourceLocation| source.layout.is_some_and(|layout| layout.is_external());
        let is_apart = match (self.layout, other.layout) {
            (Some(one), Some(two)) => one.name() != two.name(),
            // Formats of other programs are not looked for in Everturn's own root.
            _ => [(self, other), (other, self)]
                .iter()
                .any(|(own, that)| own.origin == SourceOrigin::Own && is_foreign(that)),
        };
        !is_apart && (one.starts_with(&two) || two.starts_with(&one))
    }

    /// Returns the file name, if the source is a file.
    pub(crate) fn file_name(&self) -> Option<&str> {
        self.path.file_name().filter(|_| self.path.is_file())?.to_str()
    }

    /// Returns whether a session in its directory belongs to it.
    pub(crate) fn covers(&self, place: &SessionRef) -> bool {
        self.file_name().is_none_or(|name| place.path.as_str().split('/').next() == Some(name))
    }

    /// Returns the formats to look for, in groups: a group is used only if the groups before it found nothing.
    pub(crate) fn layouts(&self, context: &Context) -> Vec<Vec<&'static dyn SessionFormat>> {
        match (self.layout, &context.layout) {
            (Some(layout), _) => vec![vec![layout]],
            (None, Some(_)) => vec![context.layouts()],
            (None, None) if self.origin == SourceOrigin::Own => vec![context.layouts()],
            (None, None) => vec![context.layouts(), format::EXTERNAL.to_vec()],
        }
    }

    /// Returns whether it may have sessions of the named format.
    fn is_wanted(&self, name: Option<&str>) -> bool {
        match (self.layout, name) {
            (_, None) => true,
            (Some(layout), Some(name)) => layout.name() == name,
            (None, Some(name)) => {
                let is_foreign = format::find(name).is_some_and(|layout| layout.is_external());
                !is_foreign || self.origin == SourceOrigin::Added
            }
        }
    }
}

/// Returns the sources that the user added to the configuration.
fn added(config: &Config) -> Vec<SourceLocation> {
    let Some(Value::Object(sources)) = config.get("sources") else { return Vec::new() };
    let source = |(name, value): (String, Value)| {
        let path = value.get("path").and_then(Value::as_str)?;
        let layout = value.get("layout").and_then(Value::as_str).and_then(format::find);
        Some(SourceLocation {
            name,
            path: PathBuf::from(path),
            layout,
            origin: SourceOrigin::Added,
        })
    };
    sources.into_iter().filter_map(source).collect()
}

/// Returns the campaigns in the current directory, if there are any.
fn played_here() -> Option<SourceLocation> {
    let (name, path) = (STORAGE.to_owned(), settings::current_dir().join(STORAGE));
    let source =
        SourceLocation { name, layout: Some(campaign::FORMAT), origin: SourceOrigin::Here, path };
    source.path.join("campaigns").is_dir().then_some(source)
}

/// Returns the directory in which a program keeps its sessions, existing or not: the first of its usual locations.
pub(crate) fn program_home(layout: &str) -> Option<PathBuf> {
    let outside =
        ProcessEnvironment { variable: &settings::variable, here: settings::current_dir() };
    let known = outside.known_locations().into_iter();
    known.filter(|(name, _)| *name == layout).map(|(_, path)| path).next()
}

/// Returns the existing locations of other programs' sessions.
pub(crate) fn known_sources() -> Vec<SourceLocation> {
    let outside =
        ProcessEnvironment { variable: &settings::variable, here: settings::current_dir() };
    let mut sources: Vec<SourceLocation> = Vec::new();
    for agent in AgentKind::ALL {
        let Some(layout) = agent.format() else { continue };
        if let Ok(home) = settings::home(agent.program(), None) {
            sources.push(SourceLocation {
                name: layout.name().to_owned(),
                path: home.state_dir,
                layout: Some(layout),
                origin: SourceOrigin::Usual,
            });
        }
    }
    for (name, path) in outside.known_locations() {
        let times = sources.iter().filter(|source| source.name.starts_with(name)).count();
        let layout = format::find(name);
        let name = if times == 0 { name.to_owned() } else { format!("{name}-{}", times + 1) };
        sources.push(SourceLocation { name, path, layout, origin: SourceOrigin::Usual });
    }
    sources.retain(|source| source.layout.is_some() && source.path.exists());
    sources
}

/// Returns all known sources, including unwanted ones.
pub(crate) fn all_sources() -> Result<Vec<SourceLocation>, Error> {
    let mut sources = vec![SourceLocation::own(&agent_homes::root(None, None)?)];
    sources.extend(played_here());
    sources.extend(known_sources());
    if let Some(home) = agent_homes::own_home() {
        sources.extend(added(&home.config(&[])?));
    }
    Ok(sources)
}

/// Returns the sources to use: the named root, otherwise all known sources.
pub(crate) fn selected_sources(context: &Context) -> Result<Vec<SourceLocation>, Error> {
    let name = context.layout.as_deref();
    if let Some(root) = agent_homes::root_for(context, name) {
        return Ok(vec![SourceLocation {
            origin: SourceOrigin::Named,
            ..SourceLocation::own(root)
        }]);
    }
    if AgentKind::named(name) != AgentKind::Everturn {
        let mut sources = vec![SourceLocation::own(&agent_homes::root(None, name)?)];
        let all = all_sources().unwrap_or_default().into_iter();
        sources.extend(
            all.filter(|source| source.origin == SourceOrigin::Added && source.is_wanted(name)),
        );
        return Ok(sources);
    }
    let mut sources = all_sources()?;
    sources.retain(|source| source.is_wanted(name));
    if sources.is_empty() {
        let what = format!("no known folder with sessions of {}", name.unwrap_or("anything"));
        return Err(Error::new(Exit::Request, what)
            .hint("everturn sources add PATH, or name one with --root DIR"));
    }
    Ok(sources)
}

/// Opens the roots of all sources, of which there must be at least one.
pub(crate) fn open_sources(
    context: &Context,
    access: RootAccess,
) -> Result<Vec<(SourceLocation, OpenRoot)>, Error> {
    let roots = open_existing_sources(context, access)?;
    if roots.is_empty() {
        return Err(Error::new(Exit::Request, "there are no sessions yet")
            .hint("create one with: everturn new game; run `everturn` for other ways to start"));
    }
    Ok(roots)
}

/// Opens the roots of the existing sources. Warns about a source that cannot be opened; if it is the only one,
/// that is an error.
pub(crate) fn open_existing_sources(
    context: &Context,
    access: RootAccess,
) -> Result<Vec<(SourceLocation, OpenRoot)>, Error> {
    let mut roots = Vec::new();
    for source in selected_sources(context)? {
        let access = if source.is_own() { access } else { RootAccess::Read };
        if let Some(root) = open_source(context, &source, access)? {
            roots.push((source, root));
        }
    }
    Ok(roots)
}

/// Opens a source. `None` if it cannot be opened, after a warning; if it is the only one, that is an error.
pub(crate) fn open_source(
    context: &Context,
    source: &SourceLocation,
    access: RootAccess,
) -> Result<Option<OpenRoot>, Error> {
    match OpenRoot::open(source.dir(), access) {
        Ok(root) => Ok(Some(root)),
        // Everturn's own root does not exist before the first session.
        Err(_) if source.origin == SourceOrigin::Own && !server_roots::may_exist(&source.path) => {
            Ok(None)
        }
        Err(error) if selected_sources(context)?.len() == 1 => Err(error),
        Err(error) => {
            Output::status(&error.saying(format!("source {}", source.name)).to_string());
            Ok(None)
        }
    }
}

/// Opens a root on a server of a database, for `everturn serve`.
fn opener(root: &Path) -> SourceOpener {
    let root = root.to_owned();
    SourceOpener::new(move |to_write| {
        let access = if to_write { None } else { Some(RootAccess::Read) };
        server_roots::open(&root, access).map_err(|error| error.to_string())
    })
}

/// Returns the sources for a server, with unique names. The own root is one also before it exists.
pub(crate) fn served_sources(context: &Context) -> Result<Vec<ServedSource>, Error> {
    let mut served: Vec<ServedSource> = Vec::new();
    for source in selected_sources(context)? {
        let is_main = matches!(source.origin, SourceOrigin::Own | SourceOrigin::Named);
        if !is_main && !server_roots::may_exist(&source.path) {
            continue;
        }
        let times = served.iter().filter(|known| known.name == source.name).count();
        let name = source.name.clone();
        served.push(ServedSource {
            name: if times == 0 { name } else { format!("{name}-{}", times + 1) },
            dir: source.dir().to_owned(),
            formats: source.layouts(context),
            only: source.file_name().map(str::to_owned),
            is_main,
            server: server_roots::is_address(source.dir()).then(|| opener(source.dir())),
        });
    }
    Ok(served)
}

/// Adds a source to the configuration, or removes one.
pub(crate) fn change(name: &str, source: Option<&SourceLocation>) -> Result<bool, Error> {
    let Some(home) = agent_homes::own_home() else {
        return Err(Error::new(
            Exit::Request,
            "there is no home directory for the list of sources",
        )
        .hint("set HOME"));
    };
    let file = &home.dirs.config_file;
    let before = agent_homes::read(file)?;
    let (schema, place, key) =
        (home.agent.schema(), file.to_string_lossy(), format!("sources.{name}"));
    let bytes = match source {
        Some(source) => {
            let layout = source.layout.map(|layout| layout.name());
            let value = json!({"path": source.path.to_string_lossy(), "layout": layout});
            Some(config::set_value(schema, &place, before.as_deref(), &key, &value)?)
        }
        None => match &before {
            Some(bytes) => config::remove_value(schema, &place, bytes, &key)?,
            None => None,
        },
    };
    let Some(bytes) = bytes else { return Ok(false) };
    home.write(file, before.as_deref(), bytes)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], layout: &str, expect: &[&str]) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let outside = ProcessEnvironment { variable: &variable, here: PathBuf::from("/srv/app") };
        let found: Vec<PathBuf> = outside
            .known_locations()
            .into_iter()
            .filter(|(name, _)| *name == layout)
            .map(|(_, path)| path)
            .collect();
        assert_eq!(found, expect.iter().map(PathBuf::from).collect::<Vec<_>>(), "{layout}");
    }

    #[test]
    fn every_foreign_layout_is_in_the_table() {
        let mut named: Vec<&str> = KNOWN_LOCATIONS.iter().map(|usual| usual.layout).collect();
        let mut known: Vec<&str> = format::EXTERNAL.iter().map(|layout| layout.name()).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn programs_keep_their_sessions_below_the_home_unless_variables_say_otherwise() {
        let home = ("HOME", "/h");
        check(&[home], "claude-code", &["/h/.claude", "/h/.config/claude"]);
        check(&[home, ("CLAUDE_CONFIG_DIR", "/c")], "claude-code", &["/c"]);
        check(&[home, ("XDG_CONFIG_HOME", "/x")], "claude-code", &["/h/.claude", "/x/claude"]);
        check(&[home], "codex", &["/h/.codex"]);
        check(&[home, ("CODEX_HOME", "rel")], "codex", &["/srv/app/rel"]);
        check(&[home], "gemini-cli", &["/h/.gemini"]);
        check(&[home, ("GEMINI_CLI_HOME", "/g")], "gemini-cli", &["/g/.gemini"]);
        check(&[home], "sillytavern", &["/h/SillyTavern/data"]);
        check(&[("SILLYTAVERN_DATAROOT", "/st")], "sillytavern", &["/st"]);
        check(&[home], "pi", &["/h/.pi/agent"]);
        check(&[home, ("PI_CODING_AGENT_DIR", "/p")], "pi", &["/p"]);
        check(&[home], "opencode", &["/h/.local/share/opencode"]);
        check(&[home, ("XDG_DATA_HOME", "/d")], "opencode", &["/d/opencode"]);
        check(&[home, ("XDG_DATA_HOME", "relative")], "opencode", &["/h/.local/share/opencode"]);
        check(&[home], "goose", &["/h/.local/share/goose/sessions"]);
        check(&[home, ("GOOSE_PATH_ROOT", "/g")], "goose", &["/g/data/sessions"]);
        let history = ".aider.chat.history.md";
        check(&[home], "aider", &[&format!("/srv/app/{history}"), &format!("/h/{history}")]);
        check(&[("AIDER_CHAT_HISTORY_FILE", "log.md")], "aider", &["/srv/app/log.md"]);
        check(&[], "codex", &[]);
    }
}
