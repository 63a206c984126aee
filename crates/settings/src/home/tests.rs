//! A table of environments and the resulting directories.

use super::*;

/// The expected directories: configuration, cache, state, global configuration file.
type Expected<'a> = Result<[&'a str; 4], HomeError>;

fn check(
    program: &ProgramDirs,
    platform: Platform,
    root: Option<&str>,
    vars: &str,
    expect: &Expected<'_>,
) {
    let pairs: Vec<(&str, &str)> =
        vars.split('|').filter_map(|pair| pair.split_once('=')).collect();
    let variable = |name: &str| {
        pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value))
    };
    let current_dir = match platform {
        Platform::Unix => "/srv/app",
        Platform::Windows => "C:\\work\\app",
    };
    let environment =
        Environment { variable: &variable, current_dir: current_dir.into(), platform };
    let home = HomeDirs::resolve(program, &environment, root).map(|home| {
        let shown = |path: &PathBuf| path.to_string_lossy().into_owned();
        [&home.config_dir, &home.cache_dir, &home.state_dir, &home.config_file].map(shown)
    });
    let expect = expect.clone().map(|paths| paths.map(str::to_owned));
    assert_eq!(home, expect, "{vars} with the root {root:?}");
}

const HOME: Expected<'_> =
    Ok(["/h/.codelia", "/h/.codelia/cache", "/h/.codelia", "/h/.codelia/config.json"]);
const XDG: Expected<'_> = Ok([
    "/h/.config/codelia",
    "/h/.cache/codelia",
    "/h/.local/state/codelia",
    "/h/.config/codelia/config.json",
]);

#[test]
fn codelia_is_where_the_environment_says() {
    let unix = |vars: &str, expect: Expected<'_>| {
        check(&CODELIA, Platform::Unix, None, vars, &expect);
    };
    unix("HOME=/h", HOME);
    unix("HOME=/h/", HOME);
    unix("HOME=/h|CODELIA_LAYOUT=", HOME);
    unix("HOME=/h|CODELIA_LAYOUT=home", HOME);
    unix("HOME=/h|CODELIA_LAYOUT= xdg", HOME);
    unix("HOME=/h|CODELIA_LAYOUT=xdg ", HOME);
    unix("HOME=/h|CODELIA_LAYOUT=xdgx", HOME);
    unix("HOME=/h|XDG_CONFIG_HOME=/c|XDG_CACHE_HOME=/k|XDG_STATE_HOME=/s", HOME);
    unix("HOME=/h|EVERTURN_LAYOUT=xdg|EVERTURN_ROOT=/r", HOME);
    unix("HOME=/h|CODELIA_LAYOUT=xdg", XDG);
    unix("HOME=/h|CODELIA_LAYOUT=XDG", XDG);
    unix("HOME=/h|CODELIA_LAYOUT=Xdg", XDG);
    // The convention requires that empty and relative values are ignored.
    unix("HOME=/h|CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=|XDG_CACHE_HOME=|XDG_STATE_HOME=", XDG);
    unix("HOME=/h|CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=c|XDG_CACHE_HOME=./k|XDG_STATE_HOME=~/s", XDG);
    unix("HOME=/h|CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=../c", XDG);
    unix(
        "HOME=/h|CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=/c|XDG_CACHE_HOME=/k|XDG_STATE_HOME=/s",
        Ok(["/c/codelia", "/k/codelia", "/s/codelia", "/c/codelia/config.json"]),
    );
    // Each directory is resolved separately; a home is needed only as a fallback.
    unix(
        "CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=/c|XDG_CACHE_HOME=/k|XDG_STATE_HOME=/s",
        Ok(["/c/codelia", "/k/codelia", "/s/codelia", "/c/codelia/config.json"]),
    );
    unix(
        "HOME=/h|CODELIA_LAYOUT=xdg|XDG_STATE_HOME=/s/",
        Ok([
            "/h/.config/codelia",
            "/h/.cache/codelia",
            "/s/codelia",
            "/h/.config/codelia/config.json",
        ]),
    );
    for vars in
        ["", "HOME=", "HOME=h", "CODELIA_LAYOUT=xdg", "CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=/c"]
    {
        unix(vars, Err(HomeError::NoHome { variable: "HOME" }));
    }
}

