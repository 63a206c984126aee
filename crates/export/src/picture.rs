//! Pictures in messages: [`PictureFiles`] reads files beside a session, `Picture` is one that can be shown.
//!
//! A picture is never trusted: its type is found in its bytes, not in its name, and only raster formats that every
//! reader knows are shown. SVG can contain scripts, and a URL would be fetched by the reader; both are only named.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD};
use everturn::model::Attachment;

/// The maximum size of a picture in bytes.
pub const LARGEST_PICTURE: usize = 8 << 20;

/// The maximum number of pixels of a picture.
const MOST_PIXELS: usize = 24_000_000;

/// The minimum length of encoded data in a text that is not shown.
const LONG_DATA: usize = 256;

/// Base64 with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Reads the picture files of a session.
pub trait PictureFiles {
    /// Returns the content of a file beside the session, by its relative path; `None` if there is no such file, if it
    /// is not beside the session, or if it is larger than `limit`.
    fn read(&self, path: &str, limit: usize) -> Option<Vec<u8>>;
}

/// The formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PictureFormat {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl PictureFormat {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            PictureFormat::Png => "image/png",
            PictureFormat::Jpeg => "image/jpeg",
            PictureFormat::Gif => "image/gif",
            PictureFormat::Webp => "image/webp",
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            PictureFormat::Png => "png",
            PictureFormat::Jpeg => "jpg",
            PictureFormat::Gif => "gif",
            PictureFormat::Webp => "webp",
        }
    }
}

/// A picture that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) format: PictureFormat,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Picture {
    /// Returns a picture if its bytes are one of a known format and a sensible size.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Picture> {
        use imagesize::ImageType;
        if bytes.len() > LARGEST_PICTURE {
            return None;
        }
        let format = match imagesize::image_type(&bytes).ok()? {
            ImageType::Png => PictureFormat::Png,
            ImageType::Jpeg => PictureFormat::Jpeg,
            ImageType::Gif => PictureFormat::Gif,
            ImageType::Webp => PictureFormat::Webp,
            _ => return None,
        };
        let size = imagesize::blob_size(&bytes).ok()?;
        let pixels = size.width.checked_mul(size.height)?;
        let is_sensible = (1..=MOST_PIXELS).contains(&pixels);
        let (width, height) = (size.width, size.height);
        is_sensible.then_some(Picture { format, width, height, bytes })
    }

    /// Returns the picture of an attachment: a `data:` URL, or a file beside the session.
    pub(crate) fn of(attachment: &Attachment, files: Option<&dyn PictureFiles>) -> Option<Picture> {
        if !attachment.is_image() {
            return None;
        }
        let url = attachment.url.trim();
        match url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")) {
            Some(_) => Picture::from_bytes(decode_data(url.get(5..)?)?),
            None => {
                let path = url.strip_prefix("./").unwrap_or(url);
                let is_path = !path.is_empty() && !path.contains("://");
                let files = files.filter(|_| is_path)?;
                Picture::from_bytes(files.read(path, LARGEST_PICTURE)?)
            }
        }
    }

    /// Returns the picture as a `data:` URL.
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.format.media_type(), STANDARD.encode(&self.bytes))
    }
}

/// The media type and the bytes of a picture that the record of an attachment contains; `None` if there is none, or if it
/// is not a picture of a known format and a sensible size.
#[must_use]
pub fn safe_picture(attachment: &Attachment) -> Option<(&'static str, Vec<u8>)> {
    let picture = Picture::of(attachment, None)?;
    Some((picture.format.media_type(), picture.bytes))
}

/// Decodes a `data:` URL without its scheme.
fn decode_data(data: &str) -> Option<Vec<u8>> {
    let (kind, encoded) = data.split_once(',')?;
    let is_encoded = kind.rsplit(';').next().is_some_and(|last| last.trim() == "base64");
    if !is_encoded || encoded.len() > LARGEST_PICTURE / 3 * 4 + 4 {
        return None;
    }
    let encoded: Vec<u8> = encoded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    LENIENT.decode(encoded).ok()
}

