//! Pins: sessions that stay whatever a policy says. They are kept beside the sessions, one small file each.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use everturn_json::names::FilePath;
use everturn_session::layout::{Layout, LayoutError};
use everturn_session::trash::names;
use everturn_session::view::Place;
use everturn_store::{
    Durability, Expect, Secrecy, Step, Store, StoreError, pins_dir, read_if_there,
};

/// A session that was pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The name of its layout.
    pub layout: String,
    /// The session.
    pub session: String,
    /// When it was pinned.
    pub time: Option<Timestamp>,
}

fn file(layout: &dyn Layout, place: &Place) -> Result<FilePath, LayoutError> {
    let name = FilePath::parse(&format!("{}/{}", layout.name(), layout.lasting_name(place)))?;
    Ok(pins_dir().join(&name.flat_name(".json")))
}

/// Whether a session is pinned. A pin that cannot be read is one.
pub fn is_pinned(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<bool, LayoutError> {
    match store.stat(&file(layout, place)?) {
        Ok(stat) => Ok(stat.is_some()),
        Err(StoreError::Missing { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Pins a session; says whether it was not pinned before.
pub fn pin(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
    now: Timestamp,
) -> Result<bool, LayoutError> {
    layout.must_be_own(place)?;
    let file = file(layout, place)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let is_new = !is_pinned(store, layout, place)?;
    if is_new {
        let value = json!({
            "layout": layout.name(), "session": place.id, "path": place.path.as_str(),
            "time": now.to_string(),
        });
        let (bytes, expect) = (format!("{value}\n").into_bytes(), Expect::Absent);
        let step = Step::Replace { file, expect, bytes, secrecy: Secrecy::Usual };
        writer.commit(vec![step], Durability::Synced)?;
    }
    writer.release()?;
    Ok(is_new)
}

/// Takes the pin of a session away; says whether it had one.
pub fn unpin(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<bool, LayoutError> {
    let file = file(layout, place)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let was = is_pinned(store, layout, place)?;
    if was {
        writer.commit(vec![Step::Remove { path: file }], Durability::Synced)?;
    }
    writer.release()?;
    Ok(was)
}

/// All pins, in the order of their files.
pub fn pins(store: &Arc<dyn Store>) -> Result<Vec<Pin>, LayoutError> {
    let mut pins = Vec::new();
    for file in names(store, &pins_dir())? {
        let Some(bytes) = read_if_there(store, &file)? else { continue };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| LayoutError::damaged(format!("{file} cannot be read: {error}")))?;
        let text =
            |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let time = text("time").parse().ok();
        pins.push(Pin { layout: text("layout"), session: text("session"), time });
    }
    Ok(pins)
}
