//! Codelia's home, for the commands that need more of it than its sessions.

pub(crate) mod runs;

use std::sync::Arc;

use everturn::codelia::{ApprovalMode, ProjectPolicies, ToolOutputs};
use everturn::home::HomeLayout;
use everturn::store::Store;

use crate::agent_homes::{AgentHome, open_if_present};
use crate::error::Error;

/// Returns the tool outputs in a store that is the home, or only the cache.
pub(crate) fn outputs_of(store: Arc<dyn Store>, is_cache: bool) -> Result<ToolOutputs, Error> {
    match is_cache {
        true => Ok(ToolOutputs::in_cache(store)?),
        false => Ok(ToolOutputs::in_home(store)),
    }
}

/// Returns the tool outputs of a home for reading; `None` if it does not exist yet.
pub(crate) fn cached_outputs(home: &AgentHome) -> Result<Option<ToolOutputs>, Error> {
    let dirs = &home.dirs;
    let (dir, is_cache) = match dirs.arrangement {
        HomeLayout::Home => (&dirs.state_dir, false),
        HomeLayout::Xdg => (&dirs.cache_dir, true),
    };
    open_if_present(dir)?.map(|store| outputs_of(store, is_cache)).transpose()
}

/// Returns the path of the file with the policies of projects.
pub(crate) fn policy_file(home: &AgentHome) -> String {
    home.dirs.config_dir.join(ProjectPolicies::FILE).to_string_lossy().into_owned()
}

/// Sets or removes the approval mode of a project, or the default. Returns whether something was changed.
pub(crate) fn change_policy(
    home: &AgentHome,
    project: Option<&str>,
    mode: Option<ApprovalMode>,
) -> Result<bool, Error> {
    let store = home.config_store_to_write()?;
    let shared = Arc::clone(&store);
    let mut policies = ProjectPolicies::read(&shared)?;
    let is_changed = match mode {
        Some(mode) => policies.set(&shared, project, mode).map(|()| true)?,
        None => policies.remove(&shared, project)?,
    };
    drop(shared);
    store.checkpoint()?;
    Ok(is_changed)
}