/// Takes encoded pictures out of a Markdown text. Each becomes an attachment; other long encoded data are only named.
pub(crate) fn take_out_data(text: &str) -> Option<(String, Vec<Attachment>)> {
    if !text.contains("data:") {
        return None;
    }
    let (mut shown, mut taken) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find("data:") {
        let (before, data) = rest.split_at(at);
        let is_data = |c: char| c.is_ascii_alphanumeric() || "+/=;,:-._".contains(c);
        let length = data.find(|c| !is_data(c)).unwrap_or(data.len());
        let (url, after) = data.split_at(length);
        let is_long = url.len() >= LONG_DATA && url.contains(";base64,");
        let picture = picture_start(before).zip(after.find(')'));
        match picture.filter(|_| url.starts_with("data:image/")) {
            Some((start, close)) => {
                let description = before.get(start + 2..before.len() - 2).unwrap_or_default();
                shown.push_str(before.get(..start).unwrap_or_default());
                taken.push(Attachment {
                    kind: "image".to_owned(),
                    url: url.to_owned(),
                    description: description.to_owned(),
                });
                rest = after.get(close + 1..).unwrap_or_default();
            }
            None if is_long => {
                let kind = url.get(5..).and_then(|kind| kind.split(';').next());
                let size = url.len() - url.find(',').unwrap_or(0);
                shown.push_str(before);
                shown.push_str(&format!("[{}, {} bytes]", kind.unwrap_or_default(), size / 4 * 3));
                rest = after;
            }
            None => {
                shown.push_str(before);
                shown.push_str(url);
                rest = after;
            }
        }
    }
    shown.push_str(rest);
    (shown != text).then_some((shown, taken))
}

/// Returns where the Markdown of a picture starts whose URL follows.
fn picture_start(before: &str) -> Option<usize> {
    let inside = before.strip_suffix("](")?;
    let start = inside.rfind("![")?;
    let description = inside.get(start + 2..)?;
    (!description.contains(['[', ']', '\n'])).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of one pixel.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    fn image(url: &str) -> Attachment {
        let (kind, description) = ("image".to_owned(), String::new());
        Attachment { kind, url: url.to_owned(), description }
    }

    struct OneFile;

    impl PictureFiles for OneFile {
        fn read(&self, path: &str, _limit: usize) -> Option<Vec<u8>> {
            (path == "a/map.png").then(|| STANDARD.decode(PNG).unwrap())
        }
    }

    #[test]
    fn a_picture_is_known_by_its_bytes() {
        let of = |url: &str| Picture::of(&image(url), Some(&OneFile)).map(|found| found.format);
        let png = Some(PictureFormat::Png);
        assert_eq!(of(&format!("data:image/png;base64,{PNG}")), png);
        assert_eq!(of(&format!("data:text/html;base64,{}", PNG.trim_end_matches('='))), png);
        assert_eq!(of("a/map.png"), png);
        assert_eq!(of("./a/map.png"), png);
        assert_eq!(of("b.png"), None);
        assert_eq!(of("https://example.org/a/map.png"), None);
        assert_eq!(of("file:///a/map.png"), None);
        assert_eq!(of(&format!("data:image/png,{PNG}")), None);
        let svg = STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>");
        assert_eq!(of(&format!("data:image/svg+xml;base64,{svg}")), None);
        assert_eq!(of(&format!("data:image/png;base64,{svg}")), None);
        let file = Attachment { kind: "file".to_owned(), ..image("a/map.png") };
        assert_eq!(Picture::of(&file, Some(&OneFile)), None);
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        let mut bytes = STANDARD.decode(PNG).unwrap();
        bytes.resize(LARGEST_PICTURE + 1, 0);
        assert_eq!(Picture::from_bytes(bytes.clone()), None);
        let url = format!("data:image/png;base64,{}", STANDARD.encode(&bytes));
        assert_eq!(Picture::of(&image(&url), None), None);
        // A few bytes can claim to be a picture of any size.
        let mut huge = STANDARD.decode(PNG).unwrap();
        huge.splice(16..24, [0, 1, 0, 0, 0, 1, 0, 0]);
        assert_eq!(Picture::from_bytes(huge), None);
    }

    #[test]
    fn encoded_data_are_taken_out_of_a_text() {
        let text = format!("a ![m *x*](data:image/png;base64,{PNG} \"t\") b");
        let (shown, taken) = take_out_data(&text).unwrap();
        assert_eq!(shown, "a  b");
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].description, "m *x*");
        assert!(Picture::of(&taken[0], None).is_some());
        let long = format!("see data:application/pdf;base64,{} end", "A".repeat(400));
        let (shown, taken) = take_out_data(&long).unwrap();
        assert_eq!((shown.as_str(), taken.len()), ("see [application/pdf, 300 bytes] end", 0));
        assert_eq!(take_out_data("the data: none"), None);
        assert_eq!(take_out_data("[x](data:image/png;base64,AA) "), None);
    }
}
