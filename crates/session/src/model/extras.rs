//! What an entry has besides its text: [`EntryExtras`], with its [`Attachment`]s and [`EntryAction`]s.

use std::borrow::Cow;

use super::Entry;

/// What an entry has besides its text. A format fills in what its records have; the rest is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryExtras {
    /// Pictures, recordings and other files, in order.
    pub attachments: Vec<Attachment>,
    /// Emotes, actions and thoughts of the speaker, in order.
    pub actions: Vec<EntryAction>,
    /// The text as HTML, as it is stored. It may contain anything, and must be sanitized before it is shown.
    pub formatted_text: Option<String>,
    /// The picture of the speaker: a path, a URL, or a picture in base64.
    pub avatar: Option<String>,
}

/// A picture, a recording or another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The kind: `image`, `audio`, `file`, or another word of the record.
    pub kind: String,
    /// Where it is: a path, a URL, or a `data:` URL that contains it.
    pub url: String,
    /// Its description, or its name; may be empty.
    pub description: String,
}

impl Attachment {
    /// Whether it is a picture.
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.kind == "image"
    }

    /// The attachment in words, on one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let place = match self.url.strip_prefix("data:") {
            // A file that is contained in the record has no name, and its bytes are not readable.
            Some(data) => {
                let (kind, bytes) = data.split_once(',').unwrap_or((data, ""));
                let kind = kind.split(';').next().unwrap_or_default();
                format!("{kind}, {} bytes", bytes.len() / 4 * 3)
            }
            None => self.url.clone(),
        };
        match self.description.trim() {
            "" => format!("[{}: {place}]", self.kind),
            description => format!("[{}: {description} ({place})]", self.kind),
        }
    }
}

/// Something that a speaker does or thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryAction {
    /// The kind: `emote`, `action`, `thought`, or another word of the record.
    pub kind: String,
    /// The text.
    pub text: String,
}

impl EntryAction {
    /// The action in words, set apart as readers know it.
    #[must_use]
    pub fn describe(&self) -> String {
        match self.kind.as_str() {
            "thought" => format!("*thinks: {}*", self.text.trim()),
            _ => format!("*{}*", self.text.trim()),
        }
    }
}

impl EntryExtras {
    /// Whether there is nothing to read: a formatted text repeats the text, and an avatar belongs to the speaker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attachments.is_empty() && self.actions.is_empty()
    }

    /// A text, followed by the actions and the attachments in words, each on a line.
    ///
    /// ```
    /// use everturn_session::model::{EntryAction, EntryExtras};
    ///
    /// let look = EntryAction { kind: "emote".to_owned(), text: "looks around".to_owned() };
    /// let extras = EntryExtras { actions: vec![look], ..EntryExtras::default() };
    /// assert_eq!(extras.follow("Where am I?"), "Where am I?\n*looks around*");
    /// ```
    #[must_use]
    pub fn follow<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut lines = Vec::new();
        if !text.trim().is_empty() {
            lines.push(text.trim_end().to_owned());
        }
        lines.extend(self.actions.iter().map(EntryAction::describe));
        lines.extend(self.attachments.iter().map(Attachment::describe));
        Cow::Owned(lines.join("\n"))
    }
}

impl Entry {
    /// Everything in it that can be read: its text, with actions and attachments in words.
    #[must_use]
    pub fn readable_text(&self) -> Cow<'_, str> {
        self.extras.follow(&self.text)
    }

    /// Whether there is nothing in it to read.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty() && self.extras.is_empty()
    }
}
