//! The home of Linggen, a coding agent: projects with their sessions, runs and missions, and the files they share.
//!
//! ```text
//! projects/{encoded path}/
//!     project.json             the path of the project
//!     everturn.json            the same, where programs could not distinguish two projects
//!     sessions/{id}/           session.yaml and messages.jsonl
//!     runs/{id}.json           runs of agents
//!     missions/{second}.json   all missions, at most one of them active
//!     agent_overrides/         settings of agents that differ in this project
//! plans/{name}.md              plans
//! agents/, skills/             Markdown with YAML front matter
//! config/, logs/, credentials.json, ling.pid
//! sessions/{id}/, missions/{id}/   the directories of newer programs
//! ```
//!
//! The root of the store is the home itself. A message is one commit of one line. Everything else is a document that is
//! edited in place, so that everything that people and programs wrote there is kept.
//!
//! A [`ProjectPath`] leads to the directory of a project, a [`Session`] reads messages, a [`LinggenWriter`] appends
//! them, and [`LinggenFormat`] maps all of it to the common model. The crate depends on `everturn-session`,
//! `everturn-settings` and `everturn-secrets`.
//!
//! The modules, in reading order:
//!
//! - `encoding`, `project`, `paths`: project directories and file names.
//! - `session`, `messages`, `content`: reads sessions, messages, and the parts of a message.
//! - `writer`, `branch`: appends, forks and rewinds.
//! - `runs`, `missions`, `overrides`, `permissions`, `schema_v2`: runs, missions, agent overrides, tool permissions, and
//!   the forms that newer programs use.
//! - `plan`, `specs`, `workspace`: plans; agents and skills; state files of a workspace.
//! - `config`, `credentials`, `logs`, `daemon`: the configuration, provider keys, daily logs, the daemon's PID file.
//! - `document`, `yaml`, `toml_document`: documents edited in place.
//! - `check`, `home_check`, `repair`: findings and repairs.
//! - `format`: the common model.
//! - `error`: the errors of a home.

mod encoding;
mod project;
mod paths;
mod session;
mod messages;
mod content;
mod writer;
mod branch;
mod runs;
mod missions;
mod overrides;
mod permissions;
mod schema_v2;
mod plan;
mod specs;
mod workspace;
mod config;
mod credentials;
mod logs;
mod daemon;
mod document;
mod yaml;
mod toml_document;
mod check;
mod home_check;
mod repair;
mod format;
mod error;

pub use branch::{LinggenFork, fork, rewind};
pub use config::{ConfigSearch, SCHEMA};
pub use content::parts;
pub use credentials::{CREDENTIALS, key_variable};
pub use daemon::{PidFile, daemon_log, forget_daemon, pid_file, read_pid, record_daemon};
pub use encoding::{ProjectDir, ProjectPath};
pub use error::LinggenError;
pub use format::{FORMAT, LinggenFormat};
pub use home_check::{check_home_files, is_home_dir};
pub use logs::{ExpiredLogs, LOG_DAYS, append_log, logs, plan_expired_logs, remove_expired_logs};
pub use messages::{Message, MessageReader, MessageRow};
pub use missions::{Mission, MissionAgent, MissionListing, clear_mission, missions, set_mission};
pub use overrides::{AgentOverride, read_override, remove_override, set_override};
pub use paths::{LogName, LogSpelling, MissionName, RunId, new_session_id};
pub use permissions::{allow, allowed, revoke};
pub use plan::{
    ItemMark, Plan, PlanItem, PlanStatus, check_plans, create_plan, edit_plan, is_plans_dir, plans,
    read_plan, slug,
};
pub use project::{
    Project, ProjectListing, RehomePlan, find_project, open_project, plan_rehome, projects, rehome,
};
pub use repair::{plan_repair, repair, undo_repair};
pub use runs::{
    DaemonState, LONGEST_RUN, NewRun, Run, RunStatus, begin_run, child_runs, end_run, read_run,
    run_ids, runs,
};
pub use schema_v2::{
    ScheduledMission, SessionPermission, mission_runs, scheduled_missions, session_permission,
};
pub use session::{
    Lineage, Session, SessionLocation, SessionMeta, auto_title, is_session_dir, sessions,
};
pub use specs::{
    Spec, SpecDir, SpecKind, SpecListing, SpecShape, SpecSource, add_spec, front_matter,
    remove_spec, specs,
};
pub use toml_document::{TomlDocument, TomlError};
pub use workspace::{StateFile, read_state_file, remove_state_file, state_files, write_state_file};
pub use writer::{AppendReceipt, ClearOutcome, LinggenWriter, NewLinggenSession, clear_messages};
pub use yaml::{YamlDocument, YamlError, scalar};

pub use check::{check_dir, check_project, is_project_dir};
