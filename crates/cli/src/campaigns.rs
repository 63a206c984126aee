//! Finds and opens campaigns for the commands that need one.

use std::sync::Arc;

use everturn::campaign::{Campaign, CampaignError, CampaignWriter};
use everturn::format::{Feature, SessionError};
use everturn::names::SessionId;
use everturn::store::snapshot;

use crate::context::{Context, next_command};
use crate::error::Error;
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::sessions::FoundSession;

impl From<CampaignError> for Error {
    fn from(error: CampaignError) -> Error {
        let setting = matches!(error, CampaignError::Setting { .. });
        let error = Error::from(SessionError::from(error));
        if setting { error.hint("everturn settings --help lists allowed values") } else { error }
    }
}

/// Returns the ID of a session that must be a campaign.
fn campaign_id(found: &FoundSession) -> Result<SessionId, Error> {
    if !found.layout.has(Feature::CampaignRules) {
        let what =
            format!("{} is a {} session, not a campaign", found.place.id, found.layout.name());
        return Err(Error::new(Exit::Request, what).hint(next_command("ls --layout campaign")));
    }
    Ok(SessionId::parse(&found.place.id)?)
}

/// Opens a campaign for reading.
pub(crate) fn read_campaign(context: &Context, name: &str) -> Result<Campaign, Error> {
    let (_, campaign) = context.read_found(name, |found| {
        let paths = found.layout.snapshot_paths(&found.place)?;
        let store = snapshot(&found.root.store(), &paths)?;
        Ok(Campaign::open(store, &campaign_id(found)?)?)
    })?;
    print_findings(campaign.findings());
    Ok(campaign)
}

/// Opens a campaign for writing.
pub(crate) fn edit_campaign(
    context: &Context,
    name: &str,
) -> Result<(FoundSession, CampaignWriter), Error> {
    let found = context.find_to_write(name)?;
    let campaign = open(&found)?;
    Ok((found, campaign))
}

/// Finds a campaign that another process may be writing to.
pub(crate) fn find_campaign(context: &Context, name: &str) -> Result<FoundSession, Error> {
    let found = context.find_to_write(name)?;
    campaign_id(&found)?;
    Ok(found)
}

/// Opens a campaign that was found for writing.
fn open(found: &FoundSession) -> Result<CampaignWriter, Error> {
    Ok(try_open(found, &campaign_id(found)?)?)
}

/// Same as [`open`], with the error of the library.
pub(crate) fn try_open(
    found: &FoundSession,
    id: &SessionId,
) -> Result<CampaignWriter, CampaignError> {
    CampaignWriter::open(Arc::clone(&found.root.store()), id)
}
