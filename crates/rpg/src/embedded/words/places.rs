//! The kinds of places.

/// A kind of place.
#[derive(Debug)]
pub(in crate::embedded) struct PlaceKind {
    /// Words in the name of a place that indicate this kind.
    pub(in crate::embedded) known_by: &'static [&'static str],
    /// Nouns for names of places of this kind.
    pub(in crate::embedded) nouns: &'static [&'static str],
    pub(in crate::embedded) sights: &'static [&'static str],
    pub(in crate::embedded) senses: &'static [&'static str],
    /// Details that a closer look shows.
    pub(in crate::embedded) details: &'static [&'static str],
    /// Items that lie about.
    pub(in crate::embedded) items: &'static [&'static str],
    /// Items that a search finds.
    pub(in crate::embedded) hidden: &'static [&'static str],
}

/// First words of the names of places without a name of their own.
pub(in crate::embedded) const NAMES: &[&str] = &[
    "Heron", "Lantern", "Salt", "Ember", "Hollow", "Thistle", "Amber", "Sunken", "Quiet",
    "Crooked", "Winter", "Copper", "Raven", "Moss", "Bell", "Glass", "Juniper", "Widow's", "Owl",
    "Harvest", "Saffron", "Tallow", "Linden", "Wolf",
];

/// The default kind of place.
pub(in crate::embedded) const HALL: PlaceKind = PlaceKind {
    known_by: &["hall", "starting", "court", "palace", "castle", "throne"],
    nouns: &["Hall", "Gatehouse", "Longhouse"],
    sights: &[
        "Tall windows let in more dust than light, and a long table has been set for guests who never came.",
        "Banners hang from the beams, so faded that their beasts have become clouds.",
        "A cold hearth takes up one wall; above it, pale squares show where pictures used to hang.",
        "The floor is worn into a shallow path, from door to door, by a few hundred years of feet.",
    ],
    senses: &[
        "Somewhere above you a shutter knocks against its frame, patient as a clock.",
        "It smells of beeswax, old smoke and, faintly, of rain.",
        "Your footsteps come back to you a moment late, as if somebody were practising them.",
    ],
    details: &[
        "The hearthstone is scratched: seven short lines, the last one fresh.",
        "One of the chairs has been turned to face the wall.",
        "Under the table somebody has carved a small boat with great care.",
    ],
    items: &["brass candlestick", "folded letter", "iron poker"],
    hidden: &["silver button", "child's slate", "bundle of dry herbs"],
};

