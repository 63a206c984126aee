//! Pictures in entries, by reference. Their type is found in their bytes; nothing else is served as a file.

use everturn::model::{Attachment, Entry};
use everturn_export::picture::safe_picture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::route::{Answer, Call, FileAnswer, Route};

/// The media types that are served.
const MEDIA: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The most attachments of an answer.
const MOST: usize = 1000;

/// The turns whose attachments to list.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AttachmentsQuery {
    /// The first turn.
    from: Option<u64>,
    /// The last turn.
    to: Option<u64>,
}

/// An attachment of an entry.
#[derive(Debug, Serialize, JsonSchema)]
struct AttachmentView {
    /// The turn.
    turn: u64,
    /// The position of the entry in the session.
    seq: u64,
    /// The number of the attachment in the entry, counted from 1.
    number: u64,
    /// The kind: `image`, `audio`, `file`, or another word of the record.
    kind: String,
    /// Its description, in words.
    description: String,
    /// The media type, if it can be fetched.
    media: Option<String>,
}

/// The attachments of some turns.
#[derive(Debug, Serialize, JsonSchema)]
struct AttachmentsAnswer {
    /// The attachments, in order.
    attachments: Vec<AttachmentView>,
    /// Whether there are more.
    more: bool,
}

fn views(entry: &Entry) -> impl Iterator<Item = AttachmentView> + '_ {
    let view = |(at, attachment): (usize, &Attachment)| AttachmentView {
        turn: entry.turn,
        seq: entry.seq,
        number: at as u64 + 1,
        kind: attachment.kind.clone(),
        description: match attachment.description.trim() {
            "" => attachment.describe(),
            description => description.to_owned(),
        },
        media: safe_picture(attachment).map(|(media, _)| media.to_owned()),
    };
    entry.extras.attachments.iter().enumerate().map(view)
}

fn list_attachments(
    call: &Call<'_>,
    query: AttachmentsQuery,
) -> Result<Answer<AttachmentsAnswer>, Problem> {
    let reader = call.library.reader(&call.session()?, None)?;
    let mut answer = AttachmentsAnswer { attachments: Vec::new(), more: false };
    let range = query.from.unwrap_or(0)..=query.to.unwrap_or(u64::MAX);
    let mut entries = reader.entries(range)?;
    while let Some(entry) = entries.next().transpose()? {
        answer.attachments.extend(views(&entry));
        if answer.attachments.len() > MOST {
            answer.attachments.truncate(MOST);
            answer.more = true;
            break;
        }
    }
    Ok(Answer::ok(answer))
}

/// The attachment to fetch.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AttachmentQuery {
    /// The turn of the entry.
    turn: u64,
    /// The position of the entry in the session.
    seq: u64,
    /// The number of the attachment in the entry, counted from 1.
    number: u64,
}

fn get_attachment(call: &Call<'_>, query: AttachmentQuery) -> Result<FileAnswer, Problem> {
    let reader = call.library.reader(&call.session()?, None)?;
    let missing = || Problem::not_found("there is no such attachment").at("number");
    let mut entries = reader.entries(query.turn..=query.turn)?;
    while let Some(entry) = entries.next().transpose()? {
        if entry.seq != query.seq {
            continue;
        }
        let number = usize::try_from(query.number).unwrap_or(0).checked_sub(1);
        let attachment = number.and_then(|number| entry.extras.attachments.get(number));
        let attachment = attachment.ok_or_else(missing)?;
        let (media, bytes) = safe_picture(attachment).ok_or_else(|| {
            Problem::not_found("the attachment is not a picture that the session contains")
                .hint("only PNG, JPEG, GIF and WebP pictures in the session itself are served")
        })?;
        let name =
            format!("{}-{}.{}", query.turn, query.number, media.trim_start_matches("image/"));
        return Ok(FileAnswer { bytes, media, name });
    }
    Err(missing())
}

pub(super) fn routes() -> Vec<Route> {
    let all = "/api/v1/sessions/{session}/attachments";
    let one = "/api/v1/sessions/{session}/attachment";
    vec![
        Route::get((all, "listAttachments", "Attachments of some turns."), list_attachments),
        Route::file((one, "getAttachment", "A picture in an entry."), MEDIA, get_attachment),
    ]
}
