//! [`TrashItem`]: sessions in the trash of a [`Root`], which are restored or removed.

use everturn_maintenance::registry;
use everturn_session::format::{Operation, SessionError, SessionFormat};
use everturn_session::model::TrashedSession;

use crate::error::Error;
use crate::root::Root;
use crate::session::AnySession;

/// A session in the trash. [`Transition::Trash`](crate::Transition::Trash) moves it there.
#[derive(Debug, Clone)]
pub struct TrashItem {
    /// Its format.
    pub format: &'static dyn SessionFormat,
    /// Its name in the trash, its ID, and where it was.
    pub trashed: TrashedSession,
}

impl Root {
    /// The sessions in the trash.
    pub fn trash(&self) -> Result<Vec<TrashItem>, Error> {
        let mut items = Vec::new();
        for format in registry::ALL {
            let Some(lifecycle) = format.capabilities().lifecycle else { continue };
            let trashed = lifecycle.list_trash(self.store())?.into_iter();
            items.extend(trashed.map(|trashed| TrashItem { format: *format, trashed }));
        }
        Ok(items)
    }

    /// Restores a session from the trash, by its name there, or by its ID if only one session in the trash has it.
    pub fn restore(&self, name: &str) -> Result<AnySession, Error> {
        let items = self.trash()?;
        let by_name: Vec<&TrashItem> =
            items.iter().filter(|item| item.trashed.name == name).collect();
        let by_id: Vec<&TrashItem> = items.iter().filter(|item| item.trashed.id == name).collect();
        let found = if by_name.is_empty() { by_id } else { by_name };
        match found.as_slice() {
            [] => {
                let known = items.iter().map(|item| item.trashed.name.clone()).collect();
                Err(Error::NoSession { name: name.to_owned(), known })
            }
            [item] => {
                let lifecycle = item.format.lifecycle(Operation::Restore)?;
                let place = lifecycle.restore(self.store(), &item.trashed.name)?;
                Ok(self.session_at(item.format, place))
            }
            several => {
                let paths = several.iter().map(|item| item.trashed.name.clone()).collect();
                Err(Error::Ambiguous { name: name.to_owned(), paths })
            }
        }
    }

    /// Removes a session in the trash permanently, if it is still as it was listed.
    pub fn purge(&self, item: &TrashItem) -> Result<(), Error> {
        let lifecycle = item.format.lifecycle(Operation::Purge)?;
        let purged = lifecycle.purge(self.store(), std::slice::from_ref(&item.trashed));
        purged.map_err(SessionError::into)
    }
}
