//! `everturn stats`: prints the token usage and cost of sessions.

use everturn::model::{RecordCounts, TokenUsage};
use everturn_catalog::SummaryDetail;
use everturn_export::columns::{display_width, pad_width};

use super::Context;
use crate::catalog::{collection, date};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::{Output, escape_controls};
use crate::prices::PriceTable;
use crate::selection::{ChangedArgs, Coverage, SelectionArgs, SessionSelection};
use crate::spending::{
    RowCost, RowUsage, Spending, SpendingKey, SpendingPeriod, SpendingSession, day_of, grouped,
    sum_sessions, tokens,
};
use crate::unread::UnreadSessions;
use crate::{overview, settings};

/// The width of the bars of a chart.
const BAR: usize = 40;

/// Count tokens and costs by model, day or project
///
/// Each answer of a model is counted once, even if several lines or branches repeat its usage.
/// Without a session, all sessions of all sources are counted; only those that have changed are
/// read. Usage that is not recorded is not estimated. Where a session does not record its cost, it
/// is estimated from a table of prices (marked with ~); a model without a price is named, and its
/// part is missing (marked with + or ?). Sessions that cannot be read are not counted but reported
/// on stderr, and the exit status is then 4, or 5 if other processes are writing them.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn stats latest
  everturn stats
  everturn stats --by day --since 2w --chart
  everturn stats --by project --layout codex --json
  everturn stats --prices

The table of prices has a date. A file prices.json beside the configuration
changes prices and adds models, in dollars per million tokens; --prices prints
its path:
  {"models":[{"model":"my-model","input":1,"output":4,"cache_read":0.1,"cache_write":1.25}]}

With --json, one document; "cost" is recorded, "estimate" includes estimates:
  {"sessions":1,"told":1,"answers":7,"input":12,"output":953,"cache_read":0,"cache_write":0,
   "reasoning":0,"cost":null,"estimate":0.0143,"unpriced":[],"prices":"2026-11-18",
   "models":[{"model":"…","answers":7,…}]}
  `told` is the number of sessions that record their usage.
  --by adds "by" and "rows"."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: Option<String>,

    /// What the rows are
    #[arg(long, value_name = "WHAT", default_value = "model")]
    by: SpendingKey,

    /// Only answers since this day or age, such as 2026-01-03 or 2w
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Only answers up to this day
    #[arg(long, value_name = "DATE")]
    until: Option<String>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Print a bar for each row, by its cost, or by its output if no cost is known
    #[arg(long)]
    chart: bool,

    /// Print the table of prices and where to change it
    #[arg(long)]
    prices: bool,
}

impl Args {
    fn period(&self) -> Result<SpendingPeriod, Error> {
        let now = settings::now();
        let since = self.since.as_deref().map(|text| date(text, "--since", now)).transpose()?;
        let until = self.until.as_deref().map(|text| date(text, "--until", now)).transpose()?;
        let before = |end: jiff::Timestamp| {
            end.checked_sub(jiff::SignedDuration::from_nanos(1)).unwrap_or(end)
        };
        Ok(SpendingPeriod {
            first: since.map(|period| day_of(period.start)),
            last: until.map(|period| day_of(before(period.end))),
        })
    }
}

fn usage_fields(object: JsonObject, row: &RowUsage, prices: &PriceTable) -> JsonObject {
    let spent = tokens(row);
    let object = object
        .number("answers", spent.answers)
        .number("input", spent.input)
        .number("output", spent.output)
        .number("cache_read", spent.cache_read)
        .number("cache_write", spent.cache_write)
        .number("reasoning", spent.reasoning);
    let object = match spent.cost {
        Some(cost) => object.raw("cost", &cost.to_string()),
        None => object.raw("cost", "null"),
    };
    let cost = RowCost::of(row, prices);
    match cost.is_partial && cost.dollars == 0.0 {
        true => object.raw("estimate", "null"),
        false => object.raw("estimate", &format!("{:.6}", cost.dollars)),
    }
}

/// Formats record counts as a line of text.
pub(super) fn counts_line(counts: RecordCounts) -> String {
    let RecordCounts { read, kept, repaired, quarantined, hidden } = counts;
    format!(
        "records: {read} read = {kept} kept + {repaired} repaired + {quarantined} quarantined; \
         {hidden} aside"
    )
}

