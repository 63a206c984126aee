//! Settings of both homes: what can be set can be seen and unset, and a change touches one setting only.

use super::User;

const BASE: &str = "\
# the models of this machine
[server]
port = 9898

[[models]]
id = \"a\"
api_key = \"one\"

[[models]]
id = \"b\"
";

#[test]
fn one_element_of_a_list_is_changed() {
    let user = User::new();
    user.write(".linggen/config/linggen-agent.runtime.toml", BASE);
    user.ok("config set models.1.api_key two --layout linggen", "");
    let expect = format!("{BASE}api_key = \"two\"\n");
    assert_eq!(user.read(".linggen/config/linggen-agent.runtime.toml"), expect);
    assert_eq!(user.ok("config get models.1.id --layout linggen", ""), "b\n");
    user.ok("config unset models.1.api_key --layout linggen", "");
    assert_eq!(user.read(".linggen/config/linggen-agent.runtime.toml"), BASE);
    for words in
        ["config set models.2.id c --layout linggen", "config set models.x.id c --layout linggen"]
    {
        let refused = user.run(words, "");
        assert_eq!(refused.code, Some(1), "{words}: {refused:?}");
        assert_eq!(user.read(".linggen/config/linggen-agent.runtime.toml"), BASE);
    }
}

#[test]
fn a_runtime_file_is_made_from_the_whole_configuration() {
    let user = User::new();
    user.write(".config/linggen-agent/linggen-agent.toml", BASE);
    user.ok("config set server.port 7777 --layout linggen", "");
    let made = user.read(".linggen/config/linggen-agent.runtime.toml");
    assert_eq!(made, BASE.replace("9898", "7777"));
    assert_eq!(user.ok("config get models.0.id --layout linggen", ""), "a\n");
    assert_eq!(user.read(".config/linggen-agent/linggen-agent.toml"), BASE);
}

#[test]
fn a_sparse_runtime_file_is_not_made_where_nothing_is_known() {
    let user = User::new();
    let refused = user.run("config set server.port 7777 --layout linggen", "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("models"), "{refused:?}");
    assert!(!user.path(".linggen/config/linggen-agent.runtime.toml").exists());
}

#[test]
fn a_named_configuration_is_the_one_that_is_changed() {
    let mut user = User::new();
    user.write("mine.toml", BASE);
    user.write(".linggen/config/linggen-agent.runtime.toml", "who = \"other\"\n");
    user.variables.push(("LINGGEN_CONFIG", user.path("mine.toml").to_str().unwrap().to_owned()));
    user.ok("config set server.port 7 --layout linggen", "");
    assert_eq!(user.ok("config get server.port --layout linggen", ""), "7\n");
    assert_eq!(user.read("mine.toml"), BASE.replace("9898", "7"));
    assert_eq!(user.read(".linggen/config/linggen-agent.runtime.toml"), "who = \"other\"\n");
    user.variables.pop();
    user.variables.push(("LINGGEN_CONFIG", user.path("missing.toml").to_str().unwrap().to_owned()));
    let refused = user.run("config set server.port 8 --layout linggen", "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("missing.toml"), "{refused:?}");
}

#[test]
fn linggen_has_no_configuration_of_projects() {
    let user = User::new();
    user.write(".linggen/config/linggen-agent.runtime.toml", BASE);
    let refused = user.run("config set server.port 1 --scope project --layout linggen", "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let paths = user.ok("config path --layout linggen", "");
    assert!(!paths.contains("cache") && !paths.contains("project"), "{paths}");
    assert!(paths.contains("runtime"), "{paths}");
}
