//! `everturn serve`: serves sessions to browsers, programs and agents on this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use everturn_requests::Access;
use everturn_server::{
    AuditRecord, NarratorMaker, ServeAddress, ServeError, ServeLimits, ServeOptions, Server,
};

use super::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::narrator::{NarrationEvent, NarratorArgs};
use crate::output::Output;
use crate::{catalog, settings, sources};

/// Serve sessions to browsers, programs and agents on this machine
///
/// Prints a URL with a one-time code. A browser that opens it gets a cookie; a program exchanges
/// the code for a token. Only this machine can connect, and only with the cookie or token. The API is
/// below /api/v1 and described by /api/v1/openapi.json; docs/serve.md shows how to use it. Serves
/// every session that `everturn ls` lists. Sessions of other programs are never changed. Each
/// change is reported on stderr. Ctrl-C stops the server.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn serve
  everturn serve --open
  everturn serve --read-only --addr 127.0.0.1:7777
  everturn serve --unix-socket ~/.everturn/serve.sock

With --json, one line when the server is ready:
  {"url":"http://127.0.0.1:40123/login?code=…","base":"http://127.0.0.1:40123","code":"…"}"#)]
pub(crate) struct Args {
    /// The address to listen on; port 0 lets the system choose one
    #[arg(
        long,
        value_name = "IP:PORT",
        default_value = "127.0.0.1:0",
        conflicts_with = "unix_socket"
    )]
    addr: SocketAddr,

    /// Listen on a Unix socket instead, which only you can use
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,

    /// Open the URL in the browser
    #[arg(long, conflicts_with = "unix_socket")]
    open: bool,

    /// Refuse all requests that change sessions
    #[arg(long)]
    read_only: bool,

    /// Let agents that connect to /mcp change sessions
    #[arg(long, conflicts_with = "read_only")]
    allow_agent_writes: bool,

    /// Accept requests for this host name as well
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Allow an address that other machines can reach, without encryption
    #[arg(long)]
    i_know_this_is_not_encrypted: bool,

    /// The number of requests per second to accept
    #[arg(long, value_name = "NUMBER", hide = true)]
    rate: Option<u32>,

    #[command(flatten)]
    narrator: NarratorArgs,
}

impl Args {
    /// Returns the address, unless other machines could reach it and the user has not agreed to that.
    fn address(&self) -> Result<ServeAddress, Error> {
        if let Some(path) = &self.unix_socket {
            return Ok(ServeAddress::Unix(path.clone()));
        }
        if self.addr.ip().is_loopback() || self.i_know_this_is_not_encrypted {
            return Ok(ServeAddress::Tcp(self.addr));
        }
        let what = format!("other machines could reach {}, without encryption", self.addr);
        Err(Error::new(Exit::Request, what)
            .hint("use 127.0.0.1, or add --i-know-this-is-not-encrypted"))
    }
}

/// The narrator of campaigns that are played in the browser.
fn narrator_maker(args: &NarratorArgs) -> Result<NarratorMaker, Error> {
    let args = args.with_config_defaults()?;
    if args.embedded(0).is_some() {
        return Ok(NarratorMaker::embedded());
    }
    // An invalid configuration is an error now, not with the first turn.
    drop(args.build(0, Box::new(|_| {}))?);
    let name = args.model.clone().unwrap_or_else(|| "a model".to_owned());
    Ok(NarratorMaker::new(name, move |seed, mut sink| {
        let mut text = String::new();
        let listener = move |event: NarrationEvent<'_>| {
            match event {
                NarrationEvent::Text(piece) => text.push_str(piece),
                NarrationEvent::Again => text.clear(),
                NarrationEvent::Remark(remark) => Output::status(remark),
            }
            sink(&text);
        };
        args.build(seed, Box::new(listener)).map_err(|error| error.to_string())
    }))
}

/// Opens a URL in the browser, if the system has a program for that.
fn open_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        Output::status(&format!("no browser was opened: {opener} cannot be run"));
    }
}

fn report(record: &AuditRecord) {
    Output::status(&record.to_string());
}

fn print_ready(
    context: &mut Context,
    server: &Server,
    socket: Option<&Path>,
) -> Result<(), EarlyExit> {
    let login = server.login_path();
    let url = server.base_url().map(|base| format!("{base}{login}"));
    if context.json {
        let object = match server.base_url() {
            Some(base) => {
                JsonObject::new().text("url", &format!("{base}{login}")).text("base", base)
            }
            None => {
                JsonObject::new().text("socket", &socket.unwrap_or(Path::new("")).to_string_lossy())
            }
        };
        writeln!(context.out, "{}", object.text("code", server.code()).close())?;
    } else {
        match url {
            Some(url) => writeln!(context.out, "{url}")?,
            None => writeln!(context.out, "http://localhost{login}")?,
        }
    }
    context.out.flush()
}

fn failed(error: ServeError) -> Error {
    let hint = match &error {
        ServeError::Listen { .. } => Some("choose another address with --addr, or port 0"),
        _ => None,
    };
    let failed = Error::new(Exit::Request, "the server failed").caused_by(error);
    match hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let limits = ServeLimits::default();
    let options = ServeOptions {
        address: args.address()?,
        hosts: args.host.clone(),
        access: if args.read_only { Access::Read } else { Access::Write },
        agents_may_write: args.allow_agent_writes,
        sources: sources::served_sources(context)?,
        narrator: narrator_maker(&args.narrator)?,
        catalog: catalog::directory(),
        owner: settings::lock_owner(),
        now: settings::now,
        system_time: settings::clock,
        audit: Arc::new(report),
        limits: ServeLimits { rate: args.rate.unwrap_or(limits.rate), ..limits },
    };
    let server = Server::bind(options).map_err(failed)?;
    print_ready(context, &server, args.unix_socket.as_deref())?;
    if let Some(base) = server.base_url() {
        Output::status(&format!("serving on {base}; each code works once; stop with Ctrl-C"));
        if args.open {
            open_browser(&format!("{base}{}", server.login_path()));
        }
    }
    server.run().map_err(failed)?;
    Ok(Exit::Success)
}
