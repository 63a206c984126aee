//! [`LiveNarrator`]: a narrator that answers at once, or a [`RemoteNarrator`], whose answer can be cancelled.

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

/// The maximum delay before Ctrl-C is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the player waits before a sign of life is shown, and how often it changes.
const PATIENCE: Duration = Duration::from_millis(700);
const FRAME: Duration = Duration::from_millis(200);
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// A narrator that may show its text while it arrives.
pub(crate) trait LiveNarrator: Narrator {
    /// Returns whether the player has already seen this text.
    fn has_shown(&mut self, text: &str) -> bool;

    /// Receives texts of earlier turns for the next request.
    fn recall(&mut self, texts: Vec<String>);

    /// Returns whether earlier turns are of use for it.
    fn needs_recall(&self) -> bool;
}

impl LiveNarrator for EmbeddedNarrator {
    fn has_shown(&mut self, _: &str) -> bool {
        false
    }

    // The world of the embedded narrator is stored.
    fn recall(&mut self, _: Vec<String>) {}

    fn needs_recall(&self) -> bool {
        false
    }
}

/// An event from the request thread.
enum NarratorEvent {
    Text(String),
    Again,
    Remark(String),
    Done(Result<Answer, NarratorError>),
}

/// The request thread, as long as its events are received.
struct NarratorThread {
    questions: Sender<OwnedRequest>,
    events: Receiver<NarratorEvent>,
}

/// A narrator that runs in its own thread, so that waiting for it can be cancelled.
pub(crate) struct RemoteNarrator {
    args: NarratorArgs,
    seed: u64,
    asking: Option<NarratorThread>,
    /// Whether Ctrl-C was pressed.
    pressed: Arc<AtomicBool>,
    /// The display options for text while it arrives; `None` if it is not shown.
    screen: Option<ScreenOptions>,
    /// The text that has arrived, and the part that was shown.
    text: String,
    shown: String,
    /// The texts of earlier turns for the next request.
    recalled: Vec<String>,
    /// Whether the sign of life is on the screen.
    is_waiting_shown: bool,
}

impl RemoteNarrator {
    /// Creates a narrator, after checking that its configuration is valid.
    pub(crate) fn new(
        args: &NarratorArgs,
        seed: u64,
        pressed: Arc<AtomicBool>,
    ) -> Result<RemoteNarrator, Error> {
        drop(args.build(seed, Box::new(|_| {}))?);
        Ok(RemoteNarrator {
            args: args.clone(),
            seed,
            asking: None,
            pressed,
            screen: None,
            text: String::new(),
            shown: String::new(),
            recalled: Vec::new(),
            is_waiting_shown: false,
        })
    }

    /// Shows text with these options while it arrives.
    pub(super) fn show_on(&mut self, screen: Option<ScreenOptions>) {
        self.screen = screen;
    }

    /// Shows the part of the text that can no longer change.
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
        self.clear_waiting();
        match event {
            NarratorEvent::Text(piece) => {
                self.text.push_str(&piece);
                self.show(false);
            }
            NarratorEvent::Again => self.reset_shown(),
            NarratorEvent::Remark(warning) => Output::status(&warning),
            NarratorEvent::Done(answer) => {
                if answer.is_err() && !self.shown.is_empty() {
                    send("\n");
                    self.shown.clear();
                }
                return Some(answer);
            }
        }
        None
    }

    /// Shows that the narrator is waited for.
    fn show_waiting(&mut self, since: Duration) {
        let count = usize::try_from(since.as_millis() / FRAME.as_millis()).unwrap_or(0);
        let frame = FRAMES.get(count % FRAMES.len()).copied().unwrap_or_default();
        send(&format!("\r{frame} the narrator is thinking; Ctrl-C cancels\u{1b}[K"));
        self.is_waiting_shown = true;
    }

    fn clear_waiting(&mut self) {
        if std::mem::take(&mut self.is_waiting_shown) {
            send("\r\u{1b}[K");
        }
    }

    /// Discards the text shown so far.
    fn reset_shown(&mut self) {
        if !self.shown.is_empty() {
            send("\n(The answer was rejected; the narrator tries again.)\n");
        }
        self.text.clear();
        self.shown.clear();
    }
}

fn send(text: &str) {
    let mut stdout = io::stdout().lock();
    // If it cannot be shown now, the page that follows fails, too, and reports it.
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).ok();
}

/// Starts a request thread.
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
                // The receiver may have stopped waiting.
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
        let gone = || NarratorError::passing("the narrator stopped");
        let question = request.to_owned_request().with_recalled(self.recalled.clone());
        asking.questions.send(question).map_err(|_| gone())?;
        let start = Instant::now();
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
                // Later events are ignored: the next request gets a thread of its own.
                self.clear_waiting();
                if !self.shown.is_empty() {
                    send("\n");
                }
                return Err(NarratorError::passing("the request was cancelled"));
            }
            if self.text.is_empty() && self.screen.is_some() && start.elapsed() > PATIENCE {
                self.show_waiting(start.elapsed());
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

    fn recall(&mut self, texts: Vec<String>) {
        self.recalled = texts;
    }

    fn needs_recall(&self) -> bool {
        true
    }
}
