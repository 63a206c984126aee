//! [`LifecycleStream`]: a writer of one-shot commands that create, fork, rewind, pause, archive, trash and restore
//! sessions. After each command the files and the listing are recorded.

use fastrand::Rng;
use serde_json::Value;

use super::{KILLED, Stage, filler};
use crate::error::PowercutError;
use crate::everturn::{Aim, Everturn, short};
use crate::formats::{Format, Invocation, Life, SessionStatusLine};
use crate::model::{CommandRun, LifecycleModel, ListedSession, Listing, Span};
use crate::trees;

/// With fewer sessions than this, another is created.
const FEWEST_SESSIONS: usize = 2;

/// The writer of one root.
pub(crate) struct LifecycleStream<'a> {
    stage: &'a Stage<'a>,
    format: &'static dyn Format,
    rng: Rng,
    /// Counts names, so that each is new.
    names: usize,
    model: LifecycleModel,
}

impl<'a> LifecycleStream<'a> {
    /// Creates a writer of `root` with a first session.
    pub(crate) fn new(
        stage: &'a Stage<'a>,
        format: &'static dyn Format,
        root: &str,
        rng: Rng,
    ) -> Result<LifecycleStream<'a>, PowercutError> {
        let model = LifecycleModel {
            format: format.name().to_owned(),
            root: root.to_owned(),
            ready: 0,
            commands: Vec::new(),
            failures: Vec::new(),
        };
        let mut stream = LifecycleStream { stage, format, rng, names: 0, model };
        let name = stream.fresh_name();
        let create = format.create(&name, &stage.everturn.home().display().to_string());
        stream.execute(create, None)?;
        stream.model.ready = stage.position();
        Ok(stream)
    }

    /// Writes until it is time to stop.
    pub(crate) fn run(mut self) -> Result<LifecycleModel, PowercutError> {
        while self.stage.goes_on() && self.model.failures.is_empty() {
            let command = self.choose()?;
            let is_condemned = self.rng.u8(..100) < KILLED;
            let aim = is_condemned.then(|| Aim::choose(&mut self.rng));
            self.execute(command, aim)?;
        }
        Ok(self.model)
    }

    fn fresh_name(&mut self) -> String {
        self.names += 1;
        format!("s{}", self.names)
    }

    fn choose(&mut self) -> Result<Invocation, PowercutError> {
        let fresh = self.fresh_name();
        let sessions: Vec<SessionStatusLine> = self
            .model
            .commands
            .last()
            .into_iter()
            .flat_map(|run| &run.listing)
            .map(|(id, session)| SessionStatusLine {
                id: id.clone(),
                status: session.status.clone(),
            })
            .collect();
        let session = self.rng.choice(&sessions).filter(|_| sessions.len() >= FEWEST_SESSIONS);
        let Some(session) = session else {
            let home = self.stage.everturn.home().display().to_string();
            return Ok(self.format.create(&fresh, &home));
        };
        let listed =
            self.stage.run(&self.model.root, &["trash", "--json"].map(str::to_owned), "")?;
        let trash: Vec<String> = listed
            .lines()
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| entry.get("name").and_then(Value::as_str).map(str::to_owned))
            .collect();
        let filler = format!("t{} {}", self.names, filler(&mut self.rng));
        let life = Life { session, fresh: &fresh, trash: &trash, filler: &filler };
        Ok(self.format.lifecycle(&life, &mut self.rng))
    }

    /// Runs a command and records its result. A refused command has changed nothing, which is recorded too.
    fn execute(&mut self, command: Invocation, aim: Option<Aim>) -> Result<(), PowercutError> {
        let arguments = self.stage.arguments(&self.model.root, &command.arguments);
        let begun = self.stage.position();
        let outcome = self.stage.everturn.run_aimed(&arguments, &command.input, aim)?;
        let acknowledged = (outcome.code == Some(0)).then(|| self.stage.position());
        if outcome.code.is_none() {
            let (recovery, _) = self.stage.recover(&self.model.root, "zz")?;
            if let Err(why) = recovery.success() {
                self.model.failures.push(format!("recovery after a kill: {why}"));
            }
        } else if !matches!(outcome.code, Some(0 | 1)) {
            let line = command.arguments.join(" ");
            self.model.failures.push(format!("{line}: {}", short(&outcome.stderr)));
        }
        let root = self.stage.root(&self.model.root);
        let listing = match listing(self.stage.everturn, &root) {
            Ok(listing) => listing,
            Err(why) => {
                self.model.failures.push(format!("after {}: {why}", command.arguments.join(" ")));
                return Ok(());
            }
        };
        self.model.commands.push(CommandRun {
            arguments: command.arguments,
            is_staged: command.is_staged,
            tree: trees::tree(&root)?,
            listing,
            span: Span { begun, acknowledged },
        });
        Ok(())
    }
}

/// Returns the sessions of a root as `ls` and `show` report them.
pub(crate) fn listing(everturn: &Everturn, root: &std::path::Path) -> Result<Listing, String> {
    let root = root.display().to_string();
    let run = |arguments: &[&str]| {
        let all = [&["--root", root.as_str()], arguments].concat();
        let outcome = everturn.run(&all, "").map_err(|error| error.to_string())?;
        outcome.success().map_err(|why| format!("{}: {why}", arguments.join(" ")))?;
        Ok::<_, String>(outcome)
    };
    let mut listing = Listing::new();
    for session in run(&["ls", "--json"])?.lines()? {
        let field = |key| session.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, status) = (field("id"), field("status"));
        let turns = session.get("turns").and_then(Value::as_u64).unwrap_or_default();
        // Archives of some formats must be opened before they are shown.
        let is_shown = status != "archived";
        let text = if is_shown { run(&["show", &id, "--json"])?.stdout } else { String::new() };
        let shown = trees::sum(text.as_bytes());
        listing.insert(id, ListedSession { status, turns, shown });
    }
    Ok(listing)
}
