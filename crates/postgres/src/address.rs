//! [`ServerAddress`]: where a root is, `postgres://host/db?root=NAME`.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode, TargetSessionAttrs};
use thiserror::Error;

use crate::environment::ServerEnvironment;

/// The root that is used if the address names none.
const DEFAULT_ROOT: &str = "everturn";

/// The longest name of a schema that PostgreSQL keeps whole.
const LONGEST_ROOT: usize = 63;

/// The time after which the library probes an idle connection, if the address names none.
const USUAL_KEEPALIVE: Duration = Duration::from_hours(2);

/// Why an address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It does not start with `postgres://` or `postgresql://`.
    #[error("an address of PostgreSQL starts with postgres://")]
    Scheme,
    /// The name of the root is not a plain name.
    #[error(
        "a root is named by up to 63 lowercase letters, digits and underscores, and starts with a letter: {0}"
    )]
    Root(String),
    /// The rest of the address cannot be parsed. The reason never contains the password.
    #[error("the address of the server cannot be parsed: {0}")]
    Config(String),
    /// A file that the address or the environment names cannot be read.
    #[error("cannot read {path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        cause: String,
    },
    /// Others can read the password file.
    #[error("other users can read the passwords in {0}; use chmod 600")]
    OpenFile(String),
    /// The service file has no such service.
    #[error("there is no service {0} in the service file")]
    Service(String),
    /// An address off loopback without encryption.
    #[error("{0} is another machine, so sslmode=disable is refused")]
    Unencrypted(String),
}

/// The server, database and root of a store. Neither `Debug` nor `Display` shows the password.
#[derive(Clone)]
pub struct ServerAddress {
    pub(crate) config: Config,
    /// The certificate authorities that the user named, as PEM; `None` for the public ones.
    pub(crate) authorities: Option<String>,
    root: String,
    /// The address as it was given, without passwords.
    shown: String,
}

/// The settings of an address that this crate handles itself.
const OWN_SETTINGS: [&str; 5] = ["root", "sslrootcert", "sslmode", "passfile", "service"];

/// The variables for what an address leaves out.
const VARIABLES: [(&str, &str); 9] = [
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
];

impl ServerAddress {
    /// Returns whether `text` is meant as the address of a server.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Parses an address. Off loopback, the connection is encrypted and the certificate verified.
    pub fn parse(text: &str) -> Result<ServerAddress, AddressError> {
        ServerAddress::parse_in(text, &ServerEnvironment::empty())
    }

    /// As [`ServerAddress::parse`]; the environment provides what the address leaves out.
    pub fn parse_in(
        text: &str,
        environment: &ServerEnvironment<'_>,
    ) -> Result<ServerAddress, AddressError> {
        if !ServerAddress::is_address(text) {
            return Err(AddressError::Scheme);
        }
        let (server, query) = text.split_once('?').unwrap_or((text, ""));
        let pairs: Vec<(&str, &str)> =
            query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let given = |key: &str| pairs.iter().rev().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let root = given("root").unwrap_or(DEFAULT_ROOT);
        if !is_root_name(root) {
            return Err(AddressError::Root(root.to_owned()));
        }
        let rest: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .filter(|pair| !OWN_SETTINGS.contains(&pair.split('=').next().unwrap_or_default()))
            .collect();
        let rest = match rest.is_empty() {
            true => server.to_owned(),
            false => format!("{server}?{}", rest.join("&")),
        };
        let parsed = rest.parse::<Config>();
        let mut config = parsed.map_err(|error| AddressError::Config(error.to_string()))?;
        let service = given("service").map(str::to_owned);
        let service = service.or_else(|| (environment.variable)("PGSERVICE"));
        let mut defaults = service.map_or(Ok(Vec::new()), |name| environment.service(&name))?;
        let variables = VARIABLES.iter();
        defaults
            .extend(variables.filter_map(|(key, name)| {
                Some(((*key).to_owned(), (environment.variable)(name)?))
            }));
        let default = |key: &str| {
            let found = defaults.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.as_str())
        };
        complete(&mut config, &default)?;
        set_encryption(&mut config, given("sslmode").or_else(|| default("sslmode")))?;
        let authorities = given("sslrootcert").or_else(|| default("sslrootcert"));
        let authorities = authorities.filter(|file| *file != "system");
        let authorities = authorities.map(|file| environment.certificates(file)).transpose()?;
        if config.get_password().is_none() {
            let passfile = given("passfile").or_else(|| default("passfile"));
            if let Some(password) =
                environment.password(passfile, place(&config).each_ref().map(String::as_str))?
            {
                config.password(password);
            }
        }
        Ok(ServerAddress {
            config,
            authorities,
            root: root.to_owned(),
            shown: without_password(text),
        })
    }

    /// The name of the root, which is the name of its schema.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }
}

