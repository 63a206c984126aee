//! Sentences that players write, with the intent and the object that must be recognised.

use super::*;
use crate::embedded::grammar::Tongue;

/// Checks sentences of the form `input = object / second object`.
fn check(tongue: Tongue, intent: Intent, sentences: &[&str]) -> usize {
    let pack = LanguagePack::of(tongue);
    let mut wrong = Vec::new();
    for line in sentences {
        let (input, expect) = line.split_once('=').unwrap_or((line, ""));
        let parsed = understand(pack, input.trim());
        let mut found = parsed.object.join(" ");
        if !parsed.second.is_empty() {
            found = format!("{found} / {}", parsed.second.join(" "));
        }
        if !parsed.addressee.is_empty() {
            found = format!("{}: {found}", parsed.addressee.join(" "));
        }
        if (parsed.intent, found.trim()) != (intent, expect.trim()) {
            wrong.push(format!("{input}: {:?} {found:?}", parsed.intent));
        }
    }
    assert!(wrong.is_empty(), "expected {intent:?}: {wrong:#?}");
    sentences.len()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of sentences")]
fn english_sentences_are_understood() {
    let say = |intent: Intent, sentences: &[&str]| check(Tongue::English, intent, sentences);
    let mut count = say(
        Intent::Look,
        &[
            "look",
            "look around",
            "l",
            "I look around carefully",
            "where am I?",
            "what do I see?",
            "Where are we",
            "describe the place",
            "who is here?",
            "have a look around",
        ],
    );
    count += say(
        Intent::Examine,
        &[
            "look at the table = table",
            "examine the old door = old door",
            "inspect table = table",
            "x lamp = lamp",
            "I want to look under the table = table",
            "look behind the banner = banner",
            "study the carvings = carvings",
            "take a closer look at the ring = ring",
            "touch the altar = altar",
            "look into the well = well",
        ],
    );
    count += say(
        Intent::Go,
        &[
            "go north = north",
            "walk to the mill = mill",
            "I go to the Owl Gallery = owl gallery",
            "head east = east",
            "let's go to the chapel = chapel",
            "enter the cave = cave",
            "go to area_003 = area_003",
            "run to the bridge = bridge",
            "We travel to the tower = tower",
            "climb the stairs = stairs",
        ],
    );
    count += say(
        Intent::Take,
        &[
            "take the rope = rope",
            "pick up the lamp = lamp",
            "grab the iron poker = iron poker",
            "I take the folded letter = folded letter",
            "pick the knife up = knife",
            "get lamp = lamp",
            "take everything = everything",
            "please take the coil of rope = coil rope",
            "steal the ring = ring",
            "collect the apples = apples",
        ],
    );
    count += say(
        Intent::Give,
        &[
            "give the torch to Joss = torch / joss",
            "give my torch to Joss = torch / joss",
            "give Ilse the bread = ilse bread",
            "hand the letter to her = letter / her",
            "offer the sausage to the hound = sausage / hound",
            "feed the wolf = wolf",
            "I give him the coin = him coin",
            "show the ring to Hob = ring / hob",
            "bring the crown to Sunniva = crown / sunniva",
            "present the honey to the bear = honey / bear",
        ],
    );
    count += say(
        Intent::Ask,
        &[
            "ask Brannoch about the crown = brannoch / crown",
            "ask him about the quest = him / quest",
            "ask the mason about Ilse = mason / ilse",
            "I ask Quill for help = quill / help",
            "ask about the bell = bell",
            "ask her about the mill = her / mill",
            "I want to ask Thea about the guardian = thea / guardian",
            "ask Volker about the salt crown = volker / salt crown",
            "inquire about the gate = gate",
            "Ilse, ask about the mill = ilse: mill",
        ],
    );
    count += say(
        Intent::Talk,
        &[
            "talk to Brannoch = brannoch",
            "talk to him about the crown = him / crown",
            "speak with the mason = mason",
            "talk",
            "say open sesame = open sesame",
            "chat with Quill = quill",
            "persuade Ilse = ilse",
            "I would like to talk to the ferrywoman = ferrywoman",
            "have a word with Hob = hob",
            "whisper to the statue = statue",
        ],
    );
    count += say(
        Intent::Attack,
        &[
            "attack the boar = boar",
            "hit it = it",
            "kill the spider with the sword = spider / sword",
            "I attack the goblin = goblin",
            "fight",
            "stab the wolf = wolf",
            "kick the door = door",
            "strike the old boar = old boar",
            "punch Joss = joss",
            "swing at the bats = bats",
        ],
    );
    count += say(
        Intent::Follow,
        &[
            "follow me",
            "Joss, follow me = joss:",
            "tell Joss to follow me = joss / follow me",
            "I tell Joss to follow me = joss / follow me",
            "come with me",
            "let's go together = together",
            "Joss, come along = joss:",
            "come along",
            "stay close",
            "we travel together to the mill = together / mill",
        ],
    );
    count += say(
        Intent::Search,
        &[
            "search",
            "search the room = room",
            "investigate the crates = crates",
            "look for a key = key",
            "I search the place = place",
            "rummage through the drawers = drawers",
            "dig",
            "find the crown = crown",
            "ransack the shelves = shelves",
            "search for traps = traps",
        ],
    );
    say(
        Intent::Light,
        &["light the torch = torch", "light torch = torch", "I light a torch. = torch"],
    );
    say(Intent::Read, &["read the book = book", "read letter = letter"]);
    say(Intent::Open, &["open the door = door", "open the gate with the crowbar = gate / crowbar"]);
    say(
        Intent::Use,
        &[
            "use the rope on the bridge = rope / bridge",
            "use lamp = lamp",
            "put the stone in the pan = stone / pan",
        ],
    );
    say(Intent::Throw, &["throw the stone at the wolf = stone / wolf", "toss the coin = coin"]);
    say(
        Intent::Drop,
        &["drop the lamp = lamp", "put the rope down = rope", "put down the rope = rope"],
    );
    say(Intent::Flee, &["flee", "run away", "escape", "leave"]);
    say(Intent::Rest, &["rest", "sleep", "I sit down", "catch my breath"]);
    say(
        Intent::Inventory,
        &["inventory", "i", "what do I have?", "what am I carrying?", "check my bag"],
    );
    say(Intent::Status, &["status", "how am I?", "how hurt am I?"]);
    say(Intent::Ways, &["where can I go?", "Where may I go?", "exits", "which way out?"]);
    say(Intent::Help, &["help", "?", "what can I do?"]);
    say(Intent::Stay, &["wait here", "Joss, wait here = joss:", "stay here"]);
    say(Intent::Roll, &["roll 2d6+1 = 2d6 1", "roll a d20 = d20"]);
    say(Intent::Back, &["go back", "back", "return"]);
    say(Intent::No, &["don't attack the boar", "I do not want to fight"]);
    say(
        Intent::Mention,
        &[
            "frobnicate the constellations = frobnicate constellations",
            "north = north",
            "asdf = asdf",
        ],
    );
    say(Intent::Quest, &["what is my goal?", "goal", "what should I do?", "what now?"]);
    say(Intent::Explore, &["explore", "find a way", "look for a path"]);
    assert!(count >= 100, "{count}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of sentences")]
fn german_sentences_are_understood() {
    let say = |intent: Intent, sentences: &[&str]| check(Tongue::German, intent, sentences);
    let mut count = say(
        Intent::Look,
        &[
            "schau dich um",
            "ich sehe mich um",
            "wo bin ich?",
            "sieh dich um",
            "umsehen",
            "was ist hier?",
            "ich schaue mich um",
            "wer ist hier?",
            "was sehe ich?",
            "wo sind wir",
        ],
    );
    count += say(
        Intent::Examine,
        &[
            "untersuche den Tisch = tisch",
            "schau dir die Lampe an = lampe",
            "betrachte das Banner = banner",
            "sieh den alten Ring an = alten ring",
            "ich untersuche die Kiste = kiste",
            "schau unter den Tisch = tisch",
            "prüfe das Gitter = gitter",
            "schau hinter den Altar = altar",
            "mustere Ilse = ilse",
            "ich schaue mir das Regal an = regal",
        ],
    );
    count += say(
        Intent::Go,
        &[
            "geh nach Norden = norden",
            "gehe zur Mühle = mühle",
            "ich gehe in die Kapelle = kapelle",
            "lauf nach Osten = osten",
            "wandere zum Turm = turm",
            "betritt die Höhle = höhle",
            "wir gehen zur Brücke = brücke",
            "klettere auf den Turm = turm",
            "besuche das Archiv = archiv",
            "gehe zu area_003 = area_003",
        ],
    );
    count += say(
        Intent::Take,
        &[
            "nimm das Seil = seil",
            "ich nehme die Lampe = lampe",
            "heb den Stein auf = stein",
            "hebe das alte Messer auf = alte messer",
            "hol die Fackel = fackel",
            "steck den Ring ein = ring",
            "nimm alles = alles",
            "nimm den gefalteten Brief mit = gefalteten brief",
            "greif nach der Krone = krone",
            "sammle die Äpfel auf = äpfel",
        ],
    );
    count += say(
        Intent::Give,
        &[
            "gib Ilse das Seil = ilse seil",
            "gib das Seil an Ilse = seil / ilse",
            "ich gebe Joss die Fackel = joss fackel",
            "schenke Hob den Ring = hob ring",
            "reiche ihr das Buch = ihr buch",
            "biete dem Bären den Honig an = bären honig",
            "füttere den Wolf = wolf",
            "bring Sunniva die Krone = sunniva krone",
            "zeig Quill den Brief = quill brief",
            "gebe dem Hund die Wurst = hund wurst",
        ],
    );
    count += say(
        Intent::Ask,
        &[
            "frage Ilse nach der Krone = ilse / krone",
            "frag ihn nach dem Weg = ihn / weg",
            "ich frage die Fährfrau nach Brannoch = fährfrau / brannoch",
            "frage nach der Glocke = glocke",
            "frag Hob nach dem Wächter = hob / wächter",
            "frage Thea über die Mühle = thea / mühle",
            "frag Quill = quill",
            "befrage den Maurer = maurer",
            "frage sie nach der Aufgabe = sie / aufgabe",
            "frag Volker nach dem Gitter = volker / gitter",
        ],
    );
    count += say(
        Intent::Talk,
        &[
            "rede mit Ilse = ilse",
            "sprich mit dem Maurer = maurer",
            "ich rede mit ihm über die Krone = ihm / krone",
            "rede mit Quill über das Buch = quill / buch",
            "überrede Ilse = ilse",
            "sprich Hob an = hob",
            "unterhalte mich mit Thea = thea",
            "sage Orwen = orwen",
            "ich spreche mit der Wirtin = wirtin",
            "plaudere mit Benno = benno",
        ],
    );
    count += say(
        Intent::Attack,
        &[
            "greif den Keiler an = keiler",
            "ich greife die Spinne an = spinne",
            "schlage den Räuber = räuber",
            "töte den Wolf = wolf",
            "kämpfe gegen den Bären = bären",
            "attackiere den Hund = hund",
            "erschlage die Schlange mit dem Schwert = schlange / schwert",
            "kämpfe",
            "schlag zu",
            "tritt die Tür = tür",
        ],
    );
    count += say(
        Intent::Follow,
        &[
            "folge mir",
            "Joss, folge mir = joss:",
            "komm mit",
            "Joss, komm mit = joss:",
            "sag Joss, folge mir = joss folge mir",
            "begleite mich",
            "wir gehen zusammen = zusammen",
            "Joss, bleib bei mir = joss: mir",
            "folgt mir",
            "kommt mit",
        ],
    );
    count += say(
        Intent::Search,
        &[
            "suche",
            "durchsuche das Zimmer = zimmer",
            "ich suche nach dem Schlüssel = schlüssel",
            "suche den Ort ab = ort",
            "stöbere in den Kisten = kisten",
            "wühle in der Asche = asche",
            "durchsuche alles = alles",
            "such",
            "grabe",
            "finde die Krone = krone",
        ],
    );
    say(Intent::Light, &["zünde die Fackel an = fackel", "entzünde die Kerze = kerze"]);
    say(Intent::Drop, &["lege das Seil ab = seil", "lass die Lampe fallen = lampe"]);
    say(Intent::Read, &["lies den Brief = brief"]);
    say(Intent::Open, &["öffne die Tür = tür", "mach das Gitter auf = gitter"]);
    say(Intent::Throw, &["wirf den Stein nach dem Wolf = stein / wolf"]);
    say(Intent::Flee, &["fliehe", "lauf weg", "ich renne weg"]);
    say(Intent::Rest, &["raste", "ich ruhe mich aus", "schlafe"]);
    say(Intent::Inventory, &["inventar", "was habe ich?"]);
    say(Intent::Ways, &["wohin kann ich gehen?", "wege"]);
    say(Intent::Help, &["hilfe", "was kann ich tun?"]);
    say(Intent::No, &["greif den Keiler nicht an"]);
    say(Intent::Mention, &["quarbel die Funzel = quarbel funzel", "norden = norden"]);
    assert!(count >= 100, "{count}");
}

#[test]
fn a_second_action_is_left_for_later() {
    let rest = |input: &str| understand(LanguagePack::of(Tongue::English), input).rest;
    assert_eq!(rest("take the lamp and light it"), "light it");
    assert_eq!(rest("go north. Then rest"), "Then rest");
    assert_eq!(rest("take flint and steel"), "");
    assert_eq!(rest("look."), "");
}

#[test]
fn other_languages_are_noticed() {
    for input in
        ["門が開く", "осмотреться", "je regarde la table", "¿dónde está el rey?", "guardo la porta"]
    {
        assert!(is_foreign(input), "{input}");
    }
    for input in ["look around", "schau dich um", "asdf", "", "take the café key"] {
        assert!(!is_foreign(input), "{input}");
    }
}

#[test]
fn every_intent_has_words_in_both_languages() {
    for tongue in [Tongue::English, Tongue::German] {
        let pack = LanguagePack::of(tongue);
        for intent in Intent::ALL {
            assert!(
                pack.patterns.iter().any(|(known, _)| known == intent),
                "{tongue:?} {intent:?}"
            );
        }
    }
}
