//! The names of a campaign's files, and the IDs of campaigns.

use everturn_json::names::{FilePath, Name, NameError, SessionId};
use everturn_rpg::row::{turn_id, turn_number};

/// The name of the directory of all campaigns.
const CAMPAIGNS: &str = "campaigns";

/// The name of the directory of worlds, which campaigns share.
const WORLDS: &str = "worlds";

/// Returns the directory of all campaigns.
pub(crate) fn campaigns_dir() -> FilePath {
    below(&FilePath::root(), CAMPAIGNS)
}

/// Returns the directory of a campaign.
pub(crate) fn campaign_dir(id: &SessionId) -> FilePath {
    campaigns_dir().join(id.as_name())
}

/// Returns the directory of a world.
pub(crate) fn world_dir(id: &SessionId) -> FilePath {
    below(&FilePath::root(), WORLDS).join(id.as_name())
}

/// Returns the document of a world.
pub(crate) fn world_file(id: &SessionId) -> FilePath {
    below(&world_dir(id), "world.json")
}

/// Returns the directory of archived campaigns.
pub(crate) fn archives_dir() -> FilePath {
    below(&below(&FilePath::root(), "archives"), CAMPAIGNS)
}

/// Returns the archive of a campaign.
pub(crate) fn archive_file(id: &SessionId) -> Result<FilePath, NameError> {
    Ok(archives_dir().join(&Name::parse(&format!("{id}.tar.gz"))?))
}

/// Appends a name that is known to be valid.
pub(crate) fn below(dir: &FilePath, name: &str) -> FilePath {
    Name::parse(name).map_or_else(|_| dir.clone(), |name| dir.join(&name))
}

/// The files of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CampaignFile {
    /// The state.
    Campaign,
    /// One row per turn.
    Log,
    /// The changes, so that they can be reverted. The upstream program does not use this file.
    Deltas,
    /// The parent of a branch, and the status of the campaign. The upstream program does not use this file either.
    Lineage,
}

impl CampaignFile {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CampaignFile::Campaign => "campaign.json",
            CampaignFile::Log => "turn_log.jsonl",
            CampaignFile::Deltas => "turn_deltas.jsonl",
            CampaignFile::Lineage => "everturn.json",
        }
    }

    pub(crate) fn in_dir(self, dir: &FilePath) -> FilePath {
        below(dir, self.as_str())
    }
}

/// Returns the ID of campaign number `number`.
pub(crate) fn campaign_id(number: u64) -> String {
    format!("camp_{number:04}")
}

/// Returns the number in the ID of a campaign, if it has one.
pub(crate) fn campaign_number(id: &str) -> Option<u64> {
    let number = id.strip_prefix("camp_")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

/// The name of a checkpoint, derived from its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CheckpointName {
    pub(crate) turn: u64,
}

impl CheckpointName {
    pub(crate) fn render(self) -> String {
        format!("{}.json", turn_id(self.turn))
    }

    pub(crate) fn parse(name: &str) -> Option<CheckpointName> {
        Some(CheckpointName { turn: turn_number(name.strip_suffix(".json")?)? })
    }

    pub(crate) fn dir(campaign: &FilePath) -> FilePath {
        below(campaign, "checkpoints")
    }

    pub(crate) fn path(self, campaign: &FilePath) -> FilePath {
        below(&CheckpointName::dir(campaign), &self.render())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for (number, id) in [(1, "camp_0001"), (9999, "camp_9999"), (10000, "camp_10000")] {
            assert_eq!(campaign_id(number), id);
            assert_eq!(campaign_number(id), Some(number));
        }
        for wrong in ["camp_", "camp_+1", "camp_1a", "Camp_1", "turn_1", ""] {
            assert_eq!(campaign_number(wrong), None, "{wrong}");
        }
        assert_eq!(campaign_number("camp_99999999999999999999"), None);
    }

    #[test]
    fn names_of_checkpoints_are_read_as_they_are_written() {
        let checkpoint = CheckpointName { turn: 7 };
        assert_eq!(checkpoint.render(), "turn_0007.json");
        assert_eq!(CheckpointName::parse("turn_0007.json"), Some(checkpoint));
        assert_eq!(CheckpointName::parse("turn_0007.txt"), None);
    }
}
