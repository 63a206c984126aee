//! Line breaking. Justified text is broken by the least sum of demerits over the whole paragraph (Knuth and Plass);
//! other text is filled line by line.

/// Whether a line may end before a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BreakKind {
    /// No break.
    No,
    /// A line may end here.
    Wrap,
    /// A line may end here with a hyphen of this width.
    Hyphen(f32),
    /// A line may end here because the word is wider than any line.
    Cut,
}

/// A cluster of text, reduced to what line breaking needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BreakUnit {
    /// Its width.
    pub(crate) width: f32,
    /// Whether it is a space, which can stretch and shrink.
    pub(crate) space: bool,
    /// Whether it is the later part of a ligature, so that no line can end before it.
    pub(crate) joined: bool,
    /// Whether a line may end before it.
    pub(crate) before: BreakKind,
}

/// The available widths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineWidths {
    pub(crate) first: f32,
    pub(crate) rest: f32,
}

impl LineWidths {
    fn of_line_at(self, start: usize) -> f32 {
        if start == 0 { self.first } else { self.rest }
    }
}

/// How far a space may shrink, and how far it should stretch at most, relative to its width.
const SHRINK: f32 = 0.28;
const STRETCH: f32 = 0.55;

/// The minimum stretch of a line relative to its width, for lines with few or no spaces.
const SLACK: f32 = 0.015;

/// A paragraph stays without hyphens if no space stretches by more than this multiple of the desired maximum.
const GOOD_ENOUGH: f32 = 1.15;

const LINE_PENALTY: f64 = 10.0;
const HYPHEN_PENALTY: f64 = 60.0;
const CUT_PENALTY: f64 = 2_000.0;
const TWO_HYPHENS: f64 = 20_000.0;
const LAST_BUT_ONE_HYPHEN: f64 = 5_000.0;
const SHORT_END: f64 = 3_000.0;
const TOO_LONG: f64 = 1e15;

/// Prefix sums over all units, so that any line is measured in constant time.
struct WidthSums {
    widths: Vec<f64>,
    spaces: Vec<f64>,
    /// For each position, the end of the text before it without trailing spaces.
    ends: Vec<usize>,
}

impl WidthSums {
    fn of(units: &[BreakUnit]) -> Self {
        let room = units.len() + 1;
        let mut sums = Self {
            widths: Vec::with_capacity(room),
            spaces: Vec::with_capacity(room),
            ends: Vec::with_capacity(room),
        };
        let (mut width, mut space, mut end) = (0.0, 0.0, 0);
        sums.push(width, space, end);
        for (index, unit) in units.iter().enumerate() {
            width += f64::from(unit.width);
            if unit.space {
                space += f64::from(unit.width);
            } else {
                end = index + 1;
            }
            sums.push(width, space, end);
        }
        sums
    }

    fn push(&mut self, width: f64, space: f64, end: usize) {
        self.widths.push(width);
        self.spaces.push(space);
        self.ends.push(end);
    }

    /// Returns the width and the spaces of a line, without trailing spaces.
    fn measure(&self, start: usize, end: usize) -> (f32, f32) {
        let end = self.ends.get(end).copied().unwrap_or(end).max(start);
        let between = |sums: &[f64]| match (sums.get(start), sums.get(end)) {
            (Some(from), Some(to)) => to - from,
            _ => 0.0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "a line is not that wide")]
        let narrow = |sum: f64| sum as f32;
        (narrow(between(&self.widths)), narrow(between(&self.spaces)))
    }
}

/// Allows breaks within words that are wider than any line.
pub(crate) fn cut_long_words(units: &mut [BreakUnit], room: LineWidths) {
    let most = room.first.min(room.rest);
    let mut start = 0;
    while start < units.len() {
        let next = units.iter().enumerate().skip(start + 1);
        let end = next
            .clone()
            .find(|(_, unit)| unit.before == BreakKind::Wrap)
            .map_or(units.len(), |(index, _)| index);
        let Some(word) = units.get_mut(start..end) else { return };
        let width: f32 = word.iter().filter(|unit| !unit.space).map(|unit| unit.width).sum();
        if width > most {
            let inner = word.iter_mut().skip(1);
            for unit in inner.filter(|unit| !unit.joined && unit.before == BreakKind::No) {
                unit.before = BreakKind::Cut;
            }
        }
        start = end;
    }
}

