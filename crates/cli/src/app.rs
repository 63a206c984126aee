//! Runs the program: from command-line words to an exit code.

use std::ffi::OsString;
use std::io::Write;

use clap::CommandFactory;
use clap::error::ErrorKind;
use everturn::disk::RealDisk;
use everturn::store::failed_opens;

use crate::args::Arguments;
use crate::completion;
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::{self, Output};
use crate::{overview, recovered, server_roots, unparsed_words};

/// The limit on open files to request from the system.
const OPEN_FILES: u64 = 8192;

/// Runs the command given by `words`, and reports errors.
pub(crate) fn run(words: &[OsString]) -> Exit {
    output::choose_colour(unparsed_words::early_colour(words));
    output::choose_json_errors(unparsed_words::early_json(words));
    // A session is read from open files. With a lower limit, reads may have to be retried.
    drop(RealDisk::allow_open_files(OPEN_FILES));
    match completion::complete_line(words, Arguments::command) {
        Ok(true) => return Exit::Success,
        Ok(false) => {}
        Err(error) => return print_error(&error),
    }
    match Arguments::parse_words(words) {
        Ok(arguments) => {
            let failed_before = failed_opens();
            let result = execute(arguments);
            recovered::report();
            finish(if failed_opens() > failed_before { out_of_files(result) } else { result })
        }
        Err(answer) => {
            let exit = finish(print_clap_message(&answer));
            if answer.kind() == ErrorKind::UnknownArgument
                && words.iter().skip(1).any(|word| word == "search")
            {
                Output::status(
                    "Hint: quote a query that contains a minus sign: everturn search 'tower -dragon'",
                );
            }
            exit
        }
    }
}

fn execute(arguments: Arguments) -> Result<Exit, EarlyExit> {
    let Arguments { globals, command } = arguments;
    output::choose_colour(globals.color);
    let mut context = Context {
        root: globals.root.map(server_roots::shown).transpose()?,
        is_root_named: globals.is_root_named,
        layout: globals.layout,
        json: globals.json,
        out: Output::stdout(),
    };
    context.remember_options();
    let exit = match command {
        Some(command) => command.run(&mut context)?,
        None => overview::run(&mut context)?,
    };
    context.out.flush()?;
    Ok(exit)
}

/// Prints a message from clap: help, the version, or a usage error.
fn print_clap_message(answer: &clap::Error) -> Result<Exit, EarlyExit> {
    if answer.use_stderr() && output::are_errors_json() {
        print_error(&usage_error(answer));
        return Ok(Exit::Usage);
    }
    let printed = answer.print();
    if answer.use_stderr() {
        // A usage error stays a usage error, even if it cannot be printed.
        return Ok(Exit::Usage);
    }
    printed.map_err(output::stdout_failed)?;
    Ok(Exit::Success)
}

/// Converts a usage error: its first line, and the words that it suggests.
fn usage_error(answer: &clap::Error) -> Error {
    let text = answer.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let error = Error::new(Exit::Usage, first.strip_prefix("error: ").unwrap_or(first));
    let rest: Vec<&str> = lines.collect();
    let tip = rest.iter().find_map(|line| line.strip_prefix("tip: "));
    let values = rest.iter().find(|line| line.starts_with("[possible values: ")).copied();
    error.hint(tip.or(values).unwrap_or("--help describes the command"))
}

/// A failure because of too many open files is not damage, whatever error it caused.
fn out_of_files(result: Result<Exit, EarlyExit>) -> Result<Exit, EarlyExit> {
    let out_of_files = Error::new(Exit::Request, "too many open files: raise ulimit -n");
    match result {
        Ok(Exit::Success) | Err(EarlyExit::ReaderGone) => result,
        Ok(_) => Err(out_of_files.into()),
        Err(EarlyExit::Failed(error)) => Err(out_of_files.caused_by(error.to_string()).into()),
    }
}

fn finish(result: Result<Exit, EarlyExit>) -> Exit {
    match result {
        Ok(exit) => exit,
        Err(EarlyExit::ReaderGone) => Exit::Success,
        Err(EarlyExit::Failed(error)) => print_error(&error),
    }
}

/// Prints an error to stderr; with `--json` as one line of JSON.
pub(crate) fn print_error(error: &Error) -> Exit {
    // If stderr cannot be written either, only the exit code is left.
    match output::are_errors_json() {
        true => writeln!(anstream::stderr(), "{}", error.json()).ok(),
        false => error.write_to(&mut anstream::stderr()).ok(),
    };
    error.exit()
}
