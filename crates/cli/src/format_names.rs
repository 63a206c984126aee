//! The names of formats as values of options and arguments.

use clap::builder::PossibleValuesParser;
use everturn::format;

/// The names of all formats, including those of other programs, as values of an option or argument.
pub(crate) fn all_layouts() -> PossibleValuesParser {
    let all = format::ALL.iter().chain(format::EXTERNAL);
    PossibleValuesParser::new(all.map(|layout| layout.name()))
}

/// The names of the writable formats, as values of an option or argument.
pub(crate) fn layouts() -> PossibleValuesParser {
    PossibleValuesParser::new(format::ALL.iter().map(|layout| layout.name()))
}
