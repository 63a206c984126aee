//! Nouns and their forms in sentences: a [`Noun`] fills the slots of a template through [`Slots`].

/// The languages of the narrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    English,
    German,
}

impl Tongue {
    /// Returns words of the player, which are in lower case, as they are quoted: German nouns have a capital.
    pub(super) fn as_noun(self, words: &str) -> String {
        match self {
            Tongue::English => words.to_owned(),
            Tongue::German => capitalized(words),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Tongue::English => "en",
            Tongue::German => "de",
        }
    }

    /// Reads a language code or name: `de`, `de-AT`, `German`, `Deutsch`.
    pub(super) fn parse(text: &str) -> Option<Tongue> {
        let text = text.trim().to_lowercase();
        match text.split(['-', '_']).next().unwrap_or_default() {
            "en" | "eng" | "english" | "englisch" => Some(Tongue::English),
            "de" | "deu" | "ger" | "german" | "deutsch" => Some(Tongue::German),
            _ => None,
        }
    }
}

/// Grammatical gender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gender {
    Masculine,
    Feminine,
    Neuter,
    Plural,
}

impl Gender {
    pub(super) fn parse(letter: &str) -> Gender {
        match letter {
            "m" => Gender::Masculine,
            "f" => Gender::Feminine,
            "p" => Gender::Plural,
            _ => Gender::Neuter,
        }
    }
}

/// How a noun takes articles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NounForm {
    Common,
    /// A noun that is always definite, such as "the Salt Crown".
    Definite,
    /// A name.
    Proper,
}

/// A noun with its grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noun {
    tongue: Tongue,
    adjective: Option<String>,
    head: String,
    /// The head in the accusative and dative, if it differs (German weak nouns).
    oblique: Option<String>,
    gender: Gender,
    form: NounForm,
}

/// The case of a noun in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NounCase {
    Nominative,
    Accusative,
    Dative,
}

impl Noun {
    /// Reads a noun of a table. In German: an adjective without ending, the noun, and the letter of its gender.
    pub(super) fn parse(tongue: Tongue, text: &str) -> Noun {
        let text = text.trim();
        let plain = |head: &str, gender: Gender| Noun {
            tongue,
            adjective: None,
            head: head.to_owned(),
            oblique: None,
            gender,
            form: NounForm::Common,
        };
        if tongue == Tongue::English {
            return plain(text, Gender::Neuter);
        }
        let (head, letter) = text.rsplit_once(' ').unwrap_or((text, "n"));
        let mut noun = plain(head, Gender::parse(letter));
        if let Some((first, rest)) = head.split_once(' ')
            && first.chars().next().is_some_and(char::is_lowercase)
        {
            noun.adjective = Some(first.to_owned());
            noun.head = rest.to_owned();
        }
        noun
    }

    /// Creates a name.
    pub(super) fn proper(tongue: Tongue, name: &str, gender: Gender) -> Noun {
        let head = name.to_owned();
        Noun { tongue, adjective: None, head, oblique: None, gender, form: NounForm::Proper }
    }

    /// Creates a noun with an article from a head and its gender.
    pub(super) fn definite(tongue: Tongue, head: &str, gender: Gender) -> Noun {
        let head = head.to_owned();
        Noun { tongue, adjective: None, head, oblique: None, gender, form: NounForm::Definite }
    }

    pub(super) fn always_definite(self) -> Noun {
        Noun { form: NounForm::Definite, ..self }
    }

    pub(super) fn with_oblique(self, oblique: &str) -> Noun {
        Noun { oblique: Some(oblique.to_owned()), ..self }
    }

    pub(super) fn head(&self) -> &str {
        &self.head
    }

    pub(super) fn gender(&self) -> Gender {
        self.gender
    }

    /// Returns the noun without an article, as in a list.
    pub(super) fn bare(&self) -> String {
        match (&self.adjective, self.tongue) {
            (Some(adjective), Tongue::German) => {
                format!("{adjective}{} {}", self.strong_ending(), self.head)
            }
            _ => self.head.clone(),
        }
    }

