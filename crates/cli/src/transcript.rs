//! The story of a session as a file of its own: plain text or Markdown, by the ending of its name.

use std::path::{Path, PathBuf};

use everturn::disk::{Disk, DiskFile, Flush, Mode, RealDisk};
use everturn::layout::Reader;
use everturn::names::FilePath;
use everturn::view::{Entry, Kind, Mark};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::harmless;

/// How many bytes are written at once.
const PIECE: usize = 1 << 16;

/// How a transcript is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Markdown,
}

impl Format {
    fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "txt" => Some(Format::Text),
            "md" | "markdown" => Some(Format::Markdown),
            _ => None,
        }
    }

    fn title(self, title: &str) -> String {
        match self {
            Format::Text => format!("{}\n", one_line(title)),
            Format::Markdown => format!("# {}\n", escaped(&one_line(title))),
        }
    }

    fn turn(self, turn: u64, marks: &[&Mark]) -> String {
        let names = marks.iter().map(|mark| format!(": {}", one_line(&mark.name)));
        let names: String = names.collect();
        match self {
            Format::Text => format!("\n[{turn}]{names}\n"),
            Format::Markdown => format!("\n## Turn {turn}{}\n", escaped(&names)),
        }
    }

    /// What was said; what tools did is left out.
    fn entry(self, entry: &Entry) -> Option<String> {
        let text = harmless(entry.text.trim());
        if text.is_empty() || matches!(entry.kind, Kind::ToolCall | Kind::ToolResult) {
            return None;
        }
        let speaker = one_line(&entry.speaker);
        let quoted =
            |text: &str| text.lines().map(|line| format!("> {line}\n")).collect::<String>();
        Some(match (self, &entry.kind) {
            (Format::Text, Kind::User) => format!("\n{speaker}:\n{}", quoted(&text)),
            (Format::Text, _) => format!("\n{text}\n"),
            (Format::Markdown, Kind::User) => {
                format!("\n**{}**\n\n{}", escaped(&speaker), quoted(&escaped(&text)))
            }
            (Format::Markdown, _) => format!("\n{}\n", escaped(&text)),
        })
    }
}

fn one_line(text: &str) -> String {
    harmless(text).replace('\n', " ")
}

/// Text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '|' | '&') {
            shown.push('\\');
        }
        shown.push(character);
    }
    shown
}

/// Writes the story of a session to a file that must not exist; tells how many turns it has.
pub(crate) fn write(reader: &dyn Reader, title: &str, path: &Path) -> Result<u64, Error> {
    let shown = path.display();
    let Some(format) = Format::of(path) else {
        return Err(Error::new(Exit::Request, format!("{shown} ends in neither .md nor .txt"))
            .hint("the ending says how the story is written"));
    };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = FilePath::parse(&name.unwrap_or_default())?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let above = above.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let failed = |cause: std::io::Error| {
        let exists = cause.kind() == std::io::ErrorKind::AlreadyExists;
        let error = Error::new(Exit::Request, format!("cannot write {shown}")).caused_by(cause);
        if exists {
            error.hint("choose a name that is free; nothing is ever written over")
        } else {
            error
        }
    };
    let disk = RealDisk::open(&above).map_err(failed)?;
    let file = disk.create(&name, Mode::Usual).map_err(failed)?;
    let mut target = Target { file, piece: format.title(title) };
    let written = target.story(reader, format).and_then(|turns| {
        target.flush().map_err(failed)?;
        target.file.sync(Flush::CloseFile).map_err(failed)?;
        Ok(turns)
    });
    if written.is_err() {
        // Half a story is worse than none; if even this fails, the error says enough.
        disk.remove(&name).ok();
    }
    written
}

struct Target {
    file: Box<dyn DiskFile>,
    piece: String,
}

impl Target {
    fn story(&mut self, reader: &dyn Reader, format: Format) -> Result<u64, Error> {
        let marks = reader.marks()?;
        let mut entries = reader.entries(reader.turns()?)?;
        let (mut turns, mut last) = (0, None);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if last != Some(entry.turn) {
                let here: Vec<&Mark> =
                    marks.iter().filter(|mark| mark.turn == entry.turn).collect();
                self.piece.push_str(&format.turn(entry.turn, &here));
                (turns, last) = (turns + 1, Some(entry.turn));
            }
            self.piece.push_str(&format.entry(&entry).unwrap_or_default());
            if self.piece.len() > PIECE {
                self.flush().map_err(|cause| {
                    Error::new(Exit::Request, "cannot write the story").caused_by(cause)
                })?;
            }
        }
        Ok(turns)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let mut rest = self.piece.as_bytes();
        while !rest.is_empty() {
            let written = self.file.append(rest)?.written;
            rest = rest.get(written..).unwrap_or_default();
        }
        self.piece.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_how_it_is_written() {
        let format = |name: &str| Format::of(Path::new(name));
        assert_eq!(format("a/story.md"), Some(Format::Markdown));
        assert_eq!(format("story.txt"), Some(Format::Text));
        assert_eq!(format("story.pdf"), None);
        assert_eq!(format("story"), None);
    }

    #[test]
    fn markdown_cannot_be_smuggled_in() {
        assert_eq!(escaped("*<b>*\\ #1"), "\\*\\<b\\>\\*\\\\ \\#1");
    }
}