/// Returns the usage of all selected sessions, and what they cover; `None` if there are no sessions at all.
fn everything(
    args: &Args,
    context: &Context,
    unread: &mut UnreadSessions,
) -> Result<Option<(Spending, Coverage)>, Error> {
    let selection = SessionSelection::new(&args.selection, &ChangedArgs::default())?;
    let mut collection = collection(context)?;
    let (listing, coverage) = collection.select(&selection, SummaryDetail::All)?;
    let is_empty = listing.sessions.is_empty() && selection.is_everything();
    if is_empty && listing.findings.is_empty() && context.root.is_none() && !context.json {
        return Ok(None);
    }
    let spending = Spending::new(args.by, args.period()?);
    let spending = sum_sessions(&mut collection, &listing.sessions, spending, unread);
    collection.mention_notes();
    Ok(Some((spending, coverage)))
}

/// Returns the usage of one session.
fn one_session(args: &Args, context: &Context, name: &str) -> Result<Spending, Error> {
    let (found, reader) = context.read(name)?;
    let summary = found.layout.summary(&found.root.store(), &found.place)?;
    let project = found.layout.project(&found.root.store(), &found.place).unwrap_or_default();
    let day = summary.updated.map(day_of);
    let session = SpendingSession { id: found.place.id, project, day };
    let mut spending = Spending::new(args.by, args.period()?);
    spending.add(&session, reader.usage().as_ref());
    Ok(spending)
}

/// Returns the models whose price is unknown.
fn unpriced<'r>(total: &'r RowUsage, prices: &PriceTable) -> Vec<&'r str> {
    let is_unknown = |(model, spent): &(&String, &TokenUsage)| {
        spent.total_tokens() > 0 && prices.cost(model, spent).is_none()
    };
    total.iter().filter(is_unknown).map(|(model, _)| model.as_str()).collect()
}

fn print_json(
    context: &mut Context,
    args: &Args,
    spending: &Spending,
    prices: &PriceTable,
) -> Result<(), EarlyExit> {
    let total = spending.total();
    let row = |(model, spent): (&String, &TokenUsage)| {
        let row = RowUsage::from([(model.clone(), *spent)]);
        usage_fields(JsonObject::new().text("model", model), &row, prices).close()
    };
    let models: Vec<String> = total.iter().map(row).collect();
    let object = JsonObject::new().number("sessions", spending.sessions);
    let object = usage_fields(object.number("told", spending.recorded), &total, prices);
    let unknown = serde_json::json!(unpriced(&total, prices)).to_string();
    let object = object.raw("unpriced", &unknown).text("prices", &prices.date);
    let mut object = object.raw("models", &format!("[{}]", models.join(",")));
    if args.by != SpendingKey::Model {
        let key = args.by.as_str();
        let rows: Vec<String> = spending
            .rows
            .iter()
            .map(|(name, row)| usage_fields(JsonObject::new().text(key, name), row, prices).close())
            .collect();
        object = object.text("by", key).raw("rows", &format!("[{}]", rows.join(",")));
    }
    writeln!(context.out, "{}", object.close())?;
    context.out.flush()
}

