//! [`PriceTable`]: what the tokens of models cost.
//!
//! The table that is part of the program has a date. A file `prices.json` of the same form beside the configuration
//! adds models and replaces prices.

use everturn::model::TokenUsage;
use serde::Deserialize;

use crate::agent_homes;
use crate::error::Error;
use crate::exit::Exit;

/// The table that is part of the program.
const SHIPPED: &str = include_str!("prices.json");

/// The name of the user's own table.
const FILE: &str = "prices.json";

/// The price of the tokens of a model, in dollars per million.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct ModelPrice {
    pub(crate) model: String,
    pub(crate) input: f64,
    pub(crate) output: f64,
    /// Default: the price of input.
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

/// A table as it is stored.
#[derive(Debug, Deserialize)]
struct PriceFile {
    date: Option<String>,
    #[serde(default)]
    models: Vec<ModelPrice>,
}

/// The prices of models, and when they were looked up.
#[derive(Debug)]
pub(crate) struct PriceTable {
    /// The date of the table that is part of the program.
    pub(crate) date: String,
    /// Later entries replace earlier ones.
    pub(crate) models: Vec<ModelPrice>,
    /// Where the user's own table is, or would be.
    pub(crate) file: Option<String>,
}

impl ModelPrice {
    /// Formats the prices as a line of JSON, as in the file.
    pub(crate) fn json(&self) -> String {
        let ModelPrice { model, input, output, cache_read, cache_write } = self;
        let mut value = serde_json::json!({"model": model, "input": input, "output": output});
        for (key, price) in [("cache_read", cache_read), ("cache_write", cache_write)] {
            if let (Some(price), Some(object)) = (price, value.as_object_mut()) {
                object.insert(key.to_owned(), serde_json::json!(price));
            }
        }
        value.to_string()
    }

    /// Formats the prices as a line of text.
    pub(crate) fn text(&self) -> String {
        let ModelPrice { model, input, output, cache_read, cache_write } = self;
        let [read, write] = [cache_read, cache_write].map(|price| price.unwrap_or(*input));
        format!(
            "{model:22}  input ${input}  output ${output}  cache read ${read}  cache write ${write}"
        )
    }

    fn of(&self, tokens: u64, price: f64) -> f64 {
        let tokens = tokens as f64;
        tokens * price / 1_000_000.0
    }

    /// Returns what the tokens cost.
    pub(crate) fn cost(&self, spent: &TokenUsage) -> f64 {
        self.of(spent.input, self.input)
            + self.of(spent.output, self.output)
            + self.of(spent.cache_read, self.cache_read.unwrap_or(self.input))
            + self.of(spent.cache_write, self.cache_write.unwrap_or(self.input))
    }
}

impl PriceTable {
    /// Returns the table of the program, with the changes of the user.
    pub(crate) fn load() -> Result<PriceTable, Error> {
        let broken = |place: &str, cause: serde_json::Error| {
            Error::new(Exit::Request, format!("{place} is not a price table"))
                .caused_by(cause)
                .hint("`everturn stats --prices --json` prints the table in force")
        };
        let shipped: PriceFile =
            serde_json::from_str(SHIPPED).map_err(|cause| broken("the built-in table", cause))?;
        let date = shipped.date.unwrap_or_default();
        let mut table = PriceTable { date, models: shipped.models, file: None };
        let Some(home) = agent_homes::own_home() else { return Ok(table) };
        let file = home.dirs.config_dir.join(FILE);
        let shown = file.to_string_lossy().into_owned();
        if let Some(bytes) = agent_homes::read(&file)? {
            let own: PriceFile =
                serde_json::from_slice(&bytes).map_err(|cause| broken(&shown, cause))?;
            table.models.extend(own.models);
        }
        table.file = Some(shown);
        Ok(table)
    }

    /// Returns the price of a model. The name may have a provider before it and a date after it.
    pub(crate) fn price(&self, model: &str) -> Option<&ModelPrice> {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let is_it =
            |price: &&ModelPrice| name.strip_prefix(price.model.as_str()).is_some_and(is_version);
        self.models.iter().rev().find(is_it)
    }

    /// Returns what tokens of a model cost: the cost that is recorded, else an estimate.
    pub(crate) fn cost(&self, model: &str, spent: &TokenUsage) -> Option<f64> {
        spent.cost.or_else(|| Some(self.price(model)?.cost(spent)))
    }
}

/// Returns whether the rest of a name is no other model: a date, `latest`, or nothing.
fn is_version(rest: &str) -> bool {
    let Some(version) = rest.strip_prefix(['-', '@', ':']) else { return rest.is_empty() };
    let digits: Vec<&str> = version.split('-').collect();
    let are_digits = |text: &&str| text.chars().all(|one| one.is_ascii_digit());
    let lengths: Vec<usize> = digits.iter().map(|text| text.len()).collect();
    let is_date = digits.iter().all(are_digits) && matches!(lengths.as_slice(), [8] | [4, 2, 2]);
    version == "latest" || is_date
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PriceTable {
        let shipped: PriceFile = serde_json::from_str(SHIPPED).unwrap();
        PriceTable { date: shipped.date.unwrap(), models: shipped.models, file: None }
    }

    #[test]
    fn the_table_has_a_date_and_no_model_twice() {
        let table = table();
        assert!(table.date.parse::<jiff::civil::Date>().is_ok());
        let mut names: Vec<&str> = table.models.iter().map(|one| one.model.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_model_is_known_with_its_provider_and_date_but_not_by_a_similar_name() {
        let table = table();
        let check = |model: &str, expect: Option<&str>| {
            assert_eq!(table.price(model).map(|price| price.model.as_str()), expect, "{model}");
        };
        check("claude-opus-4-5-20251101", Some("claude-opus-4-5"));
        check("anthropic/claude-sonnet-4-20250514", Some("claude-sonnet-4"));
        check("gpt-5", Some("gpt-5"));
        check("gpt-5-2025-08-07", Some("gpt-5"));
        check("GPT-5-mini", Some("gpt-5-mini"));
        check("claude-3-5-haiku-latest", Some("claude-3-5-haiku"));
        check("gpt-5-imagined", None);
        check("claude-opus-4-9", None);
        check("claude-opus-4-9-20260101", None);
        check("unknown", None);
    }

    #[test]
    fn a_recorded_cost_is_preferred_to_an_estimate() {
        let table = table();
        let spent = TokenUsage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 400_000,
            ..TokenUsage::default()
        };
        assert_eq!(table.cost("claude-opus-4-5", &spent), Some(5.0 + 2.5 + 1.0 + 2.5));
        assert_eq!(table.cost("nothing", &spent), None);
        let recorded = TokenUsage { cost: Some(0.25), ..spent };
        assert_eq!(table.cost("nothing", &recorded), Some(0.25));
    }
}
