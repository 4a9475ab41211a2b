//! Where the servers are, as a URL says it.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisResult};

use super::connection::Connection;
use super::endpoint::Endpoint;
use crate::error::BuildError;

/// What a link leads to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// This server.
    Server(Box<Endpoint>),
    /// Whichever server is the primary of a service now.
    #[cfg(feature = "redis-sentinel")]
    Primary(super::sentinel::Sentinels),
}

impl Target {
    /// Opens a connection, and tells to which server.
    pub(super) async fn open(&self) -> RedisResult<(Connection, String)> {
        match self {
            Self::Server(server) => Ok((server.open().await?, server.name())),
            #[cfg(feature = "redis-sentinel")]
            Self::Primary(sentinels) => sentinels.open().await,
        }
    }

    /// Returns `true` if the server at this address is the primary no more.
    pub(super) fn has_left(&self, address: &str) -> bool {
        match self {
            Self::Server(server) => server.name() != address,
            #[cfg(feature = "redis-sentinel")]
            Self::Primary(sentinels) => sentinels.has_left(address),
        }
    }
}

/// What a URL says.
#[derive(Debug)]
pub(super) enum Location {
    Server(Endpoint),
    #[cfg(feature = "redis-sentinel")]
    Sentinels {
        sentinels: Vec<Endpoint>,
        service: String,
        /// The database and the credentials; the address is none.
        primary: Endpoint,
    },
    #[cfg(feature = "redis-cluster")]
    Cluster(Vec<Endpoint>),
}

/// Certificates for TLS, in PEM.
#[derive(Clone, Debug, Default)]
pub(super) struct Certificates {
    #[cfg(feature = "redis-tls")]
    pub(super) root: Option<Vec<u8>>,
    /// The certificate and its key.
    #[cfg(feature = "redis-tls")]
    pub(super) client: Option<(Vec<u8>, Vec<u8>)>,
}

impl Location {
    /// The error of a URL may show the URL, and so a password: it is not passed on.
    pub(super) fn parse(url: &str, certificates: &Certificates) -> Result<Self, BuildError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let server = |url: &str| server(url, certificates);
        match scheme.split_once('-') {
            Some((base @ ("redis" | "rediss"), "sentinel")) => sentinels(base, rest, server),
            Some((base @ ("redis" | "rediss"), "cluster")) => cluster(base, rest, server),
            _ => server(url).map(Self::Server),
        }
    }

    /// Shown in logs: addresses, and no credential.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Server(server) => server.name(),
            #[cfg(feature = "redis-sentinel")]
            Self::Sentinels { sentinels, service, .. } => format!("{} ({service})", names(sentinels)),
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(nodes) => names(nodes),
        }
    }
}

#[cfg(any(feature = "redis-cluster", feature = "redis-sentinel"))]
fn names(servers: &[Endpoint]) -> String {
    servers.iter().map(Endpoint::name).collect::<Vec<_>>().join(",")
}

const WRITE: &str = "write `redis://[user][:password@]host[:port][/database]`, `rediss://..` for TLS, `redis+unix:///path`, \
                     `redis-sentinel://host:port,host:port/service[/database]` or `redis-cluster://host:port,host:port`";

fn malformed() -> BuildError {
    BuildError::new(format!("the URL of Redis is malformed: {WRITE}"))
}

fn server(url: &str, certificates: &Certificates) -> Result<Endpoint, BuildError> {
    let info = url.into_connection_info().map_err(|_| malformed())?;
    match info.addr() {
        ConnectionAddr::TcpTls { insecure: true, .. } => Err(BuildError::new(
            "`#insecure` in the URL of Redis is not supported: name the issuer of its certificate by `root_certificate`",
        )),
        ConnectionAddr::TcpTls { .. } => with_tls(info, certificates),
        _ => Ok(Endpoint {
            info,
            #[cfg(feature = "redis-tls")]
            tls: None,
        }),
    }
}

#[cfg(not(feature = "redis-tls"))]
fn with_tls(_: ConnectionInfo, _: &Certificates) -> Result<Endpoint, BuildError> {
    Err(BuildError::new("TLS needs the feature `redis-tls` of `rate-limit`"))
}

