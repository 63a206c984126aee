//! Inputs and their intents.

use super::*;

fn named(words: &str) -> MoveTarget {
    MoveTarget::Named(words.split(' ').map(str::to_owned).collect())
}

fn list(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

#[track_caller]
fn check(inputs: &str, expect: &Intent) {
    for input in inputs.split(" | ") {
        assert_eq!(understand(input), *expect, "{input}");
    }
}

#[test]
fn plain_words_are_understood() {
    check(
        "look | Look around. | I look around | l | where am I? | What do I see? | take a look | \
    who is here?",
        &Intent::Look,
    );
    check(
        "where can I go? | Where can we go from here | exits | Which way? | are there any ways out?",
        &Intent::Ways,
    );
    check(
        "attack | I attack the rat! | fight back | Let's kill it | hit it with my sword | \
    pick a fight",
        &Intent::Attack,
    );
    check(
        "rest | I want to rest | sleep | take a nap | go to sleep | have a rest",
        &Intent::Rest(Vec::new()),
    );
    check(
        "search | I search the room | look for a key | find something useful | rummage",
        &Intent::Search,
    );
    check(
        "inventory | what do I have? | inv | What am I carrying? | check my bag",
        &Intent::Inventory,
    );
    check(
        "summarise | Summarize, please | what happened so far? | recap | the story so far",
        &Intent::Summary,
    );
    check("help | what can I do? | commands | how do I play this?", &Intent::Help);
    check(
        "goal | what is my goal? | what should I do? | give me a hint | what now?",
        &Intent::Goal,
    );
    check("status | how am I? | how much hp do I have | hit points", &Intent::Status);
    check(
        "explore | I explore beyond the wall | find a hidden path | wander off | look for a way on",
        &Intent::Explore,
    );
    check("wait | z | I stay here | pass the time | do nothing", &Intent::Wait);
    check("listen | I listen at the door", &Intent::Listen);
    check("don't attack | I do not want to fight | never mind, stop", &Intent::Hold);
    check(
        "join us! | Will you come with me? | recruit the mason | ask her to join us",
        &Intent::Recruit,
    );
}

#[test]
fn what_was_offered_can_be_had() {
    check("yes | Yes, please | ok | do it", &Intent::Yes);
    check("no | no, thanks", &Intent::Hold);
}

#[test]
fn where_to_go_is_understood() {
    let go = |target: MoveTarget| Intent::Go(target);
    check("go back | back | return | I walk back | retreat", &go(MoveTarget::Back));
    check("go | go on | onward | continue | walk ahead | go deeper", &go(MoveTarget::Onward));
    check("flee | leave | run away | escape | go out", &go(MoveTarget::Away));
    check(
        "north | n | go north | I head northwards | walk to the north",
        &go(MoveTarget::Direction(Direction::North)),
    );
    check("sw | go southwest | southwestward", &go(MoveTarget::Direction(Direction::Southwest)));
    check("go to area_002 | Go to AREA_002!", &go(named("area_002")));
    check(
        "go to the Side Room | enter the side room | I walk into the side room.",
        &go(named("side room")),
    );
    check("return to the hall", &go(named("hall")));
}

#[test]
fn what_is_acted_upon_is_understood() {
    check("take the key | grab the key | pick up the key | get a key", &Intent::Take(list("key")));
    check("take", &Intent::Take(Vec::new()));
    check(
        "examine the door | look at the door | inspect door | open the door",
        &Intent::Examine(list("door")),
    );
    check("talk to the ferryman | speak with the ferryman", &Intent::Talk(list("ferryman")));
    check("ask the ferryman for the quest", &Intent::Talk(list("ferryman quest")));
    check("hello | talk", &Intent::Talk(Vec::new()));
    check("heal pc_002 | help pc_002 | bandage pc_002", &Intent::Rest(list("pc_002")));
    check("ask about the rules", &Intent::Rules(list("ask rules")));
    check("what are the rules of fights?", &Intent::Rules(list("what rules fights")));
    check("... | !? |  \n", &Intent::Unclear(Vec::new()));
    check("frobnicate the moon", &Intent::Unclear(list("frobnicate moon")));
    check(
        "\u{9580}\u{304c}\u{958b}\u{304f}",
        &Intent::Unclear(list("\u{9580}\u{304c}\u{958b}\u{304f}")),
    );
}

#[test]
fn small_acts_are_understood() {
    for (input, word) in [
        ("I light a torch.", "light"),
        ("hide", "hide"),
        ("take cover", "hide"),
        ("sing a song", "sing"),
        ("pray", "pray"),
    ] {
        let Intent::Act(act) = understand(input) else { panic!("{input}") };
        assert!(act.words.contains(&word), "{input}");
    }
}

#[test]
fn a_long_input_is_read_as_far_as_it_goes() {
    let long = format!("go north {}", "and then some ".repeat(100_000));
    check(&long, &Intent::Go(MoveTarget::Direction(Direction::North)));
}

#[test]
fn directions_are_read_as_they_are_written() {
    for direction in Direction::ALL {
        assert_eq!(Direction::parse(direction.as_str()), Some(direction));
        assert_eq!(direction.opposite().opposite(), direction);
        assert_ne!(direction.opposite(), direction);
    }
    assert_eq!(Direction::parse("northern"), None);
    assert_eq!(Direction::parse(""), None);
}
