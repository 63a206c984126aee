//! Small actions of a player that change nothing.

/// An action and its outcomes.
#[derive(Debug, PartialEq)]
pub(in crate::embedded) struct FreeAction {
    pub(in crate::embedded) words: &'static [&'static str],
    pub(in crate::embedded) lines: &'static [&'static str],
}

pub(in crate::embedded) const ACTS: &[FreeAction] = &[
    FreeAction {
        words: &["light", "torch", "lantern", "candle", "ignite", "kindle", "fire"],
        lines: &[
            "The spark catches at the second try. Warm light jumps across the walls, and the shadows rearrange themselves.",
            "A small flame grows calm in your hand. What was a shape a moment ago has edges now.",
            "The wick hisses, then burns. For a breath you see how dusty the air is, and how still.",
        ],
    },
    FreeAction {
        words: &["hide", "crouch", "duck", "conceal"],
        lines: &[
            "You fold yourself into the deepest shadow there is and count to thirty. Nobody comes. Not yet.",
            "You find a corner where the light does not reach, and become part of it.",
            "You press yourself against cold stone and listen to your own heart until it slows.",
        ],
    },
    FreeAction {
        words: &["sing", "hum", "whistle", "play", "dance"],
        lines: &[
            "You try an old tune under your breath. The place seems to lean closer to hear how it ends.",
            "Three notes, then four. Somewhere an echo answers, half a tone too low.",
            "It is no great performance, but the silence afterwards is friendlier than the one before.",
        ],
    },
    FreeAction {
        words: &["pray", "kneel", "bow", "worship", "bless"],
        lines: &[
            "You lower your head. No voice answers, but the knot between your shoulders loosens.",
            "You say the words you were taught as a child, and find that you still know all of them.",
        ],
    },
    FreeAction {
        words: &["write", "draw", "note", "mark", "carve", "sketch"],
        lines: &[
            "You leave a small mark where you will see it again. One day somebody may wonder about it.",
            "You set down what you have seen in a few plain strokes. It helps: it always does.",
        ],
    },
    FreeAction {
        words: &["think", "ponder", "wonder", "remember", "plan", "consider", "reflect"],
        lines: &[
            "You turn the matter over in your mind. Two things do not fit together, and that is where you would look next.",
            "You stand still and let the pieces settle. It is not a plan yet, but it has the outline of one.",
        ],
    },
    FreeAction {
        words: &["shout", "yell", "scream", "call", "cry", "holler"],
        lines: &[
            "Your voice runs off into the distance and comes back without company.",
            "You call out. A startled bird, a trickle of dust, then quiet. Whoever is out there knows of you now.",
        ],
    },
    FreeAction {
        words: &["laugh", "smile", "grin", "joke", "wink"],
        lines: &[
            "The laugh surprises you more than anybody. It is good to know that you still have one.",
            "You grin at nothing in particular, and the day seems a shade lighter.",
        ],
    },
    FreeAction {
        words: &["cast", "spell", "magic", "conjure", "enchant", "summon"],
        lines: &[
            "You shape the words with care. A pale glow crawls along your fingers, thinks better of it, and goes out.",
            "The air tightens like a drumskin, and a smell of struck flint hangs about you. The old forces listen, but today they do not answer.",
        ],
    },
    FreeAction {
        words: &["throw", "toss", "drop", "roll", "hurl"],
        lines: &[
            "It clatters away, bounces twice, and comes to rest. The sound tells you more of the ground ahead than your eyes did.",
            "You let it fly. A dull knock, a pause, a softer knock further down. Deep, then.",
        ],
    },
    FreeAction {
        words: &["knock", "ring", "tap", "bang"],
        lines: &[
            "Three knocks. You hold your breath, and hear nothing but the place settling around you.",
            "The sound is hollow. There is more space behind this than there should be: it might be worth a search.",
        ],
    },
    FreeAction {
        words: &["jump", "leap", "swim", "balance", "stretch", "juggle", "bounce"],
        lines: &[
            "You do it for the sake of doing it, and land more or less where you meant to.",
            "It goes well until the last moment, and then it goes well enough.",
        ],
    },
    FreeAction {
        words: &["wash", "clean", "polish", "mend", "repair", "sharpen", "fix"],
        lines: &[
            "You see to your gear. Small work, done well, calms the hands for larger work.",
            "A rub here, a stitch there. Nothing looks new, but everything looks ready.",
        ],
    },
];
