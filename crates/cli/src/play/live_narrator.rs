//! The narrator at the table: one who answers at once, or one who is far away, and can be waited for in vain.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use everturn::campaign::{
    EmbeddedNarrator, Narrator, NarratorError, NarratorOutput as Answer, NarratorRequest,
    OwnedRequest,
};

use super::page::ScreenOptions;
use crate::error::Error;
use crate::narrator::{NarrationEvent, NarratorArgs};
use crate::output::Output;
use everturn_export::columns::wrap_text;

/// How long Ctrl-C may go unnoticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long somebody waits before they are told how to stop waiting.
const PATIENCE: Duration = Duration::from_secs(3);

/// A narrator that may show its text while it is being told.
pub(crate) trait LiveNarrator: Narrator {
    /// Whether the player has seen this text already.
    fn has_shown(&mut self, text: &str) -> bool;
}

impl LiveNarrator for EmbeddedNarrator {
    fn has_shown(&mut self, _: &str) -> bool {
        false
    }
}

/// What comes from the thread that asks.
enum NarratorEvent {
    Text(String),
    Again,
    Remark(String),
    Done(Result<Answer, NarratorError>),
}

/// The thread that asks, as long as it is listened to.
struct NarratorThread {
    questions: Sender<OwnedRequest>,
    events: Receiver<NarratorEvent>,
}

/// A narrator that is asked in a thread of its own, so that waiting for it can be ended.
pub(crate) struct RemoteNarrator {
    args: NarratorArgs,
    seed: u64,
    asking: Option<NarratorThread>,
    /// Whether Ctrl-C was pressed.
    pressed: Arc<AtomicBool>,
    /// How text is shown while it arrives, if it is.
    screen: Option<ScreenOptions>,
    /// What has arrived of the answer, and what was shown of it.
    text: String,
    shown: String,
}

impl RemoteNarrator {
    /// Looks whether there could be such a narrator. With a screen, its text is shown while it arrives.
    pub(crate) fn new(
        args: &NarratorArgs,
        seed: u64,
        pressed: Arc<AtomicBool>,
    ) -> Result<RemoteNarrator, Error> {
        drop(args.build(seed, Box::new(|_| {}))?);
        let (args, text, shown) = (args.clone(), String::new(), String::new());
        Ok(RemoteNarrator { args, seed, asking: None, pressed, screen: None, text, shown })
    }

    /// Shows text on this screen while it arrives.
    pub(super) fn show_on(&mut self, screen: Option<ScreenOptions>) {
        self.screen = screen;
    }

    /// Shows as much of the text as cannot change any more.
    fn show(&mut self, is_whole: bool) {
        let Some(screen) = self.screen else { return };
        let end = match is_whole {
            true => self.text.len(),
            false => self.text.rfind(char::is_whitespace).unwrap_or(0),
        };
        let ready = wrap_text(self.text.get(..end).unwrap_or_default().trim_end(), screen.width);
        let ready = ready.join("\n");
        if let Some(more) = ready.strip_prefix(self.shown.as_str()) {
            send(more);
            self.shown = ready;
        }
    }

    fn handle_event(&mut self, event: NarratorEvent) -> Option<Result<Answer, NarratorError>> {
        match event {
            NarratorEvent::Text(piece) => {
                self.text.push_str(&piece);
                self.show(false);
            }
            NarratorEvent::Again => self.reset_shown(),
            NarratorEvent::Remark(warning) => Output::status(&warning),
            NarratorEvent::Done(answer) => return Some(answer),
        }
        None
    }

    /// What was shown does not count.
    fn reset_shown(&mut self) {
        if !self.shown.is_empty() {
            send("\n(That does not count; it is told again.)\n");
        }
        self.text.clear();
        self.shown.clear();
    }
}

fn send(text: &str) {
    let mut stdout = io::stdout().lock();
    // If it cannot be shown now, the page that follows fails, too, and says so.
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).ok();
}

/// Starts a thread that asks.
fn start(args: NarratorArgs, seed: u64) -> NarratorThread {
    let (questions, asked) = mpsc::channel::<OwnedRequest>();
    let (tell, events) = mpsc::channel();
    std::thread::spawn(move || {
        let listener = {
            let tell = tell.clone();
            move |shown: NarrationEvent<'_>| {
                let event = match shown {
                    NarrationEvent::Text(text) => NarratorEvent::Text(text.to_owned()),
                    NarrationEvent::Again => NarratorEvent::Again,
                    NarrationEvent::Remark(warning) => NarratorEvent::Remark(warning.to_owned()),
                };
                // Nobody waits any more.
                tell.send(event).ok();
            }
        };
        let mut narrator = match args.build(seed, Box::new(listener)) {
            Ok(narrator) => narrator,
            Err(error) => {
                let failed = NarratorError::new(error.to_string());
                tell.send(NarratorEvent::Done(Err(failed))).ok();
                return;
            }
        };
        while let Ok(question) = asked.recv() {
            let answer = narrator.narrate(&question.as_request());
            if tell.send(NarratorEvent::Done(answer)).is_err() {
                return;
            }
        }
    });
    NarratorThread { questions, events }
}

impl Narrator for RemoteNarrator {
    fn narrate(&mut self, request: &NarratorRequest<'_>) -> Result<Answer, NarratorError> {
        self.pressed.store(false, Ordering::SeqCst);
        if request.retry == 0 {
            self.text.clear();
            self.shown.clear();
        }
        let asking = match self.asking.take() {
            Some(asking) => asking,
            None => start(self.args.clone(), self.seed),
        };
        let gone = || NarratorError::passing("the narrator is gone");
        asking.questions.send(request.to_owned_request()).map_err(|_| gone())?;
        let (start, mut told) = (Instant::now(), false);
        loop {
            match asking.events.recv_timeout(POLL_INTERVAL) {
                Ok(event) => {
                    if let Some(answer) = self.handle_event(event) {
                        self.asking = Some(asking);
                        return answer;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
            if self.pressed.swap(false, Ordering::SeqCst) {
                // Whatever still comes, nobody listens to it: the next question gets a thread of its own.
                if !self.shown.is_empty() {
                    send("\n");
                }
                return Err(NarratorError::passing("you stopped waiting"));
            }
            if !told && self.text.is_empty() && self.screen.is_some() && start.elapsed() > PATIENCE
            {
                told = true;
                Output::status("(the narrator is thinking; Ctrl-C ends the wait)");
            }
        }
    }
}

impl LiveNarrator for RemoteNarrator {
    fn has_shown(&mut self, text: &str) -> bool {
        if self.screen.is_none() || self.text.trim() != crate::output::escape_controls(text).trim()
        {
            if !self.shown.is_empty() {
                send("\n");
            }
            return false;
        }
        self.show(true);
        send("\n");
        true
    }
}
