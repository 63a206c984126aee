//! Every layout made into every other, and back.

use everturn::convert::{Conversion, Fate, Plan};

use crate::sessions::{LAYOUTS, Made, Random, at, find, memory, session, view};

/// Makes a session into one of another layout, in a store of its own.
pub(crate) fn convert(from: &Made, to: &str, id: &str) -> (Made, Plan) {
    let conversion = Conversion { to, id: Some(id), project: None, branch: None };
    let plan = conversion.plan(&from.store, from.layout, &from.place, at(2000));
    let plan = plan.unwrap_or_else(|error| {
        panic!("{} to {to}: {error}\n{:#?}", from.layout.name(), view(from))
    });
    let store = memory();
    let place = plan.write(&store).unwrap();
    (Made { store, layout: find(to), place }, plan)
}

fn seeds() -> u64 {
    std::env::var("EVERTURN_CONVERT_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

#[test]
fn converting_to_any_layout_and_back_changes_nothing() {
    let mut entries = 0;
    for seed in 0..seeds() {
        for from in LAYOUTS {
            let original = session(from, &mut Random::new(seed));
            let before = view(&original);
            for to in LAYOUTS.into_iter().filter(|to| *to != from) {
                let (there, report) = convert(&original, to, "on-the-way");
                let (back, second) = convert(&there, from, &original.place.id);
                let after = view(&back);
                let differs = after.iter().zip(&before).find(|(after, before)| after != before);
                assert_eq!(differs, None, "{from} to {to} and back, seed {seed}");
                assert_eq!(after.len(), before.len(), "{from} to {to} and back, seed {seed}");
                assert_eq!(view(&original), before, "the original, {from} to {to}, seed {seed}");
                entries += report.report().entries.len();
                let losses = second.report();
                assert!(losses.notes.is_empty(), "{from} to {to} and back: {:?}", losses.notes);
                assert_eq!(losses.count(Fate::Kept), losses.entries.len(), "{from} to {to}");
            }
        }
    }
    println!("{entries} entries were converted and came back");
    assert!(entries > 500, "{entries}");
}
