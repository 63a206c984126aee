//! Pins: pinned sessions never expire. Each [`Pin`] is one small file beside the sessions.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use everturn_json::names::FilePath;
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::model::SessionRef;
use everturn_session::trash::list_dir;
use everturn_store::{Durability, Step, Store, StoreError, pins_dir, read_optional};

/// A pinned session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The name of its format.
    pub layout: String,
    /// The session.
    pub session: String,
    /// When it was pinned.
    pub time: Option<Timestamp>,
}

fn pin_file(layout: &dyn SessionFormat, place: &SessionRef) -> Result<FilePath, SessionError> {
    let name = FilePath::parse(&format!("{}/{}", layout.name(), layout.stable_key(place)))?;
    Ok(pins_dir().join(&name.flat_name(".json")))
}

/// Whether a session is pinned. An unreadable pin counts.
pub fn is_pinned(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<bool, SessionError> {
    match store.stat(&pin_file(layout, place)?) {
        Ok(stat) => Ok(stat.is_some()),
        Err(StoreError::Missing { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Pins a session; returns whether it was not pinned before.
pub fn pin_session(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    now: Timestamp,
) -> Result<bool, SessionError> {
    layout.require_writable(place)?;
    let file = pin_file(layout, place)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let is_new = !is_pinned(store, layout, place)?;
    if is_new {
        let value = json!({
            "layout": layout.name(), "session": place.id, "path": place.path.as_str(),
            "time": now.to_string(),
        });
        let step = Step::create(file, format!("{value}\n").into_bytes());
        writer.commit(vec![step], Durability::Synced)?;
    }
    writer.release()?;
    Ok(is_new)
}

/// Unpins a session; returns whether it was pinned.
pub fn unpin_session(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<bool, SessionError> {
    let file = pin_file(layout, place)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let was = is_pinned(store, layout, place)?;
    if was {
        writer.commit(vec![Step::Remove { path: file }], Durability::Synced)?;
    }
    writer.release()?;
    Ok(was)
}

/// All pins, in file order.
pub fn list_pins(store: &Arc<dyn Store>) -> Result<Vec<Pin>, SessionError> {
    let mut pins = Vec::new();
    for file in list_dir(store, &pins_dir())? {
        let Some(bytes) = read_optional(store, &file)? else { continue };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| SessionError::damaged(format!("{file} cannot be read: {error}")))?;
        let text =
            |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let time = text("time").parse().ok();
        pins.push(Pin { layout: text("layout"), session: text("session"), time });
    }
    Ok(pins)
}
