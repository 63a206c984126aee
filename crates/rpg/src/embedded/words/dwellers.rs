//! The characters that a party may meet: [`Friend`] and [`Foe`].

/// A character to talk to.
#[derive(Debug, PartialEq)]
pub(in crate::embedded) struct Friend {
    /// The word by which players may refer to them; `name` is the whole name.
    pub(in crate::embedded) word: &'static str,
    pub(in crate::embedded) name: &'static str,
    pub(in crate::embedded) looks: &'static str,
    pub(in crate::embedded) lines: &'static [&'static str],
}

/// A character to fight.
#[derive(Debug, PartialEq)]
pub(in crate::embedded) struct Foe {
    pub(in crate::embedded) word: &'static str,
    pub(in crate::embedded) name: &'static str,
    pub(in crate::embedded) looks: &'static str,
    /// Its reaction when it is beaten.
    pub(in crate::embedded) leaves: &'static str,
}

pub(in crate::embedded) const FRIENDS: &[Friend] = &[
    Friend {
        word: "ferrywoman",
        name: "Ilse, an old ferrywoman",
        looks: "Ilse, an old ferrywoman, sits mending a net that has more holes than string.",
        lines: &[
            "\"Water remembers,\" she says. \"So do I. Ask me where a thing was lost, and I can mostly tell you who was careless.\"",
            "\"If you go where nobody has drawn a line yet, leave a sign behind you. I have fetched too many people who did not.\"",
            "\"I am not lonely. The net and I have an understanding.\" She bites off a thread. \"Sit, if you like. It costs nothing.\"",
        ],
    },
    Friend {
        word: "lamplighter",
        name: "Corin, a lamplighter",
        looks: "A lamplighter called Corin leans on his pole, as if waiting for an evening that is late.",
        lines: &[
            "\"I light what there is,\" Corin says, \"and what there is gets less each year. Look behind things. The good stuff is always behind things.\"",
            "\"They say the far places grow while nobody looks at them. Explore, and you will see I am right. Or wrong. Tell me which.\"",
            "\"There was a bell here once, or the sound of one. I never found the difference.\"",
        ],
    },
    Friend {
        word: "archivist",
        name: "Mother Quill, an archivist",
        looks: "Mother Quill, an archivist with ink up to her elbows, is counting something under her breath.",
        lines: &[
            "\"Four hundred and twelve,\" she says. \"You made me lose one. Never mind, it will be behind the others. It always is.\"",
            "\"Every story has a place where it wants to be found. Mostly it is the fifth place you think of, not the first.\"",
            "\"Write down what you take. Not for me. For the one who comes looking for it.\"",
        ],
    },
    Friend {
        word: "tinker",
        name: "Jarro, a tinker",
        looks: "Jarro, a tinker, has spread his wares on a blanket: spoons, hinges, one glass eye.",
        lines: &[
            "\"I would sell you a secret,\" says Jarro, \"but they do not keep. Have one for free: search before you sleep.\"",
            "\"The eye? It is not for sale. It watches the spoons.\"",
            "\"Whatever bites around here bites once and then thinks about it. That is when you hit it.\"",
        ],
    },
    Friend {
        word: "pilgrim",
        name: "Sister Oan, a pilgrim",
        looks: "A barefoot pilgrim, Sister Oan, is drawing circles in the dust with a stick.",
        lines: &[
            "\"I have walked this circle nine times,\" she says, \"and each time it was a different one.\"",
            "\"You carry a question. Good. People who carry answers walk so slowly.\"",
            "\"Rest when you are tired. It sounds like wisdom only because so few do it.\"",
        ],
    },
    Friend {
        word: "boy",
        name: "Pip, a goatherd",
        looks: "A goatherd boy named Pip watches you with great interest and no goats.",
        lines: &[
            "\"I had seven,\" says Pip. \"They are cleverer than me, so I follow them now. They go where there is no path, and then there is one.\"",
            "\"There is something in the next place that growls. It is not a goat. I asked.\"",
            "\"Are you looking for the thing too? Everybody is looking for the thing. Nobody looks under things.\"",
        ],
    },
    Friend {
        word: "mason",
        name: "Brannoch, a mason",
        looks: "Brannoch, a mason, runs his thumb along a joint in the stone and shakes his head.",
        lines: &[
            "\"Whoever built this left a gap on purpose,\" he says. \"You do not leave a gap like that unless you mean to come back through it.\"",
            "\"Stone is honest. It tells you where it is hollow, if you have the manners to knock.\"",
            "\"I would come along, if somebody asked. My knees would complain, but they complain here, too.\"",
        ],
    },
    Friend {
        word: "cartographer",
        name: "Velia, a cartographer",
        looks: "Velia, a cartographer, holds a sheet of paper at arm's length and squints at the empty half of it.",
        lines: &[
            "\"White space,\" says Velia. \"My favourite. Go and spoil it for me, would you?\"",
            "\"I draw what people tell me, and people tell me mostly about their feet. What did you see up there?\"",
            "\"The trick is to come back. Half of my profession never learned it.\"",
        ],
    },
];

pub(in crate::embedded) const FOES: &[Foe] = &[
    Foe {
        word: "hound",
        name: "an ash hound",
        looks: "An ash hound stands in your way, grey as a cold hearth, and shows you all of its teeth.",
        leaves: "The hound gives one offended yelp and dissolves into a drift of ash that the draught carries off.",
    },
    Foe {
        word: "boar",
        name: "a thorn boar",
        looks: "A thorn boar is rooting in the dirt. Now it has stopped rooting, and is looking at you.",
        leaves: "The boar has had enough. It crashes off through whatever is in its way, and the noise takes a long time to fade.",
    },
    Foe {
        word: "sentry",
        name: "a rusted sentry",
        looks: "A suit of rusted armour keeps watch here, and there is nobody in it.",
        leaves: "With a sigh of old hinges the armour comes apart, piece by piece, and lies there as mere iron.",
    },
    Foe {
        word: "rats",
        name: "a carpet of rats",
        looks: "The floor shifts and squeaks: rats, a whole carpet of them, and the carpet has noticed you.",
        leaves: "The rats hold a short council and pour away through a crack that you would not have thought a mouse could use.",
    },
    Foe {
        word: "crow",
        name: "a crow the size of a calf",
        looks: "A crow the size of a calf sits across your path and polishes its beak on a stone.",
        leaves: "The crow calls you something rude in its own tongue, spreads its wings, and is gone over your head.",
    },
    Foe {
        word: "thief",
        name: "a masked cutpurse",
        looks: "Somebody in a mask steps out of the shadows. The knife is small, but it is pointing at you.",
        leaves: "The cutpurse backs away with both hands raised, says \"no hard feelings\", and runs.",
    },
    Foe {
        word: "shade",
        name: "a pale shade",
        looks: "A pale shade hangs in the air like breath in winter, and the warmth drains out of everything near it.",
        leaves: "The shade thins, brightens for a moment as if it remembered something kind, and is no longer there.",
    },
    Foe {
        word: "spider",
        name: "a lantern spider",
        looks: "What you took for a lamp under the ceiling has legs. The lantern spider lets itself down on a thread, unhurried.",
        leaves: "The spider hauls itself back up its thread, and its light goes out with what sounds like a sniff.",
    },
];

/// Objects of the quest if the campaign itself has no goal.
pub(in crate::embedded) const QUESTS: &[&str] = &[
    "the Bell of Low Water",
    "the Seventh Lantern",
    "the Salt Crown",
    "the last page of the Heron Book",
    "the Clockmaker's silver key",
    "the Ember Seal",
];