/// Adds what the address leaves out.
fn complete<'a>(
    config: &mut Config,
    default: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<(), AddressError> {
    let bad = |key: &str, value: &str| AddressError::Config(format!("{key}: {value}"));
    if config.get_hosts().is_empty() {
        for host in default("host").unwrap_or("localhost").split(',') {
            config.host(host);
        }
    }
    if let Some(ports) = default("port").filter(|_| config.get_ports().is_empty()) {
        for port in ports.split(',') {
            config.port(port.parse().map_err(|_| bad("port", port))?);
        }
    }
    if let Some(user) = default("user").filter(|_| config.get_user().is_none()) {
        config.user(user);
    }
    if let Some(db) = default("dbname").filter(|_| config.get_dbname().is_none()) {
        config.dbname(db);
    }
    if let Some(password) = default("password").filter(|_| config.get_password().is_none()) {
        config.password(password);
    }
    if config.get_connect_timeout().is_none() {
        let seconds = default("connect_timeout")
            .map_or(Ok(10), |text| text.parse::<u64>().map_err(|_| bad("connect_timeout", text)))?;
        config.connect_timeout(Duration::from_secs(seconds));
    }
    // A server that is cut off, without closing the connection, is given up after half a minute.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    if config.get_keepalives_idle() == USUAL_KEEPALIVE {
        config.keepalives_idle(Duration::from_secs(10));
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(Duration::from_secs(5));
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(4);
    }
    // Only a server that accepts writes is of use, unless the user wants any.
    if let Some("read-write") = default("target_session_attrs") {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config.application_name("everturn");
    Ok(())
}

/// Connections to other machines are encrypted, and the certificate is verified, whichever of the modes is named.
fn set_encryption(config: &mut Config, mode: Option<&str>) -> Result<(), AddressError> {
    let remote = config.get_hosts().iter().find(|host| !is_local(host)).cloned();
    // An address is where a connection goes, whatever the name of the host is.
    let elsewhere = config.get_hostaddrs().iter().find(|address| !address.is_loopback());
    let remote = remote.or_else(|| Some(Host::Tcp(elsewhere?.to_string())));
    let mode = match (mode, remote) {
        (Some("disable"), Some(Host::Tcp(name))) => return Err(AddressError::Unencrypted(name)),
        (Some("require" | "verify-ca" | "verify-full"), _) | (_, Some(_)) => SslMode::Require,
        (None | Some("disable" | "allow" | "prefer"), None) => SslMode::Disable,
        (Some(other), None) => return Err(AddressError::Config(format!("sslmode: {other}"))),
    };
    config.ssl_mode(mode);
    Ok(())
}

/// Host, port, database and user, as a password file names them.
fn place(config: &Config) -> [String; 4] {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) | None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let db = config.get_dbname().map_or_else(|| user.clone(), str::to_owned);
    [host, port, db, user]
}

