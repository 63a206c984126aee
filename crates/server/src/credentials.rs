//! [`Credentials`]: the secrets of one start of the server.
//!
//! A one-time code is printed once. It is exchanged for a cookie (in a browser) or a token (in a program), and is then
//! void. None of them survives the process. Secrets are compared in constant time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use subtle::ConstantTimeEq;

use crate::audit::Principal;

/// The bytes of a secret.
const SECRET_BYTES: usize = 32;

/// How many secrets of a kind are valid at a time; the oldest gives way.
const MAX_SECRETS: usize = 64;

/// A secret as text.
fn new_secret() -> Result<String, getrandom::Error> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).map(|digit| char::from(*digit));
    Ok(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).flatten().collect())
}

#[derive(Debug, Default)]
struct SecretLists {
    codes: Vec<String>,
    cookies: Vec<String>,
    tokens: Vec<String>,
}

/// The valid codes, cookies and tokens.
#[derive(Default)]
pub(crate) struct Credentials {
    lists: Mutex<SecretLists>,
}

/// Whether a secret is in a list. All are compared, so that the time does not depend on which one matches.
fn contains(list: &[String], given: &str) -> bool {
    list.iter()
        .fold(false, |found, known| found | bool::from(known.as_bytes().ct_eq(given.as_bytes())))
}

fn push(list: &mut Vec<String>, secret: String) {
    if list.len() >= MAX_SECRETS {
        list.remove(0);
    }
    list.push(secret);
}

impl Credentials {
    fn lists(&self) -> MutexGuard<'_, SecretLists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a one-time code.
    pub(crate) fn new_code(&self) -> Result<String, getrandom::Error> {
        let code = new_secret()?;
        push(&mut self.lists().codes, code.clone());
        Ok(code)
    }

    /// Names this start of the server. It is no secret.
    pub(crate) fn new_start_id(&self) -> Result<String, getrandom::Error> {
        Ok(new_secret()?.chars().take(12).collect())
    }

    /// Exchanges a code for a cookie or a token; `None` if the code is not valid. It is void afterwards.
    pub(crate) fn redeem(
        &self,
        code: &str,
        principal: Principal,
    ) -> Result<Option<String>, getrandom::Error> {
        let secret = new_secret()?;
        let mut lists = self.lists();
        if !contains(&lists.codes, code) {
            return Ok(None);
        }
        lists.codes.retain(|known| !bool::from(known.as_bytes().ct_eq(code.as_bytes())));
        match principal {
            Principal::Browser => push(&mut lists.cookies, secret.clone()),
            Principal::Program => push(&mut lists.tokens, secret.clone()),
        }
        Ok(Some(secret))
    }

    pub(crate) fn is_cookie(&self, given: &str) -> bool {
        contains(&self.lists().cookies, given)
    }

    pub(crate) fn is_token(&self, given: &str) -> bool {
        contains(&self.lists().tokens, given)
    }

    /// Makes a cookie or a token void.
    pub(crate) fn revoke(&self, given: &str) {
        let mut lists = self.lists();
        let is_other = |known: &String| !bool::from(known.as_bytes().ct_eq(given.as_bytes()));
        lists.cookies.retain(is_other);
        lists.tokens.retain(is_other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once() {
        let credentials = Credentials::default();
        let code = credentials.new_code().unwrap();
        assert_eq!(code.len(), 2 * SECRET_BYTES);
        assert_eq!(credentials.redeem("", Principal::Browser).unwrap(), None);
        let cookie = credentials.redeem(&code, Principal::Browser).unwrap().unwrap();
        assert_ne!(cookie, code);
        assert!(credentials.is_cookie(&cookie) && !credentials.is_token(&cookie));
        assert!(!credentials.is_cookie(&code) && !credentials.is_cookie(""));
        assert_eq!(credentials.redeem(&code, Principal::Program).unwrap(), None);
        credentials.revoke(&cookie);
        assert!(!credentials.is_cookie(&cookie));
    }

    #[test]
    fn the_number_of_cookies_is_bounded() {
        let credentials = Credentials::default();
        let mut cookies = Vec::new();
        for _ in 0..=MAX_SECRETS {
            let code = credentials.new_code().unwrap();
            cookies.push(credentials.redeem(&code, Principal::Browser).unwrap().unwrap());
        }
        assert!(!credentials.is_cookie(&cookies[0]));
        assert!(cookies[1..].iter().all(|cookie| credentials.is_cookie(cookie)));
    }
}
