//! The configuration: where it is searched for.
//!
//! The first file that exists counts. Settings changed while a program ran are in a file of their own, which overrides
//! it key by key. A file that `LINGGEN_CONFIG` names is the whole configuration.
//!
//! [`ConfigSearch`] lists the candidate files.

use everturn_settings::config::ConfigSchema;

/// The inputs of the search for a configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSearch<'a> {
    /// The value of `LINGGEN_CONFIG`, if it is set and not empty.
    pub named: Option<&'a str>,
    /// The working directory of the program.
    pub current_dir: &'a str,
    /// Linggen's home.
    pub home: &'a str,
    /// The user's home directory.
    pub user_home: &'a str,
}

const FILE: &str = "linggen-agent.toml";
const NEWER_FILE: &str = "linggen.toml";
const RUNTIME: &str = "linggen-agent.runtime.toml";

fn join(dir: &str, name: &str) -> String {
    format!("{}/{name}", dir.trim_end_matches('/'))
}

impl ConfigSearch<'_> {
    /// The candidates for the configuration; the first that exists counts.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let own = join(self.home, "config");
        let dirs = [
            self.current_dir.to_owned(),
            own,
            join(self.user_home, ".config/linggen-agent"),
            join(self.user_home, ".local/share/linggen-agent"),
        ];
        let named = self.named.filter(|named| !named.is_empty()).map(|named| {
            match named.starts_with('/') {
                true => named.to_owned(),
                false => join(self.current_dir, named.trim_start_matches("./")),
            }
        });
        let found = dirs.iter().flat_map(|dir| [join(dir, FILE), join(dir, NEWER_FILE)]);
        named.into_iter().chain(found).collect()
    }

    /// The file that `LINGGEN_CONFIG` names.
    #[must_use]
    pub fn named_file(&self) -> Option<String> {
        self.named.filter(|named| !named.is_empty()).and_then(|_| self.files().into_iter().next())
    }

    /// The candidates for the overrides of a configuration; the first that exists counts. An explicitly named file has
    /// none.
    #[must_use]
    pub fn overrides(&self, config: Option<&str>) -> Vec<String> {
        if config.is_some() && self.named_file().as_deref() == config {
            return Vec::new();
        }
        let beside = config.and_then(|file| Some(join(file.rsplit_once('/')?.0, RUNTIME)));
        let mut files =
            vec![join(self.current_dir, RUNTIME), join(&join(self.home, "config"), RUNTIME)];
        files.extend(beside.filter(|beside| !files.contains(beside)));
        files
    }

    /// The file that changes are written to.
    #[must_use]
    pub fn override_to_write(&self) -> String {
        join(&join(self.home, "config"), RUNTIME)
    }
}

/// The schema of the configuration: any keys are allowed. Settings changed while a program ran override it key by key.
pub const SCHEMA: ConfigSchema = ConfigSchema {
    version: 0,
    defaults: "{}",
    environment: &[],
    merge: &[],
    project_groups: &[],
    fields: &[],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use everturn_settings::config::{Config, ConfigLayer};

    fn search(named: Option<&'static str>) -> ConfigSearch<'static> {
        ConfigSearch { named, current_dir: "/w", home: "/h/.linggen/", user_home: "/h" }
    }

    #[test]
    fn the_configuration_is_looked_for_where_it_is_documented_and_where_programs_look() {
        let expect = [
            "/w/linggen-agent.toml",
            "/w/linggen.toml",
            "/h/.linggen/config/linggen-agent.toml",
            "/h/.linggen/config/linggen.toml",
            "/h/.config/linggen-agent/linggen-agent.toml",
            "/h/.config/linggen-agent/linggen.toml",
            "/h/.local/share/linggen-agent/linggen-agent.toml",
            "/h/.local/share/linggen-agent/linggen.toml",
        ];
        assert_eq!(search(None).files(), expect);
        assert_eq!(search(Some("")).files(), expect);
        assert_eq!(
            search(Some("/x/my.toml")).files()[..2],
            ["/x/my.toml", "/w/linggen-agent.toml"]
        );
        assert_eq!(search(Some("./my.toml")).files()[0], "/w/my.toml");
    }

    #[test]
    fn what_is_laid_over_it_stands_beside_it_or_in_the_home() {
        let home = "/h/.linggen/config/linggen-agent.runtime.toml";
        assert_eq!(search(None).overrides(None), ["/w/linggen-agent.runtime.toml", home]);
        assert_eq!(
            search(None).overrides(Some("/h/.config/linggen-agent/linggen-agent.toml")),
            [
                "/w/linggen-agent.runtime.toml",
                home,
                "/h/.config/linggen-agent/linggen-agent.runtime.toml"
            ]
        );
        assert_eq!(
            search(Some("/x/y.toml")).overrides(Some("/x/y.toml")),
            Vec::<String>::new(),
            "it is the whole configuration"
        );
        assert_eq!(search(Some("y.toml")).named_file().as_deref(), Some("/w/y.toml"));
        assert_eq!(search(Some("")).named_file(), None);
        assert_eq!(search(None).override_to_write(), home);
    }

    #[test]
    fn settings_are_laid_over_key_by_key() {
        let mut config = Config::new(&SCHEMA);
        let base = json!({"server": {"port": 1, "host": "a"}, "models": [{"id": "x"}]});
        config.add_settings(ConfigLayer::Global, "base", base);
        config.add_settings(
            ConfigLayer::Runtime,
            "over",
            json!({"server": {"port": 2}, "models": []}),
        );
        let expect = json!({"server": {"port": 2, "host": "a"}, "models": []});
        assert_eq!(config.merged(), expect);
        assert_eq!(config.explain("server.port")[0].place, "over");
    }
}
