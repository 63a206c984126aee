//! [`ServerAddress`]: where a root is, `postgres://host/db?root=NAME`.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};
use thiserror::Error;

/// The root that is used if the address names none.
const DEFAULT_ROOT: &str = "everturn";

/// The longest name of a schema that PostgreSQL keeps whole.
const LONGEST_ROOT: usize = 63;

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
    /// An address off loopback without encryption.
    #[error("{0} is another machine, so sslmode=disable is refused")]
    Unencrypted(String),
}

/// The server, database and root of a store. Neither `Debug` nor `Display` shows the password.
#[derive(Clone)]
pub struct ServerAddress {
    pub(crate) config: Config,
    root: String,
}

impl ServerAddress {
    /// Returns whether `text` is meant as the address of a server.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Parses an address. Off loopback, the connection is encrypted and the certificate verified.
    pub fn parse(text: &str) -> Result<ServerAddress, AddressError> {
        if !ServerAddress::is_address(text) {
            return Err(AddressError::Scheme);
        }
        let (server, query) = text.split_once('?').unwrap_or((text, ""));
        let (own, others): (Vec<&str>, Vec<&str>) = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .partition(|pair| pair.starts_with("root="));
        let root = own.last().and_then(|pair| pair.split_once('=')).map_or(DEFAULT_ROOT, |p| p.1);
        if !is_root_name(root) {
            return Err(AddressError::Root(root.to_owned()));
        }
        let rest = match others.is_empty() {
            true => server.to_owned(),
            false => format!("{server}?{}", others.join("&")),
        };
        let parsed = rest.parse::<Config>();
        let mut config = parsed.map_err(|error| AddressError::Config(error.to_string()))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        config.application_name("everturn");
        let remote = config.get_hosts().iter().find(|host| !is_local(host));
        match remote {
            Some(Host::Tcp(name)) if config.get_ssl_mode() == SslMode::Disable => {
                return Err(AddressError::Unencrypted(name.clone()));
            }
            Some(_) => {
                config.ssl_mode(SslMode::Require);
            }
            None if config.get_ssl_mode() == SslMode::Prefer => {
                config.ssl_mode(SslMode::Disable);
            }
            None => {}
        }
        Ok(ServerAddress { config, root: root.to_owned() })
    }

    /// The name of the root, which is the name of its schema.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }
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
        let hosts = self.config.get_hosts().iter().enumerate().map(|(index, host)| {
            let port = self.config.get_ports().get(index).or(self.config.get_ports().first());
            let port = port.map_or_else(String::new, |port| format!(":{port}"));
            match host {
                Host::Tcp(name) => format!("{name}{port}"),
                Host::Unix(path) => {
                    format!("{}{port}", path.display().to_string().replace('/', "%2F"))
                }
            }
        });
        let hosts = hosts.collect::<Vec<_>>().join(",");
        let db = self.config.get_dbname().unwrap_or_default();
        write!(f, "postgres://{hosts}/{db}?root={}", self.root)
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
        assert_eq!(address.to_string(), "postgres://127.0.0.1:5433/db?root=team");
        assert!(!format!("{address:?}").contains("s3cret"));
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
        assert_eq!(mode("postgres://localhost/x"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://localhost/x?sslmode=require"), Ok(SslMode::Require));
    }
}