    fn strong_ending(&self) -> &'static str {
        match self.gender {
            Gender::Masculine => "er",
            Gender::Feminine | Gender::Plural => "e",
            Gender::Neuter => "es",
        }
    }

    /// Returns the form for a slot: `n`, `a` and `d` are definite in three cases, `i` and `ia` indefinite, `p` and `q`
    /// pronouns.
    fn form(&self, slot: &str) -> String {
        let case = match slot {
            "a" | "ia" | "q" => NounCase::Accusative,
            "d" | "id" => NounCase::Dative,
            _ => NounCase::Nominative,
        };
        match (slot, self.form, self.tongue) {
            ("b", ..) => self.bare(),
            ("p" | "q", ..) => self.pronoun(case).to_owned(),
            (_, NounForm::Proper, _) => self.head.clone(),
            ("i" | "ia" | "id", NounForm::Common, Tongue::English) => with_article(&self.head),
            (_, _, Tongue::English) => format!("the {}", self.head),
            ("i" | "ia" | "id", NounForm::Common, Tongue::German) => self.german(case, false),
            (_, _, Tongue::German) => self.german(case, true),
        }
    }

    fn german(&self, case: NounCase, definite: bool) -> String {
        use Gender::{Feminine, Masculine, Neuter, Plural};
        use NounCase::{Accusative, Dative, Nominative};
        let article = match (definite, case, self.gender) {
            (true, Nominative, Masculine) | (true, Dative, Feminine) => "der",
            (true, Accusative, Masculine) | (true, Dative, Plural) => "den",
            (true, Dative, _) => "dem",
            (true, _, Neuter) => "das",
            (true, _, Feminine | Plural) => "die",
            (false, Accusative, Masculine) => "einen",
            (false, Dative, Masculine | Neuter) => "einem",
            (false, Dative, Feminine) => "einer",
            (false, _, Feminine) => "eine",
            (false, _, Plural) => "",
            (false, _, _) => "ein",
        };
        let ending = match (definite, case, self.gender) {
            (true, Nominative, Masculine | Feminine | Neuter)
            | (true, Accusative, Feminine | Neuter) => "e",
            (false, Nominative | Accusative, Feminine | Neuter | Plural)
            | (false, Nominative, Masculine) => self.strong_ending(),
            _ => "en",
        };
        let head = match (&self.oblique, case) {
            (Some(oblique), Accusative | Dative) => oblique,
            _ => &self.head,
        };
        let words = match &self.adjective {
            Some(adjective) => format!("{article} {adjective}{ending} {head}"),
            None => format!("{article} {head}"),
        };
        words.trim_start().to_owned()
    }

    fn pronoun(&self, case: NounCase) -> &'static str {
        match (self.tongue, self.gender, case) {
            (Tongue::English, Gender::Masculine, NounCase::Nominative) => "he",
            (Tongue::English, Gender::Masculine, _) => "him",
            (Tongue::English, Gender::Feminine, NounCase::Nominative) => "she",
            (Tongue::English, Gender::Feminine, _) => "her",
            (Tongue::English, ..) => "it",
            (Tongue::German, Gender::Masculine, NounCase::Nominative) => "er",
            (Tongue::German, Gender::Masculine, NounCase::Accusative) => "ihn",
            (Tongue::German, Gender::Masculine | Gender::Neuter, NounCase::Dative) => "ihm",
            (Tongue::German, Gender::Feminine, NounCase::Dative) => "ihr",
            (Tongue::German, Gender::Neuter, _) => "es",
            (Tongue::German, Gender::Plural, NounCase::Dative) => "ihnen",
            (Tongue::German, ..) => "sie",
        }
    }

    fn possessive(&self) -> &'static str {
        match (self.tongue, self.gender) {
            (Tongue::English, Gender::Masculine) => "his",
            (Tongue::English, Gender::Feminine) => "her",
            (Tongue::English, _) => "its",
            (Tongue::German, Gender::Masculine | Gender::Neuter) => "sein",
            (Tongue::German, _) => "ihr",
        }
    }
}

