//! Sentences for events, several for each, so that turns read differently.

macro_rules! phrases {
    ($($name:ident = [$($text:literal),* $(,)?];)*) => {
        $(pub(in crate::embedded) const $name: &[&str] = &[$($text,)*];)*

        /// Returns every list, for the test that checks all of them.
        #[cfg(test)]
        pub(in crate::embedded) fn all() -> Vec<&'static [&'static str]> {
            vec![$($name,)*]
        }
    };
}

phrases! {
    STANDING = ["You stand in", "You are in", "Around you lies", "This is"];
    ARRIVING = [
        "You set out, and before long you stand in",
        "A few minutes on foot, and the light is different: you have come to",
        "You shoulder your things and go. The way ends in",
        "You follow the way as it bends, narrows and opens again, into",
        "You walk. Behind you it grows quiet; ahead of you lies",
    ];
    RETURNING = [
        "You retrace your steps. It is always shorter on the way back. Here is again",
        "Back the way you came: you know the loose stones by now. Once more you stand in",
        "You turn around, and the place lets you. You are back in",
    ];
    NO_WAYS = [
        "No way leads on from here that you can see. You could explore, and find one.",
        "Wherever you look, the place is closed. Perhaps you could explore: few places are as closed as they look.",
    ];
    NOT_FROM_HERE = [
        "There is no direct way from here.",
        "You cannot get there from here in one stretch.",
        "That place is known to you, but it does not lie next to this one.",
    ];
    NOWHERE = [
        "You look for it, and it is not there; nobody you know of has been in such a place.",
        "No such place lies next to this one, as far as you can tell.",
        "You turn once around yourself. Nothing here answers to that name.",
    ];
    NO_SUCH_DIRECTION = [
        "Nothing leads that way but your own imagination.",
        "That way is barred by rock, root or good sense.",
        "You go a few steps, find no way through, and come back.",
    ];
    NEW_WAY = [
        "You leave the trodden part, push through where it looked like nothing, and there it is: a way on.",
        "You follow a draught along the edge of things until it has a source: a gap, and behind it, more.",
        "It takes a while, some dust and one wrong turn. Then an opening lies before you that was on nobody's list.",
    ];
    NO_NEW_WAY = [
        "You go over the edges of the place one by one. Everything that leads anywhere you have already found.",
        "You try every gap and corner, and all of them turn out to be just that. The known ways will have to do.",
    ];
    HIT = [
        "You feint left and come in from the right.",
        "You wait for the opening, and there it is.",
        "You put your whole weight behind it.",
        "It is not elegant, but it lands.",
    ];
    MISS = [
        "You swing, and meet nothing but air.",
        "You are a heartbeat too slow.",
        "The blow slides off, and the answer comes at once.",
        "You slip, only a little, but a little is enough.",
    ];
    NO_FOE = [
        "You raise your fists at the quiet. The quiet is not impressed: there is nobody here to fight.",
        "You look for an enemy and find none. It is an odd sort of victory.",
        "Your blow goes through the air. Whatever you are angry at, it is not here.",
    ];
    NOT_A_FRIEND = [
        "Your hand goes up, and stops. They have done you no harm, and both of you know it.",
        "They look at you, not frightened, only disappointed, and the wish to fight goes out of you.",
    ];
    FOE_STAYS = [
        "It keeps its distance, breathing hard, but it is not finished with you.",
        "It staggers, shakes itself, and comes around again.",
        "It gives ground, a step, then two. It is still in your way.",
    ];
    RESTED = [
        "You find a sheltered corner, close your eyes for a while, and let the ache drain out of you.",
        "You sit down, eat what there is, and bind what needs binding.",
        "For once nobody wants anything from you. You sleep, lightly, and wake stronger.",
    ];
    FRESH = [
        "You rest for a while, although there is nothing to recover from. The world waits politely.",
        "You sit and watch the light. You are as strong as you are going to be.",
    ];
    TENDED = [
        "You kneel down, clean the wounds, and tie the cloth as tightly as you dare.",
        "You do what you can with water, linen and a steady voice.",
    ];
    GOT_UP = [
        "The world, which had gone grey at the edges, comes back, colour by colour.",
        "Breath by breath the strength returns, enough to stand on.",
    ];
    FALLEN = [
        "Your knees give way. You are down, and the world shrinks to the next breath. You could try to rest.",
        "Everything tilts, and then you are looking at the sky. Hold on: try to rest.",
    ];
    STRUGGLING = [
        "You lie where you fell, and your body will not do what you ask of it. All that is left is to rest, and hold on.",
        "You try, but the ground will not let go of you. Breathe. Rest. One thing at a time.",
    ];
    UNABLE = [
        "Nothing comes of it: you are in no state to act. Somebody else will have to.",
        "The will is there, but that is all there is. Another of the party must act now.",
    ];
    SEARCHED = [
        "You go over the place with care, corner by corner.",
        "You look under things, behind things, and then, on a hunch, inside of them.",
        "You take your time. Most of what you turn over is dust, and then there is something that is not.",
    ];
    NO_SEARCH = [
        "This is no time to turn your back on it and look under things.",
        "First things first: as long as it is there, you will not find much else.",
    ];
    SEARCHED_BEFORE = [
        "You have been through all of this not long ago, and it has not grown since.",
        "You search again, to be sure. You are sure now.",
    ];
    TAKEN = ["You take", "You pick up and pocket", "With a look over your shoulder you take"];
    NOT_THERE = [
        "You reach for it, but there is no such thing here.",
        "Your hand closes on nothing. Whatever you are thinking of, it is not here.",
    ];
    TAKEN_BEFORE = [
        "There is nothing left here worth carrying off; you have seen to that.",
        "You have already taken what there was to take.",
    ];
    NOBODY = [
        "You speak, and listen. The place keeps its opinion to itself.",
        "Nobody is here to answer. It does you good to hear a voice, even your own.",
        "Your words hang in the air for a moment. Nobody takes them up.",
    ];
    FOE_TALK = [
        "You try words. The answer is not made of words.",
        "You keep your voice low and your hands open. For a moment it seems to work; then it does not.",
    ];
    COMPANION = [
        "\"I was thinking the same,\" they say. \"You first, though.\"",
        "They shrug. \"I have seen worse. Not much worse. Lead on.\"",
        "\"If you ask me, we should search before we leave,\" they say, keeping an eye on the shadows.",
        "They nod slowly. \"Whatever you decide. I am with you.\"",
    ];
    WAITED = [
        "You wait. The light shifts by a finger's breadth, and the place gets used to you.",
        "Time passes. A beetle crosses the floor on business of its own.",
        "You let a while go by. Nothing comes, and you are not sorry.",
    ];
    HELD = [
        "You let the thought go, and stay as you are. Sometimes that is the hardest thing.",
        "You hold back. The moment passes, and you are still in charge of it.",
    ];
    UNCLEAR = [
        "You begin, and find that you are not sure how to go about it.",
        "The thought is there, but the world offers no handle for it just now.",
        "You weigh it, and nothing here seems to answer to it.",
        "You try, in your own way. The place takes note, and stays as it is.",
    ];
    PROMPTS = [
        "What do you do?",
        "What now?",
        "The next step is yours.",
        "What will it be?",
    ];
    QUEST_FOUND = [
        "And then your fingers close around it, wrapped in oilcloth, lighter than all the talk about it.",
        "It has been here all along, under the one thing nobody would think to lift.",
    ];
    LISTENED = ["You stand still and listen.", "You hold your breath.", "You let the place come to you."];
    PLAIN = [
        "The moment holds its breath. What do you do?",
        "All is as it was. What now?",
        "Nothing stirs. The next step is yours.",
    ];
}
