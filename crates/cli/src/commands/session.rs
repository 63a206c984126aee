//! `everturn session`: a conversation about one session, for programs in any language.

use std::io::{self, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use everturn::Root;
use everturn_requests::{MAX_LINE, RequestError, RequestLine, RequestLines, SessionHandler};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::settings;

/// Serve requests for one session, one per line
///
/// Reads one JSON object per line from stdin and answers each with one line, as soon as a change is
/// durable. A failed request changes nothing, and the next one is served. The command ends at the
/// end of the input, after the request close, or on SIGTERM, and then exits with status 0. The first
/// request that writes locks the session; until then, and beside it, other processes can read.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn session session-abc123
  everturn session latest --read-only < requests.jsonl

Requests, each on one line:
  {"id":1,"request":"append","key":"7f3c","data":{"actor":"player","narration":"You go in."}}
  {"id":2,"request":"state","path":"world.npcs.luna","turn":1}
  {"id":3,"request":"entries","from":1,"limit":20}

Answers:
  {"id":1,"ok":{"turn":1,"stored":"now","events":[],"snapshot":null,"warnings":[]}}
  {"id":2,"error":{"code":"not_found","message":"…","path":"world.npcs.luna"}}

A turn with a key is stored once, however often it is sent: if it was stored
before, the answer has "stored":"before". The requests:
  append, undo, rewind, fork, scene_start, scene_end, snapshot, mark_add,
  mark_remove, mark_list, pause, resume, complete, state, diff, entries,
  branches, sync, info, close
docs/protocol.md describes them."#)]
pub(crate) struct Args {
    /// The session: its ID, a path, or `latest`
    session: String,

    /// Refuse requests that write
    #[arg(long)]
    read_only: bool,

    /// The time to wait for another process that is writing to the session
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    wait: u16,
}

/// What the conversation reacts to.
enum InputEvent {
    /// A line of the input.
    Line(RequestLine),
    /// The input cannot be read.
    Unreadable(io::Error),
    /// The end of the input, or a signal to end.
    End,
}

/// Sends the lines of stdin, and then the end.
fn read_lines(events: &SyncSender<InputEvent>) {
    for line in RequestLines::new(BufReader::new(io::stdin()), MAX_LINE) {
        let event = line.map_or_else(InputEvent::Unreadable, InputEvent::Line);
        // If the conversation is over, the other lines are not needed.
        if events.send(event).is_err() {
            return;
        }
    }
    events.send(InputEvent::End).ok();
}

/// Returns the lines of stdin, up to its end or a signal. They are read on a thread of their own, because a read cannot
/// be interrupted.
fn input_events() -> io::Result<Receiver<InputEvent>> {
    let (events, received) = sync_channel(1);
    let (mut woken, waker) = UnixStream::pair()?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
    }
    let ending = events.clone();
    thread::spawn(move || {
        if woken.read_exact(&mut [0]).is_ok() {
            ending.send(InputEvent::End).ok();
        }
    });
    thread::spawn(move || read_lines(&events));
    Ok(received)
}

/// Answers lines until the conversation is over.
fn converse(
    handler: &mut SessionHandler,
    events: &Receiver<InputEvent>,
    context: &mut Context,
) -> Result<(), EarlyExit> {
    while let Ok(event) = events.recv() {
        let line = match event {
            InputEvent::Line(line) => line,
            InputEvent::Unreadable(cause) => {
                let failed = Error::new(Exit::Request, "cannot read the input").caused_by(cause);
                return Err(failed.into());
            }
            InputEvent::End => return Ok(()),
        };
        let answer = handler.answer(&line);
        writeln!(context.out, "{}", answer.text)?;
        // The output acknowledges a durable change, so it must not stay in a buffer.
        context.out.flush()?;
        if answer.is_last {
            return Ok(());
        }
    }
    Ok(())
}

fn failed(error: RequestError) -> Error {
    let hint = error.hint.clone();
    let failed = Error::new(Exit::Request, "cannot close the session").caused_by(error);
    match hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = match args.read_only {
        true => context.find_to_read(&args.session)?,
        false => context.find_to_write(&args.session)?,
    };
    let root =
        Root::builder().clock(settings::now).with_store(&found.root.path, found.root.store());
    let session = root.session_at(found.layout, found.place.clone());
    let mut handler = match args.read_only {
        true => SessionHandler::read_only(session),
        false => SessionHandler::new(session).waiting(Duration::from_secs(args.wait.into())),
    };
    let events = input_events()
        .map_err(|cause| Error::new(Exit::Internal, "cannot wait for signals").caused_by(cause))?;
    let done = converse(&mut handler, &events, context);
    handler.close().map_err(failed)?;
    if !args.read_only && !found.layout.is_external() {
        found.root.close()?;
    }
    done?;
    Ok(Exit::Success)
}
