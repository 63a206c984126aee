//! The line protocol: [`RequestLines`] reads lines of bounded length, and
//! [`SessionHandler::answer_line`] answers each with one line.

use std::fmt;
use std::io::{self, BufRead};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::{ErrorCode, RequestError};
use crate::handler::SessionHandler;
use crate::request::Request;
use crate::response::Response;

/// The maximum length of a line in bytes.
pub const MAX_LINE: usize = 16 << 20;

/// The maximum length of a request ID in bytes.
const MAX_ID: usize = 200;

/// A line of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestLine {
    /// A line, without its newline.
    Whole(Vec<u8>),
    /// A line that is too long to be held; it was skipped.
    TooLong,
}

/// The lines of an input, each of bounded length. Lines of white space are skipped.
pub struct RequestLines<R> {
    input: R,
    max: usize,
}

impl<R: BufRead> RequestLines<R> {
    /// Reads lines of at most `max` bytes, such as [`MAX_LINE`].
    pub fn new(input: R, max: usize) -> RequestLines<R> {
        RequestLines { input, max }
    }

    /// Reads up to a newline or the end; `None` at the end.
    fn read_line(&mut self) -> io::Result<Option<RequestLine>> {
        let mut line = Vec::new();
        let (mut is_started, mut is_too_long) = (false, false);
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                break;
            }
            is_started = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
            is_too_long |= line.len() + part.len() > self.max;
            if is_too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        let line = if is_too_long { RequestLine::TooLong } else { RequestLine::Whole(line) };
        Ok(is_started.then_some(line))
    }
}

impl<R: BufRead> Iterator for RequestLines<R> {
    type Item = io::Result<RequestLine>;

    fn next(&mut self) -> Option<io::Result<RequestLine>> {
        loop {
            match self.read_line().transpose()? {
                Ok(RequestLine::Whole(line)) if line.trim_ascii().is_empty() => {}
                line => return Some(line),
            }
        }
    }
}

/// The answer to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineAnswer {
    /// One JSON object without a newline.
    pub text: String,
    /// Whether the conversation is over.
    pub is_last: bool,
}

/// The parts of a line: the ID to be echoed, as JSON, and the request.
struct ParsedLine {
    id: Option<String>,
    request: Result<Request, RequestError>,
}

impl SessionHandler {
    /// Answers a line of the input. It always has an answer.
    pub fn answer(&mut self, line: &RequestLine) -> LineAnswer {
        match line {
            RequestLine::Whole(line) => self.answer_line(line),
            RequestLine::TooLong => {
                let error = RequestError::new(ErrorCode::TooLong, "the line is too long")
                    .hint(format!("a line may have {MAX_LINE} bytes"));
                LineAnswer { text: render(None, &Err(error)), is_last: false }
            }
        }
    }

    /// Answers a request given as one JSON object: `{"request": NAME, "id"?: ID, …}`.
    pub fn answer_line(&mut self, line: &[u8]) -> LineAnswer {
        let ParsedLine { id, request } = parse_line(line);
        let answer = request.and_then(|request| self.handle(&request));
        LineAnswer { text: render(id.as_deref(), &answer), is_last: self.is_closed() }
    }
}

fn render(id: Option<&str>, answer: &Result<Response, RequestError>) -> String {
    let text = match answer {
        Ok(response) => serde_json::to_string(response).map(|text| format!("\"ok\":{text}")),
        Err(error) => serde_json::to_string(error).map(|text| format!("\"error\":{text}")),
    };
    // The answers have no maps and no numbers that JSON lacks.
    let text = text.unwrap_or_else(|_| "\"ok\":{}".to_owned());
    match id {
        Some(id) => format!("{{\"id\":{id},{text}}}"),
        None => format!("{{{text}}}"),
    }
}

/// The members of an object, with repeated ones.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct MemberVisitor;

        impl<'de> Visitor<'de> for MemberVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MemberVisitor)
    }
}

fn parse_line(line: &[u8]) -> ParsedLine {
    let failed = |error: RequestError| ParsedLine { id: None, request: Err(error) };
    let bad_json = |what: String| failed(RequestError::new(ErrorCode::BadJson, what));
    let Ok(text) = std::str::from_utf8(line) else {
        return bad_json("the line is not UTF-8".to_owned());
    };
    let Members(members) = match serde_json::from_str(text) {
        Ok(members) => members,
        Err(error) => return bad_json(format!("the line is not a JSON object: {error}")),
    };
    let (mut id, mut name, mut fields) = (None, None, Vec::new());
    let mut repeated = None;
    for (key, value) in members {
        match key.as_str() {
            "id" if id.is_none() => id = Some(value),
            "request" if name.is_none() => name = Some(value),
            "id" | "request" => repeated = Some(key),
            _ => fields.push((key, value)),
        }
    }
    let id = match id.map(|id| check_id(&id)).transpose() {
        Ok(id) => id,
        Err(error) => return failed(error),
    };
    let name = name.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    let request = match (repeated, name) {
        (Some(key), _) => {
            let what = format!("duplicate field `{key}`");
            Err(RequestError::new(ErrorCode::BadRequest, what).at(key))
        }
        (None, Some(name)) => Request::parse(&name, &object_text(&fields)),
        (None, None) => {
            let what = "the field request, which must be a string, is missing";
            Err(RequestError::new(ErrorCode::BadRequest, what)
                .at("request")
                .hint(format!("known requests: {}", Request::NAMES.join(", "))))
        }
    };
    ParsedLine { id, request }
}

/// The members as an object; repeated ones stay, so that they are refused.
fn object_text(fields: &[(String, Box<RawValue>)]) -> String {
    let member = |(key, value): &(String, Box<RawValue>)| {
        let key = serde_json::to_string(key).unwrap_or_default();
        format!("{key}:{value}")
    };
    format!("{{{}}}", fields.iter().map(member).collect::<Vec<_>>().join(","))
}

/// Returns the text of an ID, which is echoed as it is.
fn check_id(id: &RawValue) -> Result<String, RequestError> {
    let text = id.get();
    let is_scalar = text.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'));
    if is_scalar && text.len() <= MAX_ID {
        return Ok(text.to_owned());
    }
    let what = format!("id must be a string or a number of at most {MAX_ID} bytes");
    Err(RequestError::new(ErrorCode::BadRequest, what).at("id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], max: usize, buffer: usize) -> Vec<RequestLine> {
        let input = io::BufReader::with_capacity(buffer, input);
        RequestLines::new(input, max).map(Result::unwrap).collect()
    }

    #[test]
    fn lines_are_read_whatever_the_buffer_and_long_ones_are_skipped() {
        let input = b"one\n\n  \r\ntwo\r\n123456\n1234567\n\xff\nlast";
        let whole = |text: &[u8]| RequestLine::Whole(text.to_vec());
        for buffer in [1, 2, 3, 7, 100] {
            let expect = [
                whole(b"one"),
                whole(b"two\r"),
                whole(b"123456"),
                RequestLine::TooLong,
                whole(b"\xff"),
                whole(b"last"),
            ];
            assert_eq!(lines(input, 6, buffer), expect, "{buffer}");
        }
        assert_eq!(lines(b"", 6, 3), []);
        assert_eq!(lines(b"12345678", 6, 3), [RequestLine::TooLong]);
    }
}