/// Fills each line as far as possible. Returns the ends of the lines; the last is the end of the text.
pub(crate) fn fill_lines(units: &[BreakUnit], room: LineWidths) -> Vec<usize> {
    let sums = WidthSums::of(units);
    let mut ends = Vec::new();
    let mut start = 0;
    let mut chance = None;
    for (index, unit) in units.iter().enumerate() {
        if index > start && matches!(unit.before, BreakKind::Wrap | BreakKind::Cut) {
            // A wrap is preferred over later cuts, unless it would leave the line nearly empty.
            let keeps = unit.before == BreakKind::Cut
                && chance.is_some_and(|(at, wraps)| {
                    wraps && sums.measure(start, at).0 > room.of_line_at(start) * 0.6
                });
            if !keeps {
                chance = Some((index, unit.before == BreakKind::Wrap));
            }
        }
        let (width, _) = sums.measure(start, index + 1);
        if width > room.of_line_at(start)
            && let Some((at, _)) = chance.take()
        {
            ends.push(at);
            start = at;
        }
    }
    ends.push(units.len());
    ends
}

/// A possible line end, and the best sequence of breaks up to it.
struct BreakPoint {
    at: usize,
    hyphen: bool,
    demerits: f64,
    from: usize,
}

/// Breaks a whole paragraph as evenly as possible. Returns the ends of the lines. Words are hyphenated only in
/// paragraphs that would be too loose otherwise.
pub(crate) fn break_evenly(units: &[BreakUnit], room: LineWidths) -> Vec<usize> {
    let sums = WidthSums::of(units);
    let whole = best_breaks(units, room, &sums, |chance| !matches!(chance, BreakKind::Hyphen(_)));
    let may_part = units.iter().any(|unit| matches!(unit.before, BreakKind::Hyphen(_)));
    if may_part && !is_good(&whole, room, &sums) {
        return best_breaks(units, room, &sums, |_| true);
    }
    whole
}

/// Returns whether no line is too loose or too long.
fn is_good(ends: &[usize], room: LineWidths, sums: &WidthSums) -> bool {
    let mut start = 0;
    ends.iter().enumerate().all(|(index, &end)| {
        let last = index + 1 == ends.len();
        let line = CandidateLine { sums, start, end, chance: BreakKind::Wrap, last };
        let ratio = line.ratio(room.of_line_at(start));
        start = end;
        ratio.is_some_and(|ratio| ratio <= GOOD_ENOUGH)
    })
}

fn best_breaks(
    units: &[BreakUnit],
    room: LineWidths,
    sums: &WidthSums,
    allowed: impl Fn(BreakKind) -> bool,
) -> Vec<usize> {
    let mut places = vec![BreakPoint { at: 0, hyphen: false, demerits: 0.0, from: 0 }];
    // The positions from which a line to the next one still fits.
    let mut open = vec![0_usize];
    for (index, unit) in units.iter().enumerate().skip(1) {
        if unit.before != BreakKind::No && allowed(unit.before) {
            reach_break(index, unit.before, false, sums, room, &mut places, &mut open);
        }
    }
    reach_break(units.len(), BreakKind::Wrap, true, sums, room, &mut places, &mut open);
    trace_breaks(&places)
}

/// Finds the best line that ends at a position, and closes the positions from which no line reaches it.
fn reach_break(
    at: usize,
    chance: BreakKind,
    last: bool,
    sums: &WidthSums,
    room: LineWidths,
    places: &mut Vec<BreakPoint>,
    open: &mut Vec<usize>,
) {
    let hyphen = matches!(chance, BreakKind::Hyphen(_));
    let mut best: Option<(f64, usize)> = None;
    let mut nearest = None;
    open.retain(|&from| {
        let Some(place) = places.get(from) else { return false };
        let line = CandidateLine { sums, start: place.at, end: at, chance, last };
        nearest = Some((place.demerits + TOO_LONG, from));
        let Some(mut demerits) = line.demerits(room.of_line_at(place.at)) else { return false };
        if hyphen && place.hyphen {
            demerits += TWO_HYPHENS;
        }
        if last && place.hyphen {
            demerits += LAST_BUT_ONE_HYPHEN;
        }
        let sum = place.demerits + demerits;
        if best.is_none_or(|(least, _)| sum < least) {
            best = Some((sum, from));
        }
        true
    });
    // If no position is open, the line from the nearest one is too long, and stays so.
    let way = if open.is_empty() { best.or(nearest) } else { best };
    if let Some((demerits, from)) = way {
        open.push(places.len());
        places.push(BreakPoint { at, hyphen, demerits, from });
    }
}

/// A line under consideration.
struct CandidateLine<'a> {
    sums: &'a WidthSums,
    start: usize,
    end: usize,
    chance: BreakKind,
    last: bool,
}

