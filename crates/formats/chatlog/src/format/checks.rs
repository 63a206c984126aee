//! How a check of files recognises and checks chat logs.

use std::sync::Arc;

use super::ChatFormat;
use crate::check::{check_log, is_document, journal_of_chat_log};
use crate::error::ChatError;
use everturn_json::names::FilePath;
use everturn_session::finding_sink::FindingSink;
use everturn_session::format::{CheckScope, CheckedFormat, FormatCheck, SessionError};
use everturn_store::{Store, StoreError};

impl CheckedFormat for ChatFormat {
    /// A chat log is a file.
    fn session_paths(&self, _: &Arc<dyn Store>, _: &FilePath) -> Option<Vec<FilePath>> {
        None
    }

    fn check_session(
        &self,
        _: &Arc<dyn Store>,
        _: &FilePath,
        _: &mut dyn FindingSink,
    ) -> Result<FormatCheck, SessionError> {
        Ok(FormatCheck::default())
    }

    fn check_home(
        &self,
        _: &Arc<dyn Store>,
        _: &FilePath,
        _: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        Ok(None)
    }

    /// Checks a chat log with its journal.
    fn check_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        _: CheckScope,
        sink: &mut dyn FindingSink,
    ) -> Result<Option<FormatCheck>, SessionError> {
        if journal_of_chat_log(store, file) {
            // It is checked with its document.
            return Ok(Some(FormatCheck::default()));
        }
        if !is_document(store, file).is_ok_and(|is| is) {
            return Ok(None);
        }
        sink.file(file);
        match check_log(store, file) {
            Ok((findings, records)) => Ok(Some(FormatCheck::of_file(records, findings))),
            Err(ChatError::Store(error @ StoreError::Busy { .. })) => Err(error.into()),
            // It is checked as a document, which reports the reason.
            Err(_) => Ok(None),
        }
    }
}
