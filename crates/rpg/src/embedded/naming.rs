//! The names of places: those of the campaign, or titles derived from the seed.

use super::dice::Dice;
use super::grammar::{Gender, Noun, Tongue};
use super::intent::words;
use super::lexicon::{LanguagePack, PlaceKind};
use super::world::WorldRecord;
use crate::conflict::is_harmless;
use crate::document_view::CampaignView;
use everturn_value::tree::JsonTree;

/// The maximum length of a quoted name.
const NAME_LENGTH: usize = 60;

/// Returns a text of the campaign for use in an answer, or `None` if it could be taken for a claim.
pub(super) fn quotable(text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_plain = !text.chars().any(|c| c.is_control() || matches!(c, '{' | '}'));
    (!text.is_empty() && is_plain && is_harmless(&text)).then_some(text)
}

pub(super) fn short(text: &str) -> String {
    if text.chars().count() <= NAME_LENGTH {
        return text.to_owned();
    }
    let start: String = text.chars().take(NAME_LENGTH).collect();
    format!("{}…", start.trim_end())
}

/// Returns whether a name is generic. Campaigns made by the upstream program have such names.
pub(super) fn is_generic(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    let number = name.strip_prefix("generated area");
    let is_number = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == ' ');
    matches!(name.as_str(), "" | "starting area" | "side room" | "generated entry")
        || number.is_some_and(is_number)
}

/// Returns the dice of a campaign's world, which are the same in all branches of it.
pub(super) fn world_dice(view: CampaignView<'_>, seed: u64) -> Dice {
    let said = |key: &str| view.tree.string_at(&["selected", key]).unwrap_or_default();
    Dice::new(seed).of(&said("world_id")).of(&said("map_id"))
}

/// Returns the kind and the title of an unnamed area.
pub(super) fn title_of(
    pack: &LanguagePack,
    view: CampaignView<'_>,
    seed: u64,
    area: &str,
) -> (usize, usize, usize) {
    let dice = world_dice(view, seed);
    let kinds = pack.places.len().max(1);
    let nouns = pack.places.iter().map(|kind| kind.nouns.len()).min().unwrap_or(1).max(1);
    let all = kinds * nouns * pack.prefixes.len().max(1);
    // Areas are numbered, so neighbours in the numbering get different kinds, and no name comes twice.
    let digits: String = area.chars().filter(char::is_ascii_digit).collect();
    let own = || dice.of(area).below(all as u64);
    let number = digits.parse::<u64>().unwrap_or_else(|_| own());
    let offset = dice.of("names").below(all as u64);
    let at = offset.wrapping_add(number.wrapping_mul(613)) % all as u64;
    let at = usize::try_from(at).unwrap_or_default();
    (at % kinds, at / kinds % nouns, at / (kinds * nouns) % pack.prefixes.len().max(1))
}

pub(super) fn title(
    pack: &LanguagePack,
    kind: &PlaceKind,
    prefix: usize,
    noun: usize,
) -> (String, Gender) {
    let prefix = pack.prefixes.get(prefix).map_or("", String::as_str);
    let (noun, gender) =
        kind.nouns.get(noun).map_or(("", Gender::Neuter), |(noun, gender)| (noun, *gender));
    match pack.tongue {
        Tongue::English => (format!("{prefix} {noun}"), gender),
        Tongue::German => (format!("{prefix}{}", noun.to_lowercase()), gender),
    }
}

/// Returns the noun of a place: the stored title, the campaign's own name, or the title that it will get.
pub(super) fn place_noun(
    pack: &LanguagePack,
    world: &WorldRecord,
    view: CampaignView<'_>,
    area: &str,
) -> Noun {
    let stored = view.area_name(area).unwrap_or_default();
    let record = world.places.get(area);
    // A name that was changed in the campaign takes precedence.
    let is_renamed = record.is_some_and(|place| place.name != stored) && !is_generic(&stored);
    if let Some(place) = record.filter(|_| !is_renamed) {
        if let (Some((prefix, noun)), Some(kind)) = (place.title, pack.place(&place.kind)) {
            let (name, gender) = title(pack, kind, prefix, noun);
            return Noun::definite(pack.tongue, &name, gender);
        }
        return own_name(pack, &place.name);
    }
    if is_generic(&stored) {
        let (kind, noun, prefix) = title_of(pack, view, world.seed, area);
        if let Some(kind) = pack.places.get(kind) {
            let (name, gender) = title(pack, kind, prefix, noun);
            return Noun::definite(pack.tongue, &name, gender);
        }
    }
    own_name(pack, &stored)
}

/// Returns the noun of a name that the campaign gave.
fn own_name(pack: &LanguagePack, stored: &str) -> Noun {
    let Some(name) = quotable(stored).map(|name| short(&name)) else {
        return Noun::proper(pack.tongue, pack.label("nameless"), Gender::Neuter);
    };
    if pack.tongue == Tongue::German {
        return Noun::proper(pack.tongue, &format!("„{name}“"), Gender::Neuter);
    }
    let parts = words(&name);
    let is_word = |word: &String| {
        pack.places.iter().any(|kind| kind.known.contains(word))
            || matches!(word.as_str(), "entry" | "area")
    };
    let has_article = parts.first().is_some_and(|word| matches!(word.as_str(), "the" | "a" | "an"));
    match !has_article && parts.last().is_some_and(is_word) {
        true => Noun::definite(pack.tongue, &name, Gender::Neuter),
        false => Noun::proper(pack.tongue, &name, Gender::Neuter),
    }
}

/// Returns the name that an older narrator used for an area, from the log.
pub(super) fn name_from_log(rows: &[JsonTree], area: &str) -> Option<String> {
    for row in rows {
        let actor = row.string_at(&["state_summary", "active_actor_id"])?;
        let at = row.string_at(&["state_summary", "positions", actor.as_str()]);
        let moved = row.string_at(&["applied_actions", "0", "tool"]).as_deref() == Some("move");
        if at.as_deref() != Some(area) || !moved {
            continue;
        }
        let text = row.string_at(&["assistant_text"])?;
        let mut after = text.split(" the ").skip(1).filter_map(|rest| {
            let mut parts = rest.split([' ', '.', ',', ';', ':', '\n']);
            let (first, second) = (parts.next()?, parts.next()?);
            let is_name = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
            (is_name(first) && is_name(second)).then(|| format!("{first} {second}"))
        });
        if let Some(name) = after.next() {
            return Some(name);
        }
    }
    None
}
