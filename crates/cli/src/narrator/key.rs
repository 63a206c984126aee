//! [`ApiKey`]: the key of an endpoint, which is never shown.
#![expect(clippy::disallowed_methods, reason = "the file of a key is not stored data")]

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::Error;
use crate::exit::Exit;

/// The maximum size of a key file.
const LARGEST: u64 = 16 * 1024;

/// The replacement for a key in messages.
const HIDDEN: &str = "[key]";

/// A key. It can be sent, but never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ApiKey(String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl ApiKey {
    /// Parses a key; `source` names its origin in errors.
    pub(super) fn parse(text: &str, source: &str) -> Result<ApiKey, Error> {
        let text = text.trim();
        let is_sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !is_sendable {
            let what = format!("{source} contains no key: a key is one line of visible characters");
            return Err(Error::new(Exit::Request, what));
        }
        Ok(ApiKey(text.to_owned()))
    }

    /// Reads the key from a file that only its owner can read.
    pub(super) fn read(path: &Path) -> Result<ApiKey, Error> {
        let name = path.display().to_string();
        let failed = |cause: std::io::Error| {
            Error::new(Exit::Request, format!("cannot read the key file {name}")).caused_by(cause)
        };
        // Opening a FIFO would wait for its writer.
        if std::fs::metadata(path).is_ok_and(|facts| !facts.is_file()) {
            return Err(Error::new(Exit::Request, format!("the key file {name} is not a file")));
        }
        let file = File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        if !facts.is_file() {
            return Err(Error::new(Exit::Request, format!("the key file {name} is not a file")));
        }
        if facts.mode() & 0o077 != 0 {
            let what = format!("the key file {name} can be read by other users");
            return Err(Error::new(Exit::Request, what).hint(format!("chmod 600 {name}")));
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).map_err(failed)?;
        ApiKey::parse(&text, &format!("the key file {name}"))
    }

    /// Returns the value of the header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Removes the key from a text: an endpoint may quote the request.
    pub(super) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::parse(" sk-secret\n", "a test").unwrap();
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[key] Some([key])");
        assert_eq!(key.hide_in("bad key sk-secret!"), "bad key [key]!");
        assert_eq!(key.header(), "Bearer sk-secret");
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_without_showing_it() {
        for wrong in ["", "  \n", "sk-a\nsk-b", "sk \u{1b}", "schlüssel"] {
            let error = ApiKey::parse(wrong, "a test").unwrap_err().to_string();
            assert_eq!(error, "a test contains no key: a key is one line of visible characters");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        std::fs::write(&file, "sk-secret\n").unwrap();
        for (mode, is_fine) in
            [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o666, false)]
        {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = ApiKey::read(&file);
            assert_eq!(read.is_ok(), is_fine, "{mode:o}");
            if let Err(error) = read {
                assert!(error.to_string().ends_with("can be read by other users"), "{error}");
            }
        }
        assert!(ApiKey::read(dir.path()).is_err());
        assert!(
            ApiKey::read(&dir.path().join("none"))
                .unwrap_err()
                .to_string()
                .contains("cannot read the key file")
        );
    }
}