/// Removes the passwords of an address: after the name of the user, and in the settings.
fn without_password(text: &str) -> String {
    let (server, query) = text.split_once('?').unwrap_or((text, ""));
    let (scheme, rest) = server.split_once("://").unwrap_or(("postgres", server));
    let server = match rest.rsplit_once('@') {
        Some((user, host)) => {
            format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
        }
        None => server.to_owned(),
    };
    let kept: Vec<&str> =
        query.split('&').filter(|pair| !pair.is_empty() && !is_secret(pair)).collect();
    if kept.is_empty() { server } else { format!("{server}?{}", kept.join("&")) }
}

/// Returns whether a setting is a password. Its name may be percent-encoded; an encoded name is never shown.
fn is_secret(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    name == "password" || name.contains('%')
}

fn is_root_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.len() <= LONGEST_ROOT
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.starts_with("pg_")
        && name.chars().all(plain)
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_shows_its_password() {
        let text = "postgres://ann:s3cret@127.0.0.1:5433/db?root=team&sslmode=disable";
        let address = ServerAddress::parse(text).unwrap();
        assert_eq!(
            address.to_string(),
            "postgres://ann@127.0.0.1:5433/db?root=team&sslmode=disable"
        );
        assert!(!format!("{address:?}").contains("s3cret"));
        let again = ServerAddress::parse("postgres://ann@localhost/db?password=s3cret").unwrap();
        assert_eq!(again.to_string(), "postgres://ann@localhost/db");
        assert_eq!(again.config.get_password(), Some(&b"s3cret"[..]));
        for text in [
            "postgres://localhost/db?passw%6Frd=s3cret",
            "postgres://localhost/db?user=ann&%70assword=s3cret&root=a",
        ] {
            let address = ServerAddress::parse(text).unwrap();
            assert!(!address.to_string().contains("s3cret"), "{address}");
        }
        for broken in ["postgres://ann:s3cret@h:x/db", "postgres://ann:s3cret@h/db?nope=s3cret"] {
            let error = ServerAddress::parse(broken).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
    }

    #[test]
    fn a_root_has_a_plain_name() {
        for (name, good) in [
            ("a", true),
            ("team_1", true),
            ("", false),
            ("A", false),
            ("1a", false),
            ("a\"b", false),
            ("pg_x", false),
        ] {
            let parsed = ServerAddress::parse(&format!("postgres://localhost/db?root={name}"));
            assert_eq!(parsed.is_ok(), good, "{name}");
        }
        assert_eq!(ServerAddress::parse("postgres://localhost/db").unwrap().root(), "everturn");
    }

    #[test]
    fn another_machine_is_never_reached_without_encryption() {
        let mode = |text: &str| ServerAddress::parse(text).map(|a| a.config.get_ssl_mode());
        assert_eq!(mode("postgres://db.example/x"), Ok(SslMode::Require));
        assert_eq!(mode("postgres://db.example/x?sslmode=prefer"), Ok(SslMode::Require));
        let refused = Err(AddressError::Unencrypted("db.example".to_owned()));
        assert_eq!(mode("postgres://db.example/x?sslmode=disable"), refused);
        // The name is not where the connection goes.
        let elsewhere = "postgres://localhost/x?hostaddr=192.0.2.7";
        assert_eq!(mode(elsewhere), Ok(SslMode::Require));
        let refused = Err(AddressError::Unencrypted("192.0.2.7".to_owned()));
        assert_eq!(mode(&format!("{elsewhere}&sslmode=disable")), refused);
        assert_eq!(mode("postgres://localhost/x"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://localhost/x?sslmode=require"), Ok(SslMode::Require));
    }

    #[test]
    fn a_server_that_is_cut_off_is_given_up() {
        let config = |text: &str| ServerAddress::parse(text).unwrap().config;
        let usual = config("postgres://localhost/x");
        assert_eq!(usual.get_tcp_user_timeout(), Some(&Duration::from_secs(30)));
        assert_eq!(usual.get_keepalives_idle(), Duration::from_secs(10));
        assert_eq!(usual.get_keepalives_interval(), Some(Duration::from_secs(5)));
        assert_eq!(usual.get_keepalives_retries(), Some(4));
        let own = config("postgres://localhost/x?tcp_user_timeout=5&keepalives_idle=60");
        assert_eq!(own.get_tcp_user_timeout(), Some(&Duration::from_secs(5)));
        assert_eq!(own.get_keepalives_idle(), Duration::from_secs(60));
    }

    const SERVICES: &str =
        "[other]\nhost=elsewhere\n\n[team]\n# where\nhost=localhost\nport = 6000\nuser=ann\n";
    const PASSWORDS: &str = "# all\nlocalhost:6000:db:ann:p:a\\:ss\n*:*:*:bob:other\n";

    fn parse_with(text: &str, variables: &[(&str, &str)]) -> Result<ServerAddress, AddressError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let read_file = |path: &std::path::Path| match path.to_str().unwrap() {
            "/h/.pgpass" | "/named" => Ok((PASSWORDS.to_owned(), false)),
            "/open" => Ok((PASSWORDS.to_owned(), true)),
            "/h/.pg_service.conf" => Ok((SERVICES.to_owned(), false)),
            "/ca.pem" => Ok(("certificates".to_owned(), true)),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        let environment = ServerEnvironment { variable: &variable, read_file: &read_file };
        ServerAddress::parse_in(text, &environment)
    }

    #[test]
    fn services_and_variables_complete_an_address() {
        let home = ("HOME", "/h");
        let found = parse_with("postgres:///db?service=team", &[home]).unwrap();
        assert_eq!(found.config.get_hosts(), [Host::Tcp("localhost".to_owned())]);
        assert_eq!(found.config.get_ports(), [6000]);
        assert_eq!(found.config.get_user(), Some("ann"));
        let variables = [home, ("PGSERVICE", "team"), ("PGUSER", "carl"), ("PGDATABASE", "x")];
        let found = parse_with("postgres://?root=r", &variables).unwrap();
        assert_eq!(found.config.get_user(), Some("ann"), "the service comes first");
        assert_eq!(found.config.get_dbname(), Some("x"));
        let found = parse_with("postgres://eve@localhost:1/y", &variables).unwrap();
        assert_eq!((found.config.get_user(), found.config.get_ports()), (Some("eve"), &[1][..]));
        let missing = parse_with("postgres:///db?service=none", &[home]).err();
        assert_eq!(missing, Some(AddressError::Service("none".to_owned())));
    }

    #[test]
    fn a_password_file_is_used_and_must_be_private() {
        let password = |text: &str, variables: &[(&str, &str)]| {
            let found = parse_with(text, variables).unwrap();
            found.config.get_password().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
        };
        let home = [("HOME", "/h")];
        let (ann, bob) = ("postgres://ann@localhost:6000/db", "postgres://bob@db.example/x");
        assert_eq!(password(ann, &home).as_deref(), Some("p:a:ss"));
        assert_eq!(password(bob, &home).as_deref(), Some("other"));
        assert_eq!(password("postgres://ann@localhost/db", &home), None);
        assert_eq!(password(ann, &[("PGPASSFILE", "/named")]).as_deref(), Some("p:a:ss"));
        assert_eq!(password(ann, &[("HOME", "/h"), ("PGPASSWORD", "q")]).as_deref(), Some("q"));
        let open = parse_with(ann, &[("PGPASSFILE", "/open")]).err();
        assert_eq!(open, Some(AddressError::OpenFile("/open".to_owned())));
        assert!(parse_with(ann, &[("PGPASSFILE", "/none")]).is_err(), "a named file must exist");
    }

    #[test]
    fn own_certificate_authorities_are_read() {
        let text = "postgres://db.example/x?sslmode=verify-full&sslrootcert=/ca.pem";
        let found = parse_with(text, &[]).unwrap();
        assert_eq!(found.authorities.as_deref(), Some("certificates"));
        assert_eq!(found.config.get_ssl_mode(), SslMode::Require);
        let found = parse_with("postgres://db.example/x", &[("PGSSLROOTCERT", "/ca.pem")]).unwrap();
        assert!(found.authorities.is_some());
    }
}