/// Formats rows as a table; the first column is the name.
fn table(heading: &str, rows: &[(String, TokenUsage, RowCost)]) -> Vec<String> {
    let mut cells: Vec<Vec<String>> = vec![
        [heading, "answers", "input", "output", "cache read", "cache write", "reasoning", "cost"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (name, spent, cost) in rows {
        let TokenUsage { answers, input, output, cache_read, cache_write, reasoning, .. } = spent;
        let counts = [answers, input, output, cache_read, cache_write, reasoning];
        let mut row = vec![escape_controls(name).replace('\n', " ")];
        row.extend(counts.map(|count| grouped(*count)));
        row.push(cost.text());
        cells.push(row);
    }
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| {
        cells.iter().filter_map(|row| row.get(column)).map(|cell| display_width(cell)).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let gap = " ".repeat(width.saturating_sub(display_width(cell)));
            if column == 0 { pad_width(cell, *width) } else { format!("{gap}{cell}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect()
}

/// Returns a share of a small number.
fn share_of(whole: usize, share: f64) -> usize {
    (1..=whole).filter(|part| *part as f64 <= share * whole as f64 + 0.5).count()
}

/// Formats rows as bars.
fn chart(rows: &[(String, TokenUsage, RowCost)]) -> Vec<String> {
    let has_cost = rows.iter().any(|(_, _, cost)| cost.dollars > 0.0);
    let value = |(_, spent, cost): &(String, TokenUsage, RowCost)| {
        if has_cost { cost.dollars } else { spent.output as f64 }
    };
    let most = rows.iter().map(value).fold(0.0, f64::max);
    let width = rows.iter().map(|(name, ..)| display_width(name)).max().unwrap_or(0);
    let line = |row: &(String, TokenUsage, RowCost)| {
        let share = if most > 0.0 { value(row) / most } else { 0.0 };
        let length = share_of(BAR, share);
        let what =
            if has_cost { row.2.text() } else { format!("{} output", grouped(row.1.output)) };
        let name = pad_width(&escape_controls(&row.0).replace('\n', " "), width);
        format!("{name}  {} {what}", "█".repeat(length))
    };
    rows.iter().map(line).collect()
}

fn print_text(
    context: &mut Context,
    args: &Args,
    spending: &Spending,
    prices: &PriceTable,
) -> Result<(), EarlyExit> {
    let row = |name: &str, row: &RowUsage| (name.to_owned(), tokens(row), RowCost::of(row, prices));
    let mut rows: Vec<_> = spending.rows.iter().map(|(name, of)| row(name, of)).collect();
    if matches!(args.by, SpendingKey::Project | SpendingKey::Session) {
        rows.sort_by(|one, other| other.2.dollars.total_cmp(&one.2.dollars));
    }
    let total = spending.total();
    let lines = match args.chart {
        true => chart(&rows),
        false if rows.is_empty() => Vec::new(),
        false => {
            if rows.len() > 1 {
                rows.push(row("total", &total));
            }
            table(args.by.as_str(), &rows)
        }
    };
    for line in lines {
        writeln!(context.out, "{line}")?;
    }
    context.out.flush()?;
    let unknown = unpriced(&total, prices);
    if !unknown.is_empty() {
        let file = prices.file.as_deref().unwrap_or("prices.json");
        let models = escape_controls(&unknown.join(", "));
        Output::status(&format!("no price is known for {models}; add one to {file}"));
    }
    if spending.rows.values().any(|row| RowCost::of(row, prices).is_estimate) {
        let date = &prices.date;
        Output::status(&format!("~ is an estimate from list prices of {date}"));
    }
    if spending.recorded == 0 {
        Output::status(match spending.sessions {
            1 => "the session does not record its usage",
            _ => "no session records its usage",
        });
    } else if spending.sessions > 1 {
        let Spending { recorded, sessions, .. } = spending;
        Output::status(&format!("{recorded} of {sessions} sessions record their usage"));
    }
    Ok(())
}

fn print_prices(context: &mut Context, prices: &PriceTable) -> Result<Exit, EarlyExit> {
    for price in &prices.models {
        let is_replaced = prices.price(&price.model).is_some_and(|valid| valid != price);
        if is_replaced {
            continue;
        }
        let line = match context.json {
            true => price.json(),
            false => price.text(),
        };
        writeln!(context.out, "{line}")?;
    }
    context.out.flush()?;
    if !context.json {
        let file = prices.file.as_deref().unwrap_or("prices.json beside the configuration");
        let date = &prices.date;
        Output::status(&format!("list prices of {date} per million tokens; changes: {file}"));
    }
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let prices = PriceTable::load()?;
    if args.prices {
        return print_prices(context, &prices);
    }
    let mut unread = UnreadSessions::new("counted");
    let (spending, coverage) = match &args.session {
        Some(name) => (one_session(args, context, name)?, None),
        None => match everything(args, context, &mut unread)? {
            Some((spending, coverage)) => (spending, Some(coverage)),
            None => return Ok(overview::first_steps()),
        },
    };
    if context.json {
        print_json(context, args, &spending, &prices)?;
    } else {
        print_text(context, args, &spending, &prices)?;
        if let Some(coverage) = coverage {
            coverage.report("counted");
        }
    }
    Ok(unread.report().unwrap_or(Exit::Success))
}
