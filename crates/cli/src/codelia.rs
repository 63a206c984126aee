//! Codelia's home, for the commands that need more of it than its sessions.

pub(crate) mod runs;

use std::sync::Arc;

use everturn::codelia::{ApprovalMode, ProjectPolicies};
use everturn::store::Store;

use crate::agent_homes::AgentHome;
use crate::error::Error;

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
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let mut policies = ProjectPolicies::read(&shared)?;
    let is_changed = match mode {
        Some(mode) => policies.set(&shared, project, mode).map(|()| true)?,
        None => policies.remove(&shared, project)?,
    };
    drop(shared);
    store.close()?;
    Ok(is_changed)
}
