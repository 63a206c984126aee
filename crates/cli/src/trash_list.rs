//! The sessions in the trash, in all sources whose sessions may be changed.

use std::path::PathBuf;

use everturn::format::SessionFormat;
use everturn::model::TrashedSession;

use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::json::JsonObject;
use crate::open_root::{OpenRoot, RootAccess};
use crate::sources::{SourceOrigin, open_source, selected_sources};

/// A source whose sessions may be changed, and their formats.
pub(crate) struct WritableSource {
    pub(crate) root: OpenRoot,
    pub(crate) formats: Vec<&'static dyn SessionFormat>,
    /// Whether it is the root that the user named, or the default one.
    is_main: bool,
}

/// A session in the trash.
#[derive(Clone)]
pub(crate) struct TrashItem {
    pub(crate) trashed: TrashedSession,
    pub(crate) format: &'static dyn SessionFormat,
    /// The root that has it.
    pub(crate) root: PathBuf,
    /// Its former path, below the main root, or as the user would write it.
    shown: String,
}

impl TrashItem {
    /// Prints the session as a line of a list.
    pub(crate) fn print(&self, context: &mut Context) -> Result<(), EarlyExit> {
        let TrashedSession { name, id, time, bytes, .. } = &self.trashed;
        if context.json {
            let item = JsonObject::new()
                .text("name", name)
                .text("session", id)
                .text("path", &self.shown)
                .time("time", Some(*time))
                .number("bytes", *bytes);
            return writeln!(context.out, "{}", item.close());
        }
        writeln!(context.out, "{name}  {bytes} bytes  {}", self.shown)
    }
}

/// Opens the sources whose sessions may be changed: those that `everturn ls` lists, without those of other
/// programs.
pub(crate) fn writable_sources(
    context: &Context,
    access: RootAccess,
) -> Result<Vec<WritableSource>, Error> {
    let mut sources: Vec<WritableSource> = Vec::new();
    for source in selected_sources(context)? {
        let formats: Vec<&'static dyn SessionFormat> = source
            .layouts(context)
            .into_iter()
            .flatten()
            .filter(|format| !format.is_external())
            .collect();
        let is_known = sources.iter().any(|known| known.root.path == source.dir());
        if formats.is_empty() || is_known {
            continue;
        }
        let is_main = matches!(source.origin, SourceOrigin::Own | SourceOrigin::Named);
        if let Some(root) = open_source(context, &source, access)? {
            sources.push(WritableSource { root, formats, is_main });
        }
    }
    Ok(sources)
}

/// Returns the trashed sessions of the selected formats, oldest first.
pub(crate) fn list_trash(context: &Context) -> Result<Vec<TrashItem>, Error> {
    let mut all = Vec::new();
    for WritableSource { root, formats, is_main } in writable_sources(context, RootAccess::Read)? {
        for format in formats {
            let Some(lifecycle) = format.capabilities().lifecycle else { continue };
            let items = lifecycle.list_trash(&root.store())?.into_iter();
            all.extend(items.map(|trashed| {
                let shown = match is_main {
                    true => trashed.path.to_string(),
                    false => root.shown(&trashed.path),
                };
                TrashItem { trashed, format, root: root.path.clone(), shown }
            }));
        }
    }
    all.sort_by(|a, b| a.trashed.name.cmp(&b.trashed.name));
    Ok(all)
}
