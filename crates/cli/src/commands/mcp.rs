//! `everturn mcp`: serves sessions to an agent on stdin and stdout, and shows how agents are configured for that.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use everturn_requests::Access;
use everturn_server::{
    AuditRecord, NarratorMaker, ServeAddress, ServeLimits, ServeOptions, serve_mcp,
};
use serde_json::json;

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::{catalog, settings, sources};

/// Serve sessions to an agent with the Model Context Protocol
///
/// Speaks MCP on stdin and stdout; agents start it themselves. Its tools search, list and read
/// sessions. With --allow-writes they also append turns, add marks and fork sessions. Secrets are
/// masked. `everturn mcp install CLIENT` prints the configuration of a client.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn mcp install claude-code
  everturn mcp --allow-writes"#)]
pub(crate) struct Args {
    /// Offer tools that change sessions
    #[arg(long)]
    allow_writes: bool,

    #[command(subcommand)]
    what: Option<McpCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum McpCommand {
    /// Print the configuration of a client
    #[command(after_help = "\
Examples:
  everturn mcp install claude-code
  everturn mcp install codex --allow-writes >> ~/.codex/config.toml")]
    Install {
        /// The client
        client: McpClient,

        /// Offer tools that change sessions
        #[arg(long)]
        allow_writes: bool,

        /// The program that the client starts; default: this one
        #[arg(long, value_name = "PATH")]
        program: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum McpClient {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    GeminiCli,
    Opencode,
    VsCode,
}

impl McpClient {
    /// Where the configuration belongs.
    fn place(self) -> &'static str {
        match self {
            McpClient::ClaudeCode => ".mcp.json of the project, or ~/.claude.json",
            McpClient::ClaudeDesktop => "claude_desktop_config.json",
            McpClient::Codex => "~/.codex/config.toml",
            McpClient::Cursor => "~/.cursor/mcp.json",
            McpClient::GeminiCli => "~/.gemini/settings.json",
            McpClient::Opencode => {
                "opencode.json of the project, or ~/.config/opencode/opencode.json"
            }
            McpClient::VsCode => ".vscode/mcp.json of the project",
        }
    }

    /// The configuration that starts this program.
    fn configuration(self, program: &str, arguments: &[&str]) -> String {
        let server = json!({"command": program, "args": arguments});
        let document = match self {
            McpClient::ClaudeCode
            | McpClient::ClaudeDesktop
            | McpClient::Cursor
            | McpClient::GeminiCli => {
                json!({"mcpServers": {"everturn": server}})
            }
            McpClient::VsCode => json!({"servers": {"everturn": server}}),
            McpClient::Opencode => {
                let command: Vec<&str> =
                    std::iter::once(program).chain(arguments.iter().copied()).collect();
                json!({"mcp": {"everturn": {"type": "local", "command": command, "enabled": true}}})
            }
            // A JSON string is a TOML string as well, as is a list of them.
            McpClient::Codex => {
                let (command, list) = (json!(program), json!(arguments));
                return format!("[mcp_servers.everturn]\ncommand = {command}\nargs = {list}");
            }
        };
        serde_json::to_string_pretty(&document).unwrap_or_default()
    }
}

fn install(
    context: &mut Context,
    client: McpClient,
    (program, allow_writes): (Option<&Path>, bool),
) -> Result<Exit, EarlyExit> {
    let program = program.map_or_else(std::env::current_exe, |program| Ok(program.to_owned()));
    let program = program.map_err(|cause| {
        Error::new(Exit::Request, "the path of this program is unknown").caused_by(cause)
    })?;
    let root = context.named_root().map(|root| root.to_string_lossy().into_owned());
    let mut arguments = vec!["mcp"];
    if allow_writes {
        arguments.push("--allow-writes");
    }
    if let Some(root) = &root {
        arguments.extend(["--root", root.as_str()]);
    }
    writeln!(context.out, "{}", client.configuration(&program.to_string_lossy(), &arguments))?;
    context.out.flush()?;
    Output::status(&format!("add this to {}", client.place()));
    Ok(Exit::Success)
}

fn report(record: &AuditRecord) {
    Output::status(&record.to_string());
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    if let Some(McpCommand::Install { client, allow_writes, program }) = &args.what {
        let allow_writes = *allow_writes || args.allow_writes;
        return install(context, *client, (program.as_deref(), allow_writes));
    }
    let options = ServeOptions {
        address: ServeAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        hosts: Vec::new(),
        access: if args.allow_writes { Access::Write } else { Access::Read },
        agents_may_write: args.allow_writes,
        sources: sources::served_sources(context)?,
        narrator: NarratorMaker::embedded(),
        catalog: catalog::directory(),
        owner: settings::lock_owner(),
        now: settings::now,
        system_time: settings::clock,
        audit: Arc::new(report),
        limits: ServeLimits::default(),
    };
    // The conversation has stdout to itself.
    context.out.release()?;
    serve_mcp(&options)
        .map_err(|error| Error::new(Exit::Request, "the conversation failed").caused_by(error))?;
    Ok(Exit::Success)
}
