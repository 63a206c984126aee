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
        text: "Every character starts with 10 hit points. Fights and traps cost some, rest restores some, up to 10. \
               At 0 or below you are dying (unless the setting rules.hp_zero_ends_game is off): then you can only \
               rest, or be tended by another character, until you are above 0 again.",
    },
    RuleTopic {
        words: &["fight", "attack", "dice", "combat", "battle", "foe", "enemy"],
        text: "A fight is one roll a turn: you either land a blow or take one, which costs 1 to 3 hit points. Two or \
            three blows see most enemies off. You may leave a fight at any time, and rest elsewhere.",
    },
    RuleTopic {
        words: &["move", "go", "travel", "map", "area", "areas", "explore", "direction"],
        text: "You can go to connected places; name the place, its id, a direction, or say \"back\". Only the acting \
               character moves, the others stay where they are. Exploring looks for ways that are not known yet.",
    },
    RuleTopic {
        words: &["take", "item", "items", "inventory", "carry"],
        text: "You can take items that you see, and a search may reveal more. Campaigns of the later generations \
               keep an inventory; in the others I rely on the last turns.",
    },
    RuleTopic {
        words: &["turn", "turns", "undo", "rewind", "fork", "save", "log"],
        text: "Every turn is saved completely before you see it, so there is nothing to save. Turns can be undone, \
               and you can return to any earlier turn; the turns after it are kept as a branch.",
    },
    RuleTopic {
        words: &["milestone", "milestones", "goal", "end", "win"],
        text: "A campaign has a goal and milestones. Campaigns of the later generations reach a milestone every few \
               turns, and end when the goal is achieved or no party member can go on.",
    },
    RuleTopic {
        words: &["tool", "tools", "allowlist", "narrator", "cheat"],
        text: "I only narrate. All changes are made by tools, which check my requests; if my answer contradicts \
               their results, it is discarded and I am asked again.",
    },
];

pub(in crate::embedded) const OVERVIEW: &str = "Say what you do in plain words, one thing per turn: look, go \
                                                somewhere, explore, search, take something, talk, attack, rest, \
                                                wait. You have hit points (10 at first; at 0 you are dying and can \
                                                only rest). Only the acting character moves; fights are one roll per \
                                                turn. Ask about the rules of fights, health, travel, items, turns or \
                                                milestones to hear more.";
