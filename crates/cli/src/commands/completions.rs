//! `everturn completions`: lets a shell complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;
use everturn_catalog::Detail;

use super::Context;
use crate::args::Arguments;
use crate::catalog::Names;
use crate::error::Stop;
use crate::exit::Exit;

/// Print the completion script for a shell
///
/// In bash, zsh and fish, the ids of sessions are completed as well: the script asks `everturn completions --sessions`
/// for them.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn completions fish > ~/.config/fish/completions/everturn.fish
  everturn completions zsh > ~/.zfunc/_everturn
  eval "$(everturn completions bash)""#)]
pub(crate) struct Args {
    /// The shell that will read the script
    #[arg(required_unless_present = "sessions")]
    shell: Option<Shell>,

    /// Print what sessions can be called, one per line, the newest first
    #[arg(long, conflicts_with = "shell")]
    sessions: bool,
}

/// What finds the sessions, in every shell.
const ASK: &str = "everturn completions --sessions 2>/dev/null";

/// The commands that are about a session.
fn about_sessions() -> Vec<String> {
    let arguments = Arguments::command();
    let is_session = |argument: &clap::Arg| argument.get_id() == "session";
    let commands = arguments.get_subcommands();
    let commands = commands.filter(|command| command.get_positionals().any(is_session));
    commands.map(|command| command.get_name().to_owned()).collect()
}

/// The script with what completes sessions in it.
fn with_sessions(shell: Shell, script: String) -> String {
    let commands = about_sessions();
    match shell {
        Shell::Bash => {
            let commands = commands.join("|");
            format!(
                r#"{script}
_everturn_sessions() {{
    _everturn "$@"
    local cur="${{COMP_WORDS[COMP_CWORD]}}" word
    case "$cur" in -*) return 0 ;; esac
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in
            {commands})
                COMPREPLY+=($(compgen -W "latest $({ASK})" -- "$cur"))
                return 0
                ;;
        esac
    done
}}
complete -F _everturn_sessions -o bashdefault -o default everturn
"#
            )
        }
        Shell::Zsh => {
            let ask = format!(
                "autoload -U is-at-least\n\n_everturn_sessions() {{\n    local -a sessions\n    \
                 sessions=(latest ${{(f)\"$({ASK})\"}})\n    compadd -a sessions\n    _files\n}}\n"
            );
            let line = |line: &str| match line.contains(":session -- ") {
                true => line.replace(":_default'", ":_everturn_sessions'") + "\n",
                false => format!("{line}\n"),
            };
            let script: String = script.lines().map(line).collect();
            script.replacen("autoload -U is-at-least\n", &ask, 1)
        }
        Shell::Fish => {
            let line = |command: &String| {
                format!(
                    "complete -c everturn -n \"__fish_everturn_using_subcommand {command}\" -a \"latest ({ASK})\"\n"
                )
            };
            commands.iter().fold(script, |script, command| script + &line(command))
        }
        _ => script,
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Stop> {
    let Some(shell) = args.shell else { return sessions(context) };
    // The generator panics when its writer fails, and a vector never does.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "everturn", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    context.out.write_all(with_sessions(shell, script).as_bytes())?;
    Ok(Exit::Fine)
}

/// What sessions can be called, as far as a shell can take it.
fn sessions(context: &mut Context) -> Result<Exit, Stop> {
    let mut collection = context.collection()?;
    let found = collection.sessions(Detail::Names)?;
    let names = Names::new(&found);
    for session in &found.sessions {
        let name = names.of(session, &collection);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@~+,".contains(c);
        if name.chars().all(is_plain) {
            writeln!(context.out, "{name}")?;
        }
    }
    Ok(Exit::Fine)
}
