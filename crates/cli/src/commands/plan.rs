//! `everturn linggen plan`: plans of agents, as Markdown that people read and change, too.

use clap::ValueEnum;
use everturn::linggen::{
    ItemMark, LinggenError, Plan, PlanStatus, create_plan, edit_plan, plans, read_plan,
};
use serde_json::{Value, json};

use super::Context;
use crate::context::next_command;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::linggen::{
    open_home, open_home_if_present, open_home_to_change, open_home_to_write, retry_linggen,
};
use crate::output::{Output, escape_controls};

/// List, show or change Linggen plans
///
/// A plan is a Markdown file with a checklist. A change edits only the mark, the status or the item
/// in question; the rest of the file stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn linggen plan list
  everturn linggen plan show refactor-auth-module
  everturn linggen plan check refactor-auth-module 2 --as in-progress
  everturn linggen plan add refactor-auth-module 'Write tests' --description 'for the new paths'
  everturn linggen plan new 'Refactor auth module' 'Read the code' 'Write tests'
  everturn linggen plan status refactor-auth-module completed

A line of the list with --json, and the output of the other commands:
  {"name":"refactor-auth-module","summary":"…","status":"approved","origin":"…",
   "items":[{"number":1,"mark":"done","title":"…","description":"…"}]}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: PlanCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PlanCommand {
    /// List the plans
    #[command(after_help = "\
Examples:
  everturn linggen plan list
  everturn linggen plan list --json")]
    List,
    /// Print the file of a plan
    #[command(after_help = "\
Examples:
  everturn linggen plan show refactor-auth-module")]
    Show {
        /// The name of the plan
        #[arg(value_name = "PLAN")]
        name: String,
    },
    /// Set the mark of an item
    #[command(after_help = "\
Examples:
  everturn linggen plan check refactor-auth-module 2
  everturn linggen plan check refactor-auth-module 2 --as in-progress")]
    Check {
        /// The name of the plan
        #[arg(value_name = "PLAN")]
        name: String,

        /// The number of the item, counted from 1
        item: usize,

        /// The mark
        #[arg(long = "as", value_name = "MARK", default_value = "done")]
        mark: MarkName,
    },
    /// Add an item
    #[command(after_help = "\
Examples:
  everturn linggen plan add refactor-auth-module 'Write tests' --description 'for the new paths'")]
    Add {
        /// The name of the plan
        #[arg(value_name = "PLAN")]
        name: String,

        /// The title of the item
        title: String,

        /// The description of the item
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
    },
    /// Create a plan; its name is derived from the summary
    #[command(after_help = "\
Examples:
  everturn linggen plan new 'Refactor auth module' 'Read the code' 'Write tests'")]
    New {
        /// The summary of the plan
        summary: String,

        /// The titles of the items
        items: Vec<String>,

        /// The origin of the plan
        #[arg(long, default_value = "user")]
        origin: String,
    },
    /// Set the status of a plan: planned, approved, executing or completed
    #[command(after_help = "\
Examples:
  everturn linggen plan status refactor-auth-module completed")]
    Status {
        /// The name of the plan
        #[arg(value_name = "PLAN")]
        name: String,

        /// The new status
        #[arg(value_parser = ["planned", "approved", "executing", "completed"])]
        status: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MarkName {
    Done,
    InProgress,
    Pending,
    Skipped,
}

impl MarkName {
    fn mark(self) -> ItemMark {
        match self {
            MarkName::Done => ItemMark::Done,
            MarkName::InProgress => ItemMark::InProgress,
            MarkName::Pending => ItemMark::Pending,
            MarkName::Skipped => ItemMark::Skipped,
        }
    }
}

fn value(name: &str, plan: &Plan) -> Value {
    let items = (1_u64..).zip(plan.items()).map(|(number, item)| {
        json!({
            "number": number, "mark": item.mark.as_str(), "title": item.title,
            "description": item.description,
        })
    });
    json!({
        "name": name,
        "summary": plan.summary(),
        "status": plan.status().map(PlanStatus::as_str),
        "origin": plan.origin(),
        "items": items.collect::<Vec<_>>(),
    })
}

fn print(name: &str, plan: &Plan, context: &mut Context) -> Result<(), EarlyExit> {
    if context.json {
        return writeln!(context.out, "{}", value(name, plan));
    }
    for (number, item) in (1_u64..).zip(plan.items()) {
        let line = format!("{number:>3}  [{}] {}", item.mark.character(), item.title);
        writeln!(context.out, "{}", escape_controls(&line))?;
    }
    Ok(())
}

fn list(context: &mut Context) -> Result<Exit, EarlyExit> {
    let Some(root) = open_home_if_present(context)? else { return Ok(Exit::Success) };
    let store = root.store();
    let mut exit = Exit::Success;
    for name in plans(&store).map_err(Error::from)? {
        let plan = match read_plan(&store, &name) {
            Ok(Some(plan)) => plan,
            Ok(None) => continue,
            // An unreadable plan does not hide the others.
            Err(error @ (LinggenError::Damaged { .. } | LinggenError::Name(_))) => {
                Output::status(&error.to_string());
                exit = Exit::Damaged;
                continue;
            }
            Err(error) => return Err(Error::from(error).into()),
        };
        if context.json {
            writeln!(context.out, "{}", value(&name, &plan))?;
            continue;
        }
        let done = plan.items().iter().filter(|item| item.mark == ItemMark::Done).count();
        let status = plan.status().map_or("?", PlanStatus::as_str);
        let summary = plan.summary().unwrap_or_default();
        let line = format!("{name}  {status}  {done}/{}  {summary}", plan.items().len());
        writeln!(context.out, "{}", escape_controls(&line))?;
    }
    Ok(exit)
}

fn show(name: &str, context: &mut Context) -> Result<Exit, EarlyExit> {
    let root = open_home(context)?;
    let Some(plan) = read_plan(&root.store(), name).map_err(Error::from)? else {
        let what = format!("there is no plan {name}");
        return Err(Error::new(Exit::Request, what).hint(next_command("linggen plan list")).into());
    };
    match context.json {
        true => writeln!(context.out, "{}", value(name, &plan))?,
        false => write!(context.out, "{}", escape_controls(plan.text()))?,
    }
    Ok(Exit::Success)
}

fn edit(
    name: &str,
    context: &mut Context,
    change: impl Fn(&mut Plan) -> Result<(), LinggenError>,
) -> Result<Exit, EarlyExit> {
    let root = open_home_to_change(context)?;
    let plan = retry_linggen(|| edit_plan(&root.store(), name, &change))?;
    print(name, &plan, context)?;
    root.close()?;
    Ok(Exit::Success)
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    match &args.what {
        PlanCommand::List => list(context),
        PlanCommand::Show { name } => show(name, context),
        PlanCommand::Check { name, item, mark } => {
            edit(name, context, |plan| plan.mark(*item, mark.mark()))
        }
        PlanCommand::Add { name, title, description } => edit(name, context, |plan| {
            plan.add(title, description);
            Ok(())
        }),
        PlanCommand::Status { name, status } => {
            edit(name, context, |plan| plan.set_status(&PlanStatus::parse(status)))
        }
        PlanCommand::New { summary, items, origin } => {
            let items: Vec<(&str, &str)> = items.iter().map(|item| (item.as_str(), "")).collect();
            let plan = Plan::new(summary, origin, &items);
            let root = open_home_to_write(context)?;
            let name = retry_linggen(|| create_plan(&root.store(), &plan))?;
            match context.json {
                true => writeln!(context.out, "{}", value(&name, &plan))?,
                false => writeln!(context.out, "{name}")?,
            }
            root.close()?;
            Ok(Exit::Success)
        }
    }
}
