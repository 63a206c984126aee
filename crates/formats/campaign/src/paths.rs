//! The names of a campaign's files, and the ids of campaigns and turns.

use everturn_json::names::{FilePath, Name, NameError, SessionId};

/// Where all campaigns are.
const CAMPAIGNS: &str = "campaigns";

/// Where worlds are that campaigns share.
const WORLDS: &str = "worlds";

/// The directory of all campaigns.
pub(crate) fn campaigns_dir() -> FilePath {
    below(&FilePath::root(), CAMPAIGNS)
}

/// The directory of a campaign.
pub(crate) fn campaign_dir(id: &SessionId) -> FilePath {
    campaigns_dir().join(id.as_name())
}

/// The directory of a world.
pub(crate) fn world_dir(id: &SessionId) -> FilePath {
    below(&FilePath::root(), WORLDS).join(id.as_name())
}

/// The document of a world.
pub(crate) fn world_file(id: &SessionId) -> FilePath {
    below(&world_dir(id), "world.json")
}

/// The directory of campaigns that are packed away.
pub(crate) fn archives_dir() -> FilePath {
    below(&below(&FilePath::root(), "archives"), CAMPAIGNS)
}

/// The archive of a campaign.
pub(crate) fn archive_file(id: &SessionId) -> Result<FilePath, NameError> {
    Ok(archives_dir().join(&Name::parse(&format!("{id}.tar.gz"))?))
}

/// The path of a name that is known to be good.
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
    /// What each change did, so that it can be taken back. The program behind the layout does not know it.
    Deltas,
    /// Where a branch comes from, and whether the campaign rests. The program does not know it either.
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

/// The id of campaign number `number`.
pub(crate) fn campaign_id(number: u64) -> String {
    format!("camp_{number:04}")
}

/// The number in the id of a campaign that has one.
pub(crate) fn campaign_number(id: &str) -> Option<u64> {
    digits(id.strip_prefix("camp_")?)
}

/// The id of turn number `turn`.
pub(crate) fn turn_id(turn: u64) -> String {
    format!("turn_{turn:04}")
}

/// The number in the id of a turn.
pub(crate) fn turn_number(id: &str) -> Option<u64> {
    digits(id.strip_prefix("turn_")?)
}

fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The name of a checkpoint, after its turn.
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
        for (number, camp, turn) in [
            (1, "camp_0001", "turn_0001"),
            (9999, "camp_9999", "turn_9999"),
            (10000, "camp_10000", "turn_10000"),
        ] {
            assert_eq!((campaign_id(number).as_str(), turn_id(number).as_str()), (camp, turn));
            assert_eq!((campaign_number(camp), turn_number(turn)), (Some(number), Some(number)));
        }
        for wrong in ["camp_", "camp_+1", "camp_1a", "Camp_1", "turn_1", ""] {
            assert_eq!(campaign_number(wrong), None, "{wrong}");
        }
        assert_eq!(turn_number("turn_99999999999999999999"), None);
    }

    #[test]
    fn names_of_checkpoints_are_read_as_they_are_written() {
        let checkpoint = CheckpointName { turn: 7 };
        assert_eq!(checkpoint.render(), "turn_0007.json");
        assert_eq!(CheckpointName::parse("turn_0007.json"), Some(checkpoint));
        assert_eq!(CheckpointName::parse("turn_0007.txt"), None);
    }
}
