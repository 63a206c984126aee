//! Translates a [`Query`] into a query of the index.

use std::ops::Bound;

use jiff::Timestamp;
use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, FuzzyTermQuery, Occur, PhrasePrefixQuery, PhraseQuery,
    Query as IndexQuery, RangeQuery, TermQuery,
};
use tantivy::schema::IndexRecordOption;

use crate::index::{IndexFields, UNKNOWN_TIME};
use crate::query::{Query, QueryAtom, QueryClause};

/// The maximum number of words that a prefix after other words expands to.
const MOST_WORDS: u32 = 10_000;

/// Translates a query for the index.
pub(super) fn to_index_query(fields: &IndexFields, query: &Query) -> Box<dyn IndexQuery> {
    let mut all: Vec<(Occur, Box<dyn IndexQuery>)> = Vec::new();
    for QueryClause { absent, any } in &query.clauses {
        let occur = if *absent { Occur::MustNot } else { Occur::Must };
        let mut atoms: Vec<Box<dyn IndexQuery>> =
            any.iter().map(|atom| atom_query(fields, atom)).collect();
        let one = match (atoms.len(), atoms.pop()) {
            (1, Some(atom)) => atom,
            (_, last) => {
                atoms.extend(last);
                Box::new(BooleanQuery::union(atoms))
            }
        };
        all.push((occur, one));
    }
    if query.since.is_some() || query.until.is_some() {
        let bound = |time: i64| Term::from_field_i64(fields.time, time);
        let since = Bound::Included(bound(query.since.map_or(UNKNOWN_TIME + 1, ceil_micros)));
        let until =
            query.until.map_or(Bound::Unbounded, |time| Bound::Excluded(bound(ceil_micros(time))));
        all.push((Occur::Must, Box::new(RangeQuery::new(since, until))));
    }
    if all.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        all.push((Occur::Must, Box::new(AllQuery)));
    }
    match (all.len(), all.pop()) {
        (1, Some((Occur::Must, only))) => only,
        (_, last) => {
            all.extend(last);
            Box::new(BooleanQuery::new(all))
        }
    }
}

fn atom_query(fields: &IndexFields, atom: &QueryAtom) -> Box<dyn IndexQuery> {
    let IndexFields { text, parts, speaker, kind, .. } = *fields;
    let term = |word: &str| Term::from_field_text(text, word);
    let part = |word: &str| Term::from_field_text(parts, word);
    let exact = |term: Term| -> Box<dyn IndexQuery> {
        Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
    };
    // A single word may also be part of a word; phrases contain whole words only.
    let either = |word: &str, ask: &dyn Fn(Term) -> Box<dyn IndexQuery>| {
        Box::new(BooleanQuery::union(vec![ask(term(word)), ask(part(word))]))
    };
    match atom {
        QueryAtom::Phrase(words) => match words.as_slice() {
            [(_, word)] => either(word, &exact),
            words => {
                let terms = words.iter().map(|(at, word)| (*at, term(word))).collect();
                Box::new(PhraseQuery::new_with_offset(terms))
            }
        },
        QueryAtom::CamelCase { whole, parts } => {
            let parts = parts.iter().map(|word| (0, part(word))).collect();
            let together = Box::new(PhraseQuery::new_with_offset(parts));
            Box::new(BooleanQuery::union(vec![exact(term(whole)), together]))
        }
        QueryAtom::Beginning { before, start, .. } if before.is_empty() => {
            either(start, &|term| Box::new(FuzzyTermQuery::new_prefix(term, 0, true)))
        }
        QueryAtom::Beginning { before, at, start } => {
            let mut terms: Vec<(usize, Term)> =
                before.iter().map(|(at, word)| (*at, term(word))).collect();
            terms.push((*at, term(start)));
            let mut query = PhrasePrefixQuery::new_with_offset(terms);
            query.set_max_expansions(MOST_WORDS);
            Box::new(query)
        }
        QueryAtom::Similar { word, distance } => {
            either(word, &|term| Box::new(FuzzyTermQuery::new(term, *distance, true)))
        }
        QueryAtom::Speaker(names) => {
            let name = |name: &String| {
                let term = Term::from_field_text(speaker, name);
                Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn IndexQuery>
            };
            Box::new(BooleanQuery::intersection(names.iter().map(name).collect()))
        }
        QueryAtom::Kind(name) => {
            let term = Term::from_field_text(kind, name);
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        }
    }
}

/// Returns the first whole microsecond that is not before a time.
pub(super) fn ceil_micros(time: Timestamp) -> i64 {
    time.as_microsecond() + i64::from(time.subsec_nanosecond() % 1000 > 0)
}
