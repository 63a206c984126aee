//! Parses the player's input: a turn in plain words, or a command that begins with a slash.

/// A command: its name, its arguments, and its description.
pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) does: &'static str,
}

const fn command(name: &'static str, arguments: &'static str, does: &'static str) -> SlashCommand {
    SlashCommand { name, arguments, does }
}

/// All commands, in the order of `/help`.
pub(super) const COMMANDS: &[SlashCommand] = &[
    command("look", "", "print the scene again"),
    command("map", "", "print the map, with your position and unexplored places"),
    command("party", "", "list the party, with locations, health and items"),
    command("sheet", "[ID]", "show a character: place, health, state and items"),
    command("inventory", "[ID]", "list the items of a character"),
    command("quest", "", "show the goal of the campaign and how far it has come"),
    command("roll", "[DICE]", "roll dice, such as 2d6+1; without DICE a d20"),
    command("actor", "[ID]", "show or set the active actor"),
    command("log", "[N]", "print the last turns"),
    command("undo", "[N]", "take back the last turns of the story"),
    command("redo", "[N]", "bring back the turns that were undone last"),
    command("retry", "", "send an unanswered line again, or have the last turn narrated again"),
    command("edit", "TEXT", "replace your last line, and have it answered again"),
    command("versions", "", "list all versions of the last turn"),
    command("version", "N", "choose a version of the last turn"),
    command("continue", "", "let the story go on without doing anything"),
    command("rewind", "N", "rewind to turn N; later turns are kept as a branch"),
    command("fork", "", "store a copy of the campaign"),
    command("mark", "NAME", "mark this turn"),
    command("marks", "", "list the marks"),
    command("export", "FILE", "write the story to a new .txt, .md, .html, .pdf or .json file"),
    command("settings", "[KEY[=VALUE]]", "show or change the settings of the campaign"),
    command("help", "", "print this help"),
    command("quit", "", "leave; every turn is already saved"),
];

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlayerInput<'l> {
    /// A turn.
    Say(&'l str),
    /// An empty line.
    Nothing,
    Look,
    Map,
    Party,
    Actor(Option<&'l str>),
    Log(u64),
    Undo(u64),
    Redo(u64),
    Edit(&'l str),
    Versions,
    Version(u64),
    Continue,
    Sheet(Option<&'l str>),
    Inventory(Option<&'l str>),
    Quest,
    Roll(&'l str),
    Rewind(u64),
    Fork,
    Mark(&'l str),
    Marks,
    Export(&'l str),
    Settings(Vec<&'l str>),
    Retry,
    Help,
    Quit,
    /// An invalid command, with the reason.
    Wrong(String),
}

/// The default number of turns for `/log`.
const LOG: u64 = 3;

/// Parses a line. A turn is kept as it was typed, without the end of the line.
pub(super) fn parse_line(line: &str) -> PlayerInput<'_> {
    let raw = line.strip_suffix('\n').unwrap_or(line);
    let raw = raw.strip_suffix('\r').unwrap_or(raw);
    let line = line.trim();
    // New players type these without the slash.
    match line {
        "" => return PlayerInput::Nothing,
        "help" | "?" => return PlayerInput::Help,
        "quit" | "exit" => return PlayerInput::Quit,
        _ => {}
    }
    let Some(rest) = line.strip_prefix('/') else { return PlayerInput::Say(raw) };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rest = rest.trim();
    let Some(command) = find(name) else {
        let what = format!("Unknown command /{name}. /help lists the commands.");
        return PlayerInput::Wrong(what);
    };
    let number = |default: Option<u64>| match (rest, default) {
        ("", Some(default)) => Some(default),
        _ => rest.parse::<u64>().ok(),
    };
    let given = (!rest.is_empty()).then_some(rest);
    let word = match command.name {
        "log" => number(Some(LOG)).map(PlayerInput::Log),
        "undo" => number(Some(1)).map(PlayerInput::Undo),
        "redo" => number(Some(1)).map(PlayerInput::Redo),
        "version" => number(None).map(PlayerInput::Version),
        "roll" => Some(PlayerInput::Roll(given.unwrap_or("d20"))),
        "edit" => given.map(PlayerInput::Edit),
        "sheet" => Some(PlayerInput::Sheet(given)),
        "inventory" => Some(PlayerInput::Inventory(given)),
        "rewind" => number(None).map(PlayerInput::Rewind),
        "mark" => given.map(PlayerInput::Mark),
        "export" => given.map(PlayerInput::Export),
        "actor" => Some(PlayerInput::Actor(given)),
        "settings" => Some(PlayerInput::Settings(rest.split_whitespace().collect())),
        _ if given.is_some() => None,
        "look" => Some(PlayerInput::Look),
        "map" => Some(PlayerInput::Map),
        "party" => Some(PlayerInput::Party),
        "quest" => Some(PlayerInput::Quest),
        "versions" => Some(PlayerInput::Versions),
        "continue" => Some(PlayerInput::Continue),
        "fork" => Some(PlayerInput::Fork),
        "marks" => Some(PlayerInput::Marks),
        "retry" => Some(PlayerInput::Retry),
        "quit" => Some(PlayerInput::Quit),
        _ => Some(PlayerInput::Help),
    };
    word.unwrap_or_else(|| PlayerInput::Wrong(format!("Usage: {}", usage(command))))
}

/// Returns the command with this name, or the only one with this prefix.
fn find(name: &str) -> Option<&'static SlashCommand> {
    // Leaving must stay easy.
    let name = if name == "q" { "quit" } else { name };
    if let Some(exact) = COMMANDS.iter().find(|command| command.name == name) {
        return Some(exact);
    }
    let mut like = COMMANDS.iter().filter(|command| command.name.starts_with(name));
    like.next().filter(|_| !name.is_empty() && like.next().is_none())
}

/// Returns the usage of a command.
pub(super) fn usage(command: &SlashCommand) -> String {
    format!("/{} {}", command.name, command.arguments).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &PlayerInput<'_>) {
        assert_eq!(parse_line(line), *expect, "{line:?}");
    }

    #[test]
    fn lines_are_turns_unless_they_begin_with_a_slash() {
        check("  I go north. ", &PlayerInput::Say("  I go north. "));
        check("two  spaces\r\n", &PlayerInput::Say("two  spaces"));
        check("  /undo ", &PlayerInput::Undo(1));
        check("", &PlayerInput::Nothing);
        check(" \t", &PlayerInput::Nothing);
        check("quit the field", &PlayerInput::Say("quit the field"));
        check("quit", &PlayerInput::Quit);
        check("help", &PlayerInput::Help);
        check("/quit", &PlayerInput::Quit);
        check("/q", &PlayerInput::Quit);
        check("/rew 4", &PlayerInput::Rewind(4));
        check("/undo", &PlayerInput::Undo(1));
        check("/undo 3", &PlayerInput::Undo(3));
        check("/log", &PlayerInput::Log(LOG));
        check("/mark  before the gate ", &PlayerInput::Mark("before the gate"));
        check("/marks", &PlayerInput::Marks);
        check("/export a b.md", &PlayerInput::Export("a b.md"));
        check("/settings a=1 b", &PlayerInput::Settings(vec!["a=1", "b"]));
        check("/actor", &PlayerInput::Actor(None));
        check("/actor Bran", &PlayerInput::Actor(Some("Bran")));
    }

    #[test]
    fn what_is_wrong_is_told_with_the_right_way() {
        for (line, part) in [
            ("/dance", "Unknown command /dance"),
            ("/", "Unknown command /."),
            ("/rewind", "/rewind N"),
            ("/rewind -1", "/rewind N"),
            ("/undo x", "/undo [N]"),
            ("/mark", "/mark NAME"),
            ("/map now", "Usage: /map"),
            ("/l", "Unknown command /l"),
        ] {
            match parse_line(line) {
                PlayerInput::Wrong(what) => assert!(what.contains(part), "{line:?}: {what}"),
                other => panic!("{line:?} means {other:?}"),
            }
        }
    }

    #[test]
    fn every_command_of_the_help_means_something() {
        for command in COMMANDS {
            let line = format!("/{} {}", command.name, command.arguments.replace(['[', ']'], ""));
            let line = line.replace('N', "1");
            assert!(
                !matches!(parse_line(&line), PlayerInput::Wrong(_) | PlayerInput::Say(_)),
                "{line}"
            );
        }
    }
}
