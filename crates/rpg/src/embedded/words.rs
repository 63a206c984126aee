//! The texts of the embedded narrator. None of them may sound like a change of the state: see the test below.

pub(super) mod acts;
pub(super) mod dwellers;
pub(super) mod phrases;
pub(super) mod places;
pub(super) mod rules;

#[cfg(test)]
mod tests {
    use super::{acts, dwellers, phrases, places};
    use crate::conflict::is_harmless;

    #[test]
    fn no_text_claims_what_only_tools_can_do() {
        let mut texts: Vec<&str> = Vec::new();
        for kind in places::KINDS {
            let lists =
                [kind.nouns, kind.sights, kind.senses, kind.details, kind.items, kind.hidden];
            texts.extend(lists.iter().flat_map(|list| list.iter()));
        }
        texts.extend(places::NAMES);
        texts.extend(acts::ACTS.iter().flat_map(|act| act.lines.iter()));
        for friend in dwellers::FRIENDS {
            texts.extend([friend.name, friend.looks]);
            texts.extend(friend.lines);
        }
        for foe in dwellers::FOES {
            texts.extend([foe.name, foe.looks, foe.leaves]);
        }
        texts.extend(phrases::all().into_iter().flatten());
        assert!(texts.len() > 300, "{}", texts.len());
        for text in texts {
            assert!(is_harmless(text), "{text:?}");
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
        }
    }
}