pub(in crate::embedded) const KINDS: &[PlaceKind] = &[
    HALL,
    PlaceKind {
        known_by: &["side", "room", "chamber", "cell", "study", "office", "closet"],
        nouns: &["Chamber", "Store", "Cloister"],
        sights: &[
            "Shelves climb to the ceiling, half of them empty, the other half full of jars without labels.",
            "A narrow bed, a narrow window, a narrow strip of sky: whoever lived here did not need much.",
            "Crates are stacked along the wall, and one of them has been opened from the inside.",
        ],
        senses: &[
            "The air is close and smells of wool and apples.",
            "Something small is busy behind the boards, and stops whenever you do.",
            "Water drips into a pan, in a rhythm that is almost a song.",
        ],
        details: &[
            "The dust on the sill has been wiped away in one place, about the width of an elbow.",
            "A calendar hangs on a nail. The days are crossed out up to one that is not there.",
            "Behind the door hangs a coat, its pockets turned out.",
        ],
        items: &["coil of rope", "stoppered jar", "tin lantern"],
        hidden: &["bone whistle", "loose coin", "rolled-up sketch"],
    },
    PlaceKind {
        known_by: &["forest", "wood", "grove", "glade", "thicket", "tree", "orchard"],
        nouns: &["Grove", "Thicket", "Orchard"],
        sights: &[
            "Old trees stand close together, and the light between them is green and slow.",
            "Ferns reach to your belt; a trail, or the memory of one, winds through them.",
            "The branches have grown into each other, until nobody could say where one tree ends.",
        ],
        senses: &[
            "A woodpecker works at a trunk, gives up, and begins again further off.",
            "It smells of resin and wet leaves, and of something sweet that you cannot place.",
            "The wind goes through the crowns like a long breath, and down here nothing stirs.",
        ],
        details: &[
            "Ribbons are tied to the lowest branches, bleached to the colour of bark.",
            "A ring of pale mushrooms surrounds a stump, as regular as if it had been drawn.",
            "One trunk has a door painted on it. It is only paint. It is very good paint.",
        ],
        items: &["hazel staff", "handful of walnuts", "blue feather"],
        hidden: &["fox's tooth", "rusted trap", "amber bead"],
    },
    PlaceKind {
        known_by: &["cave", "cavern", "tunnel", "mine", "grotto", "den", "pit"],
        nouns: &["Cavern", "Grotto", "Mine"],
        sights: &[
            "The walls glisten, and veins of some pale mineral run through them like frozen lightning.",
            "The ceiling is lost in darkness; what you see of the floor is rubble and old timber props.",
            "A shallow pool fills the middle of the place, so clear that you notice it only by its edge.",
        ],
        senses: &[
            "Drops fall far away, one after another, into deep water.",
            "The air is cold and tastes of iron.",
            "When you hold your breath there is a hum, so low that you feel it in your teeth.",
        ],
        details: &[
            "Hand prints in red ochre cover one wall, all of them left hands, one with six fingers.",
            "A miner's lamp still hangs from a prop. The wick has been trimmed not long ago.",
            "Fine scratches on the rock turn out to be tallies, bundles of five, thousands of them.",
        ],
        items: &["chunk of quartz", "miner's pick", "lump of chalk"],
        hidden: &["blind fish in a jar", "copper nugget", "leather purse"],
    },
    PlaceKind {
        known_by: &["tower", "stairs", "stair", "attic", "loft", "turret", "spire", "roof"],
        nouns: &["Tower", "Stair", "Belfry"],
        sights: &[
            "Steps wind up along the wall, each a little different from the last, and the middle is a long drop.",
            "Slits in the stone cut the daylight into slices; dust turns in them, gold and unhurried.",
            "Old beams cross overhead, and swallows have built on every one of them.",
        ],
        senses: &[
            "The wind plays on the slits as on a flute, badly.",
            "It smells of straw, feathers and warm stone.",
            "Each of your steps wakes a small echo that runs ahead of you.",
        ],
        details: &[
            "Names are scratched into the wall, the lowest at the height of a child, the highest beyond your reach.",
            "A telescope without lenses points steadily at a bare hill.",
            "One of the steps is made of a gravestone, face down.",
        ],
        items: &["swallow's nest", "spyglass without lenses", "ball of twine"],
        hidden: &["bell clapper", "pressed flower", "cracked lens"],
    },
    PlaceKind {
        known_by: &["chapel", "temple", "shrine", "church", "crypt", "tomb", "sanctuary"],
        nouns: &["Chapel", "Shrine", "Crypt"],
        sights: &[
            "Rows of stone benches face an altar on which somebody has left a bowl of fresh water.",
            "Coloured glass throws red and blue patches across the floor, though the sun is nowhere near.",
            "Saints without noses look down from their niches, patient and a little amused.",
        ],
        senses: &[
            "A trace of incense hangs in the cool air.",
            "It is so quiet that you hear the candle burn.",
            "Doves shuffle in the rafters and discuss you.",
        ],
        details: &[
            "One flagstone is cleaner than the others, and sounds different under your heel.",
            "The book on the lectern is open at a page where all but one of the words have been scraped off. The word is \"below\".",
            "Wax has run down the altar and set in the shape of a small hand.",
        ],
        items: &["beeswax candle", "prayer beads", "pewter cup"],
        hidden: &["finger bone in a box", "gilt page", "worn ring"],
    },
    PlaceKind {
        known_by: &["garden", "field", "meadow", "park", "yard", "pasture", "farm"],
        nouns: &["Garden", "Meadow", "Terrace"],
        sights: &[
            "Beds that were once laid out in stars and circles have gone to seed, and bloom all the more for it.",
            "Tall grass bends under the wind, and in it stands a single chair.",
            "Low walls divide the ground into squares, each with another herb, each with another hum of bees.",
        ],
        senses: &[
            "Bees come and go, heavy and content.",
            "It smells of thyme, cut grass and far-off smoke.",
            "A cricket falls silent as you pass, and takes up its song behind you.",
        ],
        details: &[
            "The sundial shows a time of day that has not been for hours.",
            "Somebody has swept the gravel into rings around a plain grey stone.",
            "A scarecrow wears a better coat than you do.",
        ],
        items: &["sprig of rosemary", "pruning knife", "clay pot"],
        hidden: &["glass marble", "ring of small keys", "jar of honey"],
    },
    PlaceKind {
        known_by: &["library", "archive", "school", "museum", "gallery"],
        nouns: &["Library", "Archive", "Gallery"],
        sights: &[
            "Books stand two deep, and where the shelves gave up, they go on in stacks across the floor.",
            "Ladders on rails lean against the cases; one of them is still rolling, very slowly.",
            "Frames crowd the walls, and in each of them is the same harbour at another hour.",
        ],
        senses: &[
            "Paper rustles, although nothing stirs.",
            "It smells of leather, glue and somebody's forgotten tea.",
            "A clock ticks in the next aisle, wherever you stand.",
        ],
        details: &[
            "A reader's lamp is warm to the touch.",
            "The catalogue drawers are in perfect order but for one card, which has your description on it, roughly.",
            "In the margin of an open page somebody has written: not here, try the fifth.",
        ],
        items: &["slim blue book", "ivory bookmark", "inkwell"],
        hidden: &["torn chart", "pair of spectacles", "sealed envelope"],
    },
    PlaceKind {
        known_by: &[
            "river", "lake", "harbour", "harbor", "bridge", "shore", "beach", "sea", "water",
            "dock", "swamp", "marsh",
        ],
        nouns: &["Bridge", "Landing", "Shore"],
        sights: &[
            "Dark water slides past, slower than it looks, carrying leaves that were green this morning.",
            "A row of posts leads out over the shallows; the planks between them are long gone.",
            "Mist lies on the water, and in it, now and then, the outline of a boat that never comes nearer.",
        ],
        senses: &[
            "Ropes creak, and something knocks against wood below you.",
            "It smells of mud, tar and mint.",
            "A heron lifts off without a sound, and the reeds close where it stood.",
        ],
        details: &[
            "A line is tied to a ring in the stone. It runs straight down, and it is taut.",
            "The high-water marks on the pillar are dated. The topmost date has not come yet.",
            "Somebody has lined up seven white pebbles, and a gap where the eighth would be.",
        ],
        items: &["boat hook", "length of net", "smooth white pebble"],
        hidden: &["bottle with a message", "drowned coin", "fish-skin pouch"],
    },
    PlaceKind {
        known_by: &[
            "tavern", "inn", "market", "shop", "kitchen", "village", "town", "street", "square",
            "house",
        ],
        nouns: &["Inn", "Market", "Kitchen"],
        sights: &[
            "Tables stand about as if their guests had risen all at once; one cup still steams.",
            "Stalls line both sides, their awnings patched in every colour, most of them closed.",
            "Copper pans hang in a row above an oven that is almost cold.",
        ],
        senses: &[
            "Somebody laughs next door, or did, not long ago.",
            "It smells of onions, sawdust and spilled beer.",
            "A cat regards you from a windowsill and decides that you will do.",
        ],
        details: &[
            "The slate behind the counter lists debts. The longest column is headed \"the one with the lamp\".",
            "A die lies on the floor. It shows a seven.",
            "Under one of the stalls a trapdoor has been nailed shut, then opened, then nailed shut again.",
        ],
        items: &["loaf of dark bread", "wooden spoon", "deck of cards"],
        hidden: &["loaded die", "innkeeper's spare key", "smoked sausage"],
    },
    PlaceKind {
        known_by: &[
            "ruin",
            "ruins",
            "wall",
            "fort",
            "keep",
            "camp",
            "tent",
            "wasteland",
            "desert",
            "road",
            "path",
            "hill",
            "mountain",
            "pass",
        ],
        nouns: &["Ruin", "Watch", "Cairn"],
        sights: &[
            "Walls without roofs stand around you like people who have forgotten what they came for.",
            "A broken road runs through here, its stones pushed up by roots, and stops at nothing.",
            "From this height the land lies open: hills behind hills, and one thread of smoke.",
        ],
        senses: &[
            "The wind has room here, and uses it.",
            "It smells of warm stone and broom in bloom.",
            "Far off a bell is struck once, and then not again.",
        ],
        details: &[
            "The ashes in the ring of stones are still warm underneath.",
            "An arch leads from nowhere to nowhere. All the same, somebody has swept beneath it.",
            "On a milestone the number has been chiselled away and replaced by a five.",
        ],
        items: &["dented helmet", "walking stick", "bent arrow"],
        hidden: &["soldier's charm", "flint and steel", "scrap of banner"],
    },
];