#[test]
fn another_configuration_takes_the_place_of_the_global_one_only() {
    let config = |value: &str, file: &str| {
        let vars = format!("HOME=/h|CODELIA_CONFIG_PATH={value}");
        check(
            &CODELIA,
            Platform::Unix,
            None,
            &vars,
            &Ok(["/h/.codelia", "/h/.codelia/cache", "/h/.codelia", file]),
        );
    };
    config("", "/h/.codelia/config.json");
    config("  ", "/h/.codelia/config.json");
    config("/etc/codelia.json", "/etc/codelia.json");
    config("  /etc/codelia.json  ", "/etc/codelia.json");
    config("codelia.json", "/srv/app/codelia.json");
    config("./conf/codelia.json", "/srv/app/conf/codelia.json");
}

#[test]
fn a_root_that_is_named_has_everything_below_it() {
    let root = Ok(["/r", "/r/cache", "/r", "/r/config.json"]);
    check(
        &CODELIA,
        Platform::Unix,
        Some("/r"),
        "HOME=/h|CODELIA_LAYOUT=xdg|XDG_STATE_HOME=/s",
        &root,
    );
    check(&CODELIA, Platform::Unix, Some("/r"), "", &root);
    check(&CODELIA, Platform::Unix, Some(""), "HOME=/h", &HOME);
    check(&EVERTURN, Platform::Unix, None, "EVERTURN_ROOT=/r|EVERTURN_LAYOUT=xdg", &root);
    check(&EVERTURN, Platform::Unix, Some("/r"), "EVERTURN_ROOT=/other", &root);
}

#[test]
fn everturn_goes_by_the_same_rules_with_its_own_names() {
    check(
        &EVERTURN,
        Platform::Unix,
        None,
        "HOME=/h|CODELIA_LAYOUT=xdg|CODELIA_CONFIG_PATH=/x",
        &Ok(["/h/.everturn", "/h/.everturn/cache", "/h/.everturn", "/h/.everturn/config.json"]),
    );
    check(
        &EVERTURN,
        Platform::Unix,
        None,
        "HOME=/h|EVERTURN_LAYOUT=xdg|XDG_STATE_HOME=/s|EVERTURN_CONFIG_PATH=/e.json",
        &Ok(["/h/.config/everturn", "/h/.cache/everturn", "/s/everturn", "/e.json"]),
    );
}

#[test]
fn windows_has_a_home_directory_unless_it_is_told_otherwise() {
    let windows = |vars: &str, expect: Expected<'_>| {
        check(&CODELIA, Platform::Windows, None, vars, &expect);
    };
    const USER: &str = "USERPROFILE=C:\\Users\\Ann";
    let home = Ok([
        "C:\\Users\\Ann\\.codelia",
        "C:\\Users\\Ann\\.codelia\\cache",
        "C:\\Users\\Ann\\.codelia",
        "C:\\Users\\Ann\\.codelia\\config.json",
    ]);
    windows(USER, home.clone());
    windows(&format!("{USER}|HOME=/h|XDG_STATE_HOME=D:\\s"), home.clone());
    windows(&format!("{USER}|CODELIA_LAYOUT=windows"), home);
    windows(
        &format!(
            "{USER}|CODELIA_LAYOUT=xdg|XDG_CONFIG_HOME=D:\\c|XDG_CACHE_HOME=\\k|XDG_STATE_HOME=\\\\srv\\s"
        ),
        Ok([
            "D:\\c\\codelia",
            "C:\\Users\\Ann\\.cache\\codelia",
            "\\\\srv\\s\\codelia",
            "D:\\c\\codelia\\config.json",
        ]),
    );
    windows("HOME=/h", Err(HomeError::NoHome { variable: "USERPROFILE" }));
}

#[test]
fn the_project_is_where_the_process_works() {
    let variable = |name: &str| (name == "HOME").then(|| OsString::from("/h"));
    let environment = Environment {
        variable: &variable,
        current_dir: "/srv/app".into(),
        platform: Platform::Unix,
    };
    let project = |program| {
        let home = HomeDirs::resolve(program, &environment, Some("/r")).unwrap();
        home.project_config_file.to_string_lossy().into_owned()
    };
    assert_eq!(project(&CODELIA), "/srv/app/.codelia/config.json");
    assert_eq!(project(&EVERTURN), "/srv/app/.everturn/config.json");
}
