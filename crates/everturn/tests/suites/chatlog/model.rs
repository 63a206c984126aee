//! Random operations by seed against a stupid model: a list of texts, each with the value of a counter.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::chatlog::{ChatLog, ChatWriter, NewChatMark, fork, import};
use everturn::names::FilePath;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::json;

use crate::chatlog::support::{EXAMPLE, at, memory, path};

/// Small random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Line {
    text: String,
    /// What was told before it was told anew, oldest first, each with its counter.
    earlier: Vec<(String, String)>,
    counter: String,
    marks: u64,
    /// Whether the narrator tells it; what others say changes no tools.
    narrated: bool,
}

/// The messages of a chat log.
type Model = Vec<Line>;

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

struct World {
    store: Arc<dyn Store>,
    random: Random,
    logs: BTreeMap<FilePath, Model>,
    count: u64,
}

impl World {
    fn words(&mut self) -> String {
        self.count += 1;
        format!("Words {}{}", self.count, " and more".repeat(place(self.random.below(20))))
    }

    fn counter(model: &Model) -> String {
        model.last().map_or("0".to_owned(), |line| line.counter.clone())
    }

    fn change(&mut self, log: &mut ChatWriter, model: &mut Model) {
        let (last, now) = (model.len() as u64, at(5));
        match self.random.below(10) {
            0..=3 => {
                let (mut words, mut counter) = (self.words(), World::counter(model));
                let text = words.clone();
                if self.random.below(2) == 0 {
                    counter = self.random.below(100).to_string();
                    words.push_str(&format!(" <tool:update id=death-counter value={counter}>"));
                }
                let given = json!({"type": "narrator", "text": words});
                log.append(&JsonTree::from_value(&given).unwrap(), now).unwrap();
                model.push(Line { text, earlier: Vec::new(), counter, marks: 0, narrated: true });
            }
            4 if last > 0 => {
                let number = self.random.below(last) + 1;
                let words = self.words();
                log.edit(number, &words, now).unwrap();
                model[place(number - 1)].text = words;
            }
            5 if model.last().is_some_and(|line| line.narrated) => {
                let words = self.words();
                let value = self.random.below(100).to_string();
                let told = format!("{words} <tool:update id=death-counter value={value}>");
                log.regenerate(last, &told, now).unwrap();
                let line = model.last_mut().unwrap();
                line.earlier.push((line.text.clone(), line.counter.clone()));
                (line.text, line.counter) = (words, value);
            }
            6 if last > 0 && !model[place(last - 1)].earlier.is_empty() => {
                let line = model.last_mut().unwrap();
                let which = self.random.below(line.earlier.len() as u64);
                log.choose(last, which + 1, now).unwrap();
                let now = (line.text.clone(), line.counter.clone());
                let chosen = std::mem::replace(&mut line.earlier[place(which)], now);
                (line.text, line.counter) = chosen;
            }
            7 if last > 0 => {
                let number = self.random.below(last) + 1;
                let kind = if self.random.below(2) == 0 { "bookmark" } else { "event" };
                log.add_mark(&NewChatMark { kind, name: "m", description: None, number }, now)
                    .unwrap();
                model[place(number - 1)].marks += 1;
            }
            // A chat log that loses its only message keeps the states of its tools, which this model does not know.
            8 if last > 1 => {
                let number = self.random.below(last) + 1;
                log.delete(number, now).unwrap();
                let gone = model.remove(place(number - 1));
                // Its snapshots belong to the message before it; those of the first one, to none.
                if number > 1 {
                    model[place(number - 2)].counter = gone.counter;
                }
            }
            _ => log.fold().unwrap(),
        }
    }

    fn compare(&self, log: &ChatLog, model: &Model) {
        let texts: Vec<String> =
            log.messages(1..=u64::MAX).unwrap().map(|message| message.unwrap().text()).collect();
        let expected: Vec<&String> = model.iter().map(|line| &line.text).collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), expected);
        let marks = log.marks().unwrap();
        for (line, number) in model.iter().zip(1..) {
            let states = log.states(number).unwrap().0.to_value().unwrap();
            let counter = &states["rezero-timeline-tracker"]["death-counter"];
            assert_eq!(counter, &json!(line.counter), "at {number} of {}", model.len());
            let count = marks.iter().filter(|mark| mark.number == Some(number)).count() as u64;
            assert_eq!(count, line.marks);
        }
        let known = ["tool-snapshot-id-1", "session.message_count", "msg-00"];
        let findings = log.check().unwrap();
        let new = findings
            .iter()
            .filter(|finding| !known.iter().any(|known| finding.message.contains(known)));
        assert_eq!(new.count(), 0, "{findings:?}");
    }

    fn branch(&mut self, from: &FilePath) {
        let model = self.logs[from].clone();
        // Before the first message nothing is known of the tools.
        if model.is_empty() {
            return;
        }
        let number = self.random.below(model.len() as u64) + 1;
        let mut left = model.clone();
        left.truncate(place(number));
        if self.random.below(2) == 0 {
            let made = fork(&self.store, from, Some(number), None, at(6)).unwrap();
            self.logs.insert(made.path, left);
        } else if number < model.len() as u64 {
            let mut log = ChatWriter::open(&self.store, from).unwrap();
            let made = log.rewind(number, at(6)).unwrap();
            log.release().unwrap();
            self.logs.insert(made.path, model);
            self.logs.insert(from.clone(), left);
        }
    }
}

fn run(seed: u64) {
    let store = memory();
    import(&store, EXAMPLE.as_bytes(), Some("tale")).unwrap();
    let tale = path("chats/tale.json");
    let start = ChatLog::open(&store, &tale).unwrap();
    let line = |text: String| {
        let counter = "0".to_owned();
        Line { text, earlier: Vec::new(), counter, marks: 0, narrated: false }
    };
    let mut model: Model =
        start.messages(1..=3).unwrap().map(|message| line(message.unwrap().text())).collect();
    model[1].marks = 2;
    let mut world =
        World { store, random: Random(seed), logs: BTreeMap::from([(tale, model)]), count: 0 };
    for _ in 0..12 {
        let pick = place(world.random.below(world.logs.len() as u64));
        let (from, mut model) =
            world.logs.iter().nth(pick).map(|(path, model)| (path.clone(), model.clone())).unwrap();
        let limit = [600, 3000, 1 << 20][place(world.random.below(3))];
        let mut log = ChatWriter::open(&world.store, &from).unwrap().with_limits(limit, limit * 4);
        for _ in 0..6 {
            world.change(&mut log, &mut model);
        }
        world.compare(log.log(), &model);
        if world.random.below(2) == 0 {
            log.close().unwrap();
        } else {
            log.release().unwrap();
        }
        world.compare(&ChatLog::open(&world.store, &from).unwrap(), &model);
        world.logs.insert(from.clone(), model);
        if world.logs.len() < 5 && world.random.below(3) == 0 {
            world.branch(&from);
        }
    }
    for (path, model) in &world.logs {
        world.compare(&ChatLog::open(&world.store, path).unwrap(), model);
    }
}

#[test]
fn chat_logs_do_what_the_model_says() {
    for seed in 0..60 {
        if let Err(problem) = std::panic::catch_unwind(|| run(seed)) {
            println!("seed {seed} failed");
            std::panic::resume_unwind(problem);
        }
    }
}
