//! The explanations of the rules for players.

/// A topic: the words that ask for it, and its explanation.
pub(in crate::embedded) struct RuleTopic {
    pub(in crate::embedded) words: &'static [&'static str],
    pub(in crate::embedded) text: &'static str,
}

pub(in crate::embedded) const TOPICS: &[RuleTopic] = &[
    RuleTopic {
        words: &[
            "hp", "health", "hit", "points", "heal", "rest", "dying", "die", "death", "wound",
            "wounds",
        ],
        text: "Everybody starts with 10 hit points. Fights and traps cost some, rest gives some back, up to 10. At 0 or \
            below you are dying (unless the setting rules.hp_zero_ends_game is off): then all you can do is rest, or be \
            tended by somebody else, until you are above 0 again.",
    },
    RuleTopic {
        words: &["fight", "attack", "dice", "combat", "battle", "foe", "enemy"],
        text: "A fight is one roll a turn: you either land a blow or take one, which costs 1 to 3 hit points. Two or \
            three blows see most enemies off. You may leave a fight at any time, and rest elsewhere.",
    },
    RuleTopic {
        words: &["move", "go", "travel", "map", "area", "areas", "explore", "direction"],
        text: "You go from one place to the next where a way leads there; name the place, its id, a direction, or say \
            \"back\". Only the one who acts goes, the others stay where they are. Exploring looks for ways that nobody \
            knows of yet.",
    },
    RuleTopic {
        words: &["take", "item", "items", "inventory", "carry"],
        text: "What lies about can be taken, and a search may bring up more. Campaigns of the later generations keep an \
            inventory; in the others I go by what the last turns tell.",
    },
    RuleTopic {
        words: &["turn", "turns", "undo", "rewind", "fork", "save", "log"],
        text: "Every turn is stored as a whole before you see it, so there is nothing to save. Turns can be taken back, \
            and you can return to any earlier one; what you leave behind is kept as a branch.",
    },
    RuleTopic {
        words: &["milestone", "milestones", "goal", "end", "win"],
        text: "A campaign has a goal and milestones. Campaigns of the later generations reach a milestone every few \
            turns, and end when the goal is achieved or nobody of the party can go on.",
    },
    RuleTopic {
        words: &["tool", "tools", "allowlist", "narrator", "cheat"],
        text: "I only tell. Whatever changes is done by tools, which check what I ask for; if what I tell does not fit \
            what they did, my answer is thrown away and I am asked again.",
    },
];

pub(in crate::embedded) const OVERVIEW: &str = "Say what you do in plain words, one thing a turn: look, go somewhere, \
    explore, search, take something, talk, attack, rest, wait. You have hit points (10 at first; at 0 you are dying and can \
    only rest). Only the one who acts goes anywhere; fights are one roll a turn. Ask about the rules of fights, health, \
    travel, items, turns or milestones to hear more.";
