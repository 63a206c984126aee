//! [`MessageReader`] reads the messages of a chat log in order.

use super::{ChatLog, Message};
use crate::content::ArrayElements;
use crate::error::ChatError;
use crate::survey::ListKind;
use everturn_value::tree::JsonTree;

/// Reads messages in order.
pub struct MessageReader<'l> {
    log: &'l ChatLog,
    place: u64,
    last: u64,
    elements: Option<ArrayElements>,
}

impl<'l> MessageReader<'l> {
    /// Reads the messages from one place to another.
    pub(crate) fn new(log: &'l ChatLog, place: u64, last: u64) -> MessageReader<'l> {
        MessageReader { log, place, last, elements: None }
    }

    /// The text of the next element of the document.
    fn stored(&mut self) -> Result<String, ChatError> {
        let log = self.log;
        if self.elements.is_none() {
            let place = self.place;
            let elements = log.by_index(|index| {
                let (first, offset) = index.block(place)?;
                let close = index.list(ListKind::Messages).map_or(0, |facts| facts.close);
                let mut elements = ArrayElements::new(&log.content, offset, close);
                for _ in first..place {
                    elements.next()?;
                }
                Ok(elements)
            })?;
            self.elements = Some(elements);
        }
        let element = match &mut self.elements {
            Some(elements) => elements.next()?,
            None => None,
        };
        let file = &log.files.document;
        let missing = || ChatError::damaged(file, "it has fewer messages than before");
        element.ok_or_else(missing)?.into_text(file)
    }

    fn read(&mut self) -> Result<JsonTree, ChatError> {
        let (log, place) = (self.log, self.place);
        let text = if place <= log.stored_count(ListKind::Messages) {
            self.stored()?
        } else {
            let missing = || ChatError::damaged(&log.files.journal, "a message is missing");
            let line = log.overlay.messages.get(&place).ok_or_else(missing)?;
            log.journal_value(line)?.to_line()
        };
        log.with_edits(ListKind::Messages, place, text)
    }
}

impl Iterator for MessageReader<'_> {
    type Item = Result<Message, ChatError>;

    fn next(&mut self) -> Option<Result<Message, ChatError>> {
        while self.place <= self.last {
            let place = self.place;
            let kept = self.log.is_kept(place);
            if !kept
                && (self.elements.is_none() || place > self.log.stored_count(ListKind::Messages))
            {
                self.place += 1;
                continue;
            }
            let tree = self.read();
            self.place += 1;
            match tree {
                Ok(tree) if kept => {
                    let number = self.log.number_of(place);
                    return Some(Ok(Message { number, place, tree }));
                }
                Ok(_) => {}
                Err(error) => {
                    self.place = self.last + 1;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
