//! The narrator at the table: one who answers at once, or one who is far away, and can be waited for in vain.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use everturn::campaign::{Embedded, Narrator, NarratorError, Output as Answer, Question, Request};

use super::page::Screen;
use crate::error::Error;
use crate::narrator::{NarratorArgs, Shown};
use crate::output::Output;
use everturn_export::columns::wrap;

/// How long Ctrl-C may go unnoticed.
const GLANCE: Duration = Duration::from_millis(50);

/// How long somebody waits before they are told how to stop waiting.
const PATIENCE: Duration = Duration::from_secs(3);

/// A narrator that may show its text while it is being told.
pub(crate) trait Voice: Narrator {
    /// Whether the player has seen this text already.
    fn has_shown(&mut self, text: &str) -> bool;
}

impl Voice for Embedded {
    fn has_shown(&mut self, _: &str) -> bool {
        false
    }
}

/// What comes from the thread that asks.
enum Event {
    Text(String),
    Again,
    Remark(String),
    Done(Result<Answer, NarratorError>),
}

/// The thread that asks, as long as it is listened to.
struct Asking {
    questions: Sender<Question>,
    events: Receiver<Event>,
}

/// A narrator that is asked in a thread of its own, so that waiting for it can be ended.
pub(crate) struct Distant {
    args: NarratorArgs,
    seed: u64,
    asking: Option<Asking>,
    /// Whether Ctrl-C was pressed.
    pressed: Arc<AtomicBool>,
    /// How text is shown while it arrives, if it is.
    screen: Option<Screen>,
    /// What has arrived of the answer, and what was shown of it.
    text: String,
    shown: String,
}

impl Distant {
    /// Looks whether there could be such a narrator. With a screen, its text is shown while it arrives.
    pub(crate) fn new(
        args: &NarratorArgs,
        seed: u64,
        pressed: Arc<AtomicBool>,
    ) -> Result<Distant, Error> {
        drop(args.build(seed, Box::new(|_| {}))?);
        let (args, text, shown) = (args.clone(), String::new(), String::new());
        Ok(Distant { args, seed, asking: None, pressed, screen: None, text, shown })
    }

    /// Shows text on this screen while it arrives.
    pub(super) fn show_on(&mut self, screen: Option<Screen>) {
        self.screen = screen;
    }

    /// Shows as much of the text as cannot change any more.
    fn show(&mut self, is_whole: bool) {
        let Some(screen) = self.screen else { return };
        let end = match is_whole {
            true => self.text.len(),
            false => self.text.rfind(char::is_whitespace).unwrap_or(0),
        };
        let ready = wrap(self.text.get(..end).unwrap_or_default().trim_end(), screen.width);
        let ready = ready.join("\n");
        if let Some(more) = ready.strip_prefix(self.shown.as_str()) {
            send(more);
            self.shown = ready;
        }
    }

    fn hear(&mut self, event: Event) -> Option<Result<Answer, NarratorError>> {
        match event {
            Event::Text(piece) => {
                self.text.push_str(&piece);
                self.show(false);
            }
            Event::Again => self.forget(),
            Event::Remark(remark) => Output::status(&remark),
            Event::Done(answer) => return Some(answer),
        }
        None
    }

    /// What was shown does not count.
    fn forget(&mut self) {
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
fn start(args: NarratorArgs, seed: u64) -> Asking {
    let (questions, asked) = mpsc::channel::<Question>();
    let (tell, events) = mpsc::channel();
    std::thread::spawn(move || {
        let listener = {
            let tell = tell.clone();
            move |shown: Shown<'_>| {
                let event = match shown {
                    Shown::Text(text) => Event::Text(text.to_owned()),
                    Shown::Again => Event::Again,
                    Shown::Remark(remark) => Event::Remark(remark.to_owned()),
                };
                // Nobody waits any more.
                tell.send(event).ok();
            }
        };
        let mut narrator = match args.build(seed, Box::new(listener)) {
            Ok(narrator) => narrator,
            Err(error) => {
                let failed = NarratorError::new(error.to_string());
                tell.send(Event::Done(Err(failed))).ok();
                return;
            }
        };
        while let Ok(question) = asked.recv() {
            let answer = narrator.narrate(&question.as_request());
            if tell.send(Event::Done(answer)).is_err() {
                return;
            }
        }
    });
    Asking { questions, events }
}

impl Narrator for Distant {
    fn narrate(&mut self, request: &Request<'_>) -> Result<Answer, NarratorError> {
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
        asking.questions.send(request.to_question()).map_err(|_| gone())?;
        let (start, mut told) = (Instant::now(), false);
        loop {
            match asking.events.recv_timeout(GLANCE) {
                Ok(event) => {
                    if let Some(answer) = self.hear(event) {
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

impl Voice for Distant {
    fn has_shown(&mut self, text: &str) -> bool {
        if self.screen.is_none() || self.text.trim() != crate::output::harmless(text).trim() {
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