/// Returns an English noun with its indefinite article.
fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
    if vowel { format!("an {noun}") } else { format!("a {noun}") }
}

/// Returns a text with a capital at its start.
pub(super) fn capitalized(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        // An ID is written as it is.
        return text.to_owned();
    }
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// The values for the slots of a template.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    nouns: Vec<(&'static str, Noun)>,
    texts: Vec<(&'static str, String)>,
}

impl Slots {
    pub(super) fn new() -> Slots {
        Slots::default()
    }

    /// Sets a noun: `o` the object, `x` another one, `l` a place, `p` and `q` people.
    pub(super) fn noun(mut self, slot: &'static str, noun: &Noun) -> Slots {
        self.nouns.push((slot, noun.clone()));
        self
    }

    pub(super) fn text(mut self, slot: &'static str, text: impl Into<String>) -> Slots {
        self.texts.push((slot, text.into()));
        self
    }

    /// Returns a short name of what the slots are about, for a status line.
    pub(super) fn subject(&self) -> Option<String> {
        let noun = |slot: &str| self.nouns.iter().find(|(known, _)| *known == slot);
        let found = ["o", "p", "x", "l"].into_iter().find_map(noun);
        found.map(|(_, noun)| noun.form("n"))
    }

    fn value(&self, key: &str) -> Option<String> {
        let lower = key.to_lowercase();
        let (name, form) = lower.split_once('.').unwrap_or((lower.as_str(), "n"));
        let noun = |slot: &str| self.nouns.iter().find(|(known, _)| *known == slot);
        let person = || noun("p").map(|(_, noun)| noun);
        let value = match (name, self.texts.iter().find(|(slot, _)| *slot == name)) {
            (_, Some((_, text))) => text.clone(),
            ("he", None) => person()?.form("p"),
            ("him", None) => person()?.form("q"),
            ("dat", None) => person()?.pronoun(NounCase::Dative).to_owned(),
            ("his", None) => person()?.possessive().to_owned(),
            (name, None) => noun(name)?.1.form(form),
        };
        let is_capital = key.chars().next().is_some_and(char::is_uppercase);
        Some(if is_capital { capitalized(&value) } else { value })
    }

    /// Fills a template. A slot without a value is left out.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((key, after)) = after.split_once('}') else { break };
            let starts_sentence =
                out.trim_end().is_empty() || out.trim_end().ends_with(['.', '!', '?']);
            let value = self.value(key).unwrap_or_default();
            out.push_str(&if starts_sentence { capitalized(&value) } else { value });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tongue: Tongue, noun: &str, template: &str, expect: &str) {
        let slots = Slots::new().noun("o", &Noun::parse(tongue, noun));
        assert_eq!(slots.fill(template), expect);
    }

    #[test]
    fn nouns_take_their_forms() {
        let english = Tongue::English;
        check(
            english,
            "iron poker",
            "{O.n} / {o.i} / {o.a}",
            "The iron poker / an iron poker / the iron poker",
        );
        let all = "{o.n}, {o.a}, {o.d}, {o.i}, {o.ia}, {o.id}, {o.p}, {o.q}";
        let german = Tongue::German;
        check(
            german,
            "rostig Schlüssel m",
            all,
            "Der rostige Schlüssel, den rostigen Schlüssel, dem rostigen Schlüssel, ein rostiger Schlüssel, \
             einen rostigen Schlüssel, einem rostigen Schlüssel, er, ihn",
        );
        check(
            german,
            "grau Laterne f",
            all,
            "Die graue Laterne, die graue Laterne, der grauen Laterne, eine graue Laterne, eine graue Laterne, \
             einer grauen Laterne, sie, sie",
        );
        check(
            german,
            "alt Seil n",
            all,
            "Das alte Seil, das alte Seil, dem alten Seil, ein altes Seil, ein altes Seil, einem alten Seil, es, es",
        );
        check(german, "Brecheisen n", "x {o.i} / {o.d}", "x ein Brecheisen / dem Brecheisen");
    }
}