#[cfg(feature = "redis-tls")]
fn with_tls(info: ConnectionInfo, certificates: &Certificates) -> Result<Endpoint, BuildError> {
    let tls = Some(super::tls::Tls::new(certificates)?);
    Ok(Endpoint { info, tls })
}

/// The credentials of an authority, with the `@` behind them, its hosts, and the path behind it.
#[cfg(any(feature = "redis-cluster", feature = "redis-sentinel"))]
fn parts(rest: &str) -> (&str, Vec<&str>, &str) {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (credentials, hosts) = match authority.rfind('@') {
        Some(at) => authority.split_at(at + 1),
        None => ("", authority),
    };
    (credentials, hosts.split(',').map(str::trim).collect(), path)
}

#[cfg(feature = "redis-sentinel")]
fn sentinels(
    base: &str,
    rest: &str,
    server: impl Fn(&str) -> Result<Endpoint, BuildError>,
) -> Result<Location, BuildError> {
    let (credentials, hosts, path) = parts(rest);
    let (service, database) = path.split_once('/').unwrap_or((path, ""));
    if service.is_empty() {
        return Err(malformed());
    }
    // A sentinel has no database, and as a rule no password.
    let sentinel = |host: &&str| server(&format!("{base}://{host}/"));
    Ok(Location::Sentinels {
        sentinels: hosts.iter().map(sentinel).collect::<Result<_, _>>()?,
        service: service.to_owned(),
        primary: server(&format!("{base}://{credentials}{}/{database}", hosts[0]))?,
    })
}

#[cfg(not(feature = "redis-sentinel"))]
fn sentinels<F>(_: &str, _: &str, _: F) -> Result<Location, BuildError> {
    Err(BuildError::new(
        "sentinels need the feature `redis-sentinel` of `rate-limit`",
    ))
}

#[cfg(feature = "redis-cluster")]
fn cluster(
    base: &str,
    rest: &str,
    server: impl Fn(&str) -> Result<Endpoint, BuildError>,
) -> Result<Location, BuildError> {
    let (credentials, hosts, path) = parts(rest);
    if !matches!(path, "" | "0") {
        return Err(BuildError::new(
            "a Redis Cluster has one database, 0: leave the path of its URL out",
        ));
    }
    let node = |host: &&str| server(&format!("{base}://{credentials}{host}/"));
    Ok(Location::Cluster(hosts.iter().map(node).collect::<Result<_, _>>()?))
}

#[cfg(not(feature = "redis-cluster"))]
fn cluster<F>(_: &str, _: &str, _: F) -> Result<Location, BuildError> {
    Err(BuildError::new(
        "a Redis Cluster needs the feature `redis-cluster` of `rate-limit`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_the_servers_are() {
        let none = Certificates::default();
        let name = |url| {
            Location::parse(url, &none)
                .map(|location| location.name())
                .map_err(|error| error.to_string())
        };
        assert_eq!(name("redis://:secret@one:7000/3"), Ok("one:7000".to_owned()));
        assert!(name("redis:/one").is_err_and(|error| error.contains("malformed")));
        let secret = name("redis://user:se cret@[::1/").expect_err("it is malformed");
        assert!(!secret.contains("cret"), "{secret}");
        #[cfg(feature = "redis-sentinel")]
        {
            let url = "redis-sentinel://user:p@one:26379,two:26380/main/2";
            assert_eq!(name(url), Ok("one:26379,two:26380 (main)".to_owned()));
            let Ok(Location::Sentinels { sentinels, primary, .. }) = Location::parse(url, &none) else {
                panic!("it has sentinels");
            };
            assert_eq!(
                (
                    primary.info.redis_settings().db(),
                    primary.info.redis_settings().password()
                ),
                (2, Some("p"))
            );
            assert_eq!(
                sentinels[1].info.redis_settings().password(),
                None,
                "a sentinel is told no password"
            );
            assert!(name("redis-sentinel://one:26379").is_err(), "of which service");
        }
        #[cfg(feature = "redis-cluster")]
        {
            assert_eq!(
                name("redis-cluster://:p@one:7000, two"),
                Ok("one:7000,two:6379".to_owned())
            );
            assert!(name("redis-cluster://one:7000/1").is_err_and(|error| error.contains("one database")));
        }
    }
}
