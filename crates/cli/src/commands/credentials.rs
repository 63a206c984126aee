//! `everturn credentials`: manages keys and tokens, which are never shown.

use std::sync::Arc;

use everturn::vault::{Secret, Vault, VaultFormat};
use serde_json::json;

use super::Context;
use crate::agent_homes::{self, AgentHome};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::{input, outside};

/// Store, list and remove keys and tokens
///
/// A secret is read from stdin, or from a prompt without echo on the terminal. It is stored in a
/// file that only its owner can read, and is always printed masked. With `--layout codelia` or
/// `--layout linggen` these are the secrets of that program, otherwise Everturn's own.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn credentials set openai < key.txt
  everturn credentials list --layout codelia
  everturn credentials set github --for mcp --layout codelia
  everturn credentials remove openai

A line of the list with --json:
  {"id":"openai","for":"provider","method":"api_key","secret":"***wxyz"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: CredentialsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CredentialsCommand {
    /// Store a secret, or replace one with the same ID
    #[command(after_help = "\
Examples:
  everturn credentials set openai < key.txt
  everturn credentials set github --for mcp --layout codelia")]
    Set(CredentialArgs),
    /// List the secrets, masked
    #[command(after_help = "\
Examples:
  everturn credentials list
  everturn credentials list --layout codelia --json")]
    List,
    /// Remove a secret
    #[command(after_help = "\
Examples:
  everturn credentials remove openai")]
    Remove(CredentialArgs),
}

#[derive(Debug, clap::Args)]
struct CredentialArgs {
    /// The owner of the secret: a provider, a server, or a model
    id: String,

    /// The kind of secret, where a home has several kinds
    #[arg(long = "for", value_name = "KIND", default_value = "provider")]
    purpose: String,
}

fn shape(home: &AgentHome, purpose: &str) -> Result<VaultFormat, Error> {
    let shapes = home.agent.shapes();
    let found = shapes.iter().find(|(name, _)| *name == purpose).map(|(_, shape)| *shape);
    found.ok_or_else(|| {
        let names: Vec<&str> = shapes.iter().map(|(name, _)| *name).collect();
        Error::new(Exit::Request, format!("unknown kind of secret {purpose:?}"))
            .hint(format!("known kinds: {}", names.join(", ")))
    })
}

/// Changes a secret file, which only its owner can read.
fn change<T>(
    home: &AgentHome,
    shape: VaultFormat,
    mut change: impl FnMut(&Vault) -> Result<T, everturn::vault::SecretsError>,
) -> Result<T, Error> {
    let store = home.config_store_to_write()?;
    let vault = Vault::new(Arc::clone(&store), shape)?;
    let done = agent_homes::retry_secrets(|| change(&vault))?;
    drop(vault);
    outside::wipe(&*store);
    store.checkpoint()?;
    Ok(done)
}

fn list(home: &AgentHome, context: &mut Context) -> Result<(), EarlyExit> {
    let Some(store) = home.config_store()? else { return Ok(()) };
    for (purpose, shape) in home.agent.shapes() {
        let vault = Vault::new(Arc::clone(&store), *shape).map_err(Error::from)?;
        if vault.is_readable_by_others().map_err(Error::from)? {
            let file = home.dirs.config_dir.join(shape.file);
            Output::status(&format!(
                "other users can read {}; the next change fixes its permissions",
                file.display()
            ));
        }
        for entry in vault.list().map_err(Error::from)? {
            let secret = entry.secret.as_ref().map(ToString::to_string);
            if context.json {
                let line = json!({
                    "id": entry.id, "for": purpose, "method": entry.method, "secret": secret,
                });
                writeln!(context.out, "{line}")?;
            } else {
                let secret = secret.unwrap_or_else(|| "-".to_owned());
                let id = crate::output::escape_controls(&entry.id);
                writeln!(context.out, "{id}  {purpose}  {}  {secret}", entry.method)?;
            }
        }
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = agent_homes::home_of(context)?;
    match &args.what {
        CredentialsCommand::List => list(&home, context)?,
        CredentialsCommand::Set(named) => {
            let shape = shape(&home, &named.purpose)?;
            let secret = Secret::parse(&input::secret(&named.id)?).map_err(Error::from)?;
            change(&home, shape, |vault| vault.set(&named.id, &secret))?;
            answer(context, named, Some(&secret))?;
        }
        CredentialsCommand::Remove(named) => {
            let shape = shape(&home, &named.purpose)?;
            if !change(&home, shape, |vault| vault.remove(&named.id))? {
                let what = format!("there is no secret {:?}", named.id);
                return Err(Error::new(Exit::Request, what)
                    .hint("everturn credentials list")
                    .into());
            }
            answer(context, named, None)?;
        }
    }
    Ok(Exit::Success)
}

fn answer(
    context: &mut Context,
    named: &CredentialArgs,
    secret: Option<&Secret>,
) -> Result<(), EarlyExit> {
    let shown = secret.map(ToString::to_string);
    if context.json {
        let line = json!({"id": named.id, "for": named.purpose, "secret": shown});
        return writeln!(context.out, "{line}");
    }
    Output::status(&match shown {
        Some(shown) => format!("{} was stored as {shown}", named.id),
        None => format!("{} was removed", named.id),
    });
    Ok(())
}
