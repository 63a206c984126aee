//! Rules about the crates and the order of their layers.

use crate::repository::Repository;

/// The directories of the crates, in the order of the workspace's members.
fn members(repository: &Repository) -> Vec<&str> {
    let text = repository.text("Cargo.toml").unwrap_or_default();
    let list = text.split("\nmembers = [").nth(1).and_then(|rest| rest.split(']').next());
    list.unwrap_or_default().split('"').skip(1).step_by(2).collect()
}

/// The names of the crates that the section `[dependencies]` of a manifest names.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split([' ', '.', '=']).next()).filter(|name| !name.is_empty())
}

fn name(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
}

/// The members stand in the order of the layers, so a crate that depends on a later one turns them around.
pub(crate) fn crates_depend_on_lower_ones(repository: &Repository) -> Vec<String> {
    let manifest = |member: &&str| repository.text(&format!("{member}/Cargo.toml"));
    let manifests: Vec<&str> = members(repository).iter().filter_map(manifest).collect();
    let names: Vec<&str> = manifests.iter().filter_map(|manifest| name(manifest)).collect();
    let mut broken = Vec::new();
    for (at, manifest) in manifests.iter().enumerate() {
        for dependency in dependencies(manifest) {
            if names.iter().skip(at).any(|upper| *upper == dependency) {
                let crate_name = name(manifest).unwrap_or_default();
                broken.push(format!("{crate_name}: depends on {dependency}, which is above it"));
            }
        }
    }
    broken
}

/// A crate that is not a member is never built.
pub(crate) fn crates_are_members(repository: &Repository) -> Vec<String> {
    let members = members(repository);
    let manifests = repository.texts().filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"));
    let strangers = manifests.filter(|directory| !members.contains(directory));
    strangers.map(|directory| format!("{directory}: not a member of the workspace")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    const TOP: &str = "[workspace]\nmembers = [\n    \"crates/a\",\n    \"crates/b\",\n]\n";

    fn manifest(name: &str, dependencies: &str) -> String {
        format!("[package]\nname = \"{name}\"\n\n[dependencies]\n{dependencies}\n[lints]\nx = 1\n")
    }

    #[test]
    fn a_lower_crate_does_not_know_an_upper_one() {
        let rule = crates_depend_on_lower_ones;
        let (alone, upper) = (manifest("a", "serde.workspace = true\n"), manifest("b", "a = 1\n"));
        let files = [("Cargo.toml", TOP), ("crates/a/Cargo.toml", &alone)];
        check(rule, &[files[0], files[1], ("crates/b/Cargo.toml", &upper)], &[]);
        for line in ["b.workspace = true\n", "b = { workspace = true, optional = true }\n"] {
            let lower = manifest("a", line);
            let files =
                [files[0], ("crates/a/Cargo.toml", &lower), ("crates/b/Cargo.toml", &upper)];
            check(rule, &files, &["a: depends on b, which is above it"]);
        }
    }

    #[test]
    fn a_crate_outside_of_the_workspace_is_found() {
        let rule = crates_are_members;
        let files = [("Cargo.toml", TOP), ("crates/a/Cargo.toml", "")];
        check(rule, &files, &[]);
        let stranger = ("crates/c/Cargo.toml", "");
        check(rule, &[files[0], files[1], stranger], &["crates/c: not a member of the workspace"]);
    }
}