impl CandidateLine<'_> {
    /// Returns the width without trailing spaces, and the width of the spaces.
    fn measure(&self) -> (f32, f32) {
        let (width, spaces) = self.sums.measure(self.start, self.end);
        match self.chance {
            BreakKind::Hyphen(hyphen) => (width + hyphen, spaces),
            BreakKind::Wrap | BreakKind::No | BreakKind::Cut => (width, spaces),
        }
    }

    /// Returns the change of the spaces relative to the desired maximum, or `None` if the line does not fit.
    fn ratio(&self, room: f32) -> Option<f32> {
        let (width, spaces) = self.measure();
        let free = room - width;
        if free < -spaces * SHRINK - 0.01 {
            None
        } else if free < 0.0 {
            Some(-free / (spaces * SHRINK).max(0.001))
        } else if self.last {
            Some(0.0)
        } else {
            Some(free / (spaces * STRETCH).max(room * SLACK))
        }
    }

    /// Returns the demerits of the line, or `None` if it does not fit.
    fn demerits(&self, room: f32) -> Option<f64> {
        let badness = 100.0 * f64::from(self.ratio(room)?).powi(3);
        let penalty = match self.chance {
            BreakKind::Hyphen(_) => HYPHEN_PENALTY,
            BreakKind::Cut => CUT_PENALTY,
            BreakKind::Wrap | BreakKind::No => 0.0,
        };
        // A last line of a few letters looks like a mistake.
        let is_short = self.last && self.start > 0 && self.measure().0 < room * 0.07;
        let extra = if is_short { SHORT_END } else { 0.0 };
        Some((LINE_PENALTY + badness).powi(2) + penalty.powi(2) + extra)
    }
}

/// Returns the ends of the lines on the best path to the last position.
fn trace_breaks(places: &[BreakPoint]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut index = places.len().saturating_sub(1);
    while let Some(place) = places.get(index)
        && index > 0
    {
        ends.push(place.at);
        index = place.from;
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters are 10 wide, spaces 5; `-` allows a hyphen of width 4, and `_` joins two letters.
    fn units(text: &str) -> Vec<BreakUnit> {
        let mut units = Vec::new();
        let mut before = BreakKind::No;
        let mut joined = false;
        for c in text.chars() {
            match c {
                '-' => before = BreakKind::Hyphen(4.0),
                '_' => joined = true,
                _ => {
                    let space = c == ' ';
                    let width = if space { 5.0 } else { 10.0 };
                    units.push(BreakUnit { width, space, joined, before });
                    before = if space { BreakKind::Wrap } else { BreakKind::No };
                    joined = false;
                }
            }
        }
        units
    }

    fn check(
        breaks: fn(&[BreakUnit], LineWidths) -> Vec<usize>,
        text: &str,
        room: (f32, f32),
        expect: &[&str],
    ) {
        let room = LineWidths { first: room.0, rest: room.1 };
        let mut units = units(text);
        cut_long_words(&mut units, room);
        let letters: Vec<char> = text.chars().filter(|c| !matches!(c, '-' | '_')).collect();
        let mut start = 0;
        let mut lines = Vec::new();
        for end in breaks(&units, room) {
            lines.push(letters[start..end].iter().collect::<String>());
            start = end;
        }
        assert_eq!(lines, expect, "{text}");
    }

    #[test]
    fn lines_are_filled_as_far_as_they_go() {
        check(fill_lines, "aa bb cc", (45.0, 45.0), &["aa bb ", "cc"]);
        check(fill_lines, "aa bb cc", (25.0, 45.0), &["aa ", "bb cc"]);
        check(fill_lines, "aa bb", (100.0, 100.0), &["aa bb"]);
        check(fill_lines, "", (10.0, 10.0), &[""]);
    }

    #[test]
    fn a_word_that_is_too_long_is_cut() {
        check(fill_lines, "aaaaaaa", (30.0, 30.0), &["aaa", "aaa", "a"]);
        check(fill_lines, "b aaaaaaa", (30.0, 30.0), &["b a", "aaa", "aaa"]);
        check(break_evenly, "aaaaaaa", (30.0, 30.0), &["aaa", "aaa", "a"]);
        check(fill_lines, "aa_aaa_a", (30.0, 30.0), &["aaa", "aaa"]);
        check(break_evenly, "a_a_a_a_a", (30.0, 30.0), &["aaaaa"]);
    }

    #[test]
    fn an_even_paragraph_is_not_always_the_fullest() {
        // Filling would leave a gap of 40 in the second line.
        let text = "aaa bb cc ddddd";
        check(fill_lines, text, (60.0, 60.0), &["aaa bb ", "cc ", "ddddd"]);
        check(break_evenly, text, (60.0, 60.0), &["aaa ", "bb cc ", "ddddd"]);
    }

    #[test]
    fn words_are_parted_only_if_that_helps() {
        check(break_evenly, "aa bbb-bbb cc dd", (64.0, 64.0), &["aa bbb", "bbb cc ", "dd"]);
        check(break_evenly, "aaa bbb ccc-ccc", (70.0, 70.0), &["aaa bbb ", "cccccc"]);
    }

    #[test]
    fn time_grows_with_the_text_and_not_with_its_square() {
        let units = units(&"aaa bb-bb c ".repeat(20_000));
        let room = LineWidths { first: 300.0, rest: 300.0 };
        let lines = break_evenly(&units, room).len();
        assert!((6_000..8_000).contains(&lines), "{lines}");
    }
}
