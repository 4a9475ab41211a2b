//! Whom a store asks: one server, or the node of a cluster that has a client.

use std::sync::Arc;

use redis::{Cmd, Value};
use tokio::time::Instant;

#[cfg(feature = "redis-cluster")]
use super::cluster::Cluster;
use super::failure::Failure;
use super::link::Link;
use super::script::Scripts;
#[cfg(feature = "redis-sentinel")]
use super::sentinel::Sentinels;
#[cfg(feature = "redis-cluster")]
use super::store_key::hash_tag;
use super::target::{Location, Target};
#[cfg(feature = "redis-cluster")]
use super::topology;
use crate::key::Client;
use crate::store::background::Background;

#[derive(Clone, Debug)]
pub(super) enum Server {
    One(Arc<Link>),
    #[cfg(feature = "redis-cluster")]
    Cluster(Arc<Cluster>),
}

impl Server {
    /// Connects to nothing yet.
    pub(super) fn new(location: Location, scripts: Scripts, most: usize, background: &Arc<Background>) -> Self {
        let (scripts, background) = (Arc::new(scripts), Arc::clone(background));
        let target = match location {
            Location::Server(server) => Target::Server(Box::new(server)),
            #[cfg(feature = "redis-sentinel")]
            Location::Sentinels {
                sentinels,
                service,
                primary,
            } => Target::Primary(Sentinels::new(sentinels, service, primary)),
            #[cfg(feature = "redis-cluster")]
            Location::Cluster(seeds) => return Self::Cluster(Cluster::new(seeds, scripts, most, background)),
        };
        Self::One(Link::new(target, scripts, most, background))
    }

    /// Restarts the background tasks on the runtime where they belong now.
    pub(super) fn move_in(&self) {
        match self {
            Self::One(link) => link.move_in(),
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.move_in(),
        }
    }

    pub(super) fn scripts(&self) -> &Scripts {
        match self {
            Self::One(link) => &link.scripts,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.scripts(),
        }
    }

    /// The link to the one server, if there is no cluster.
    pub(super) const fn one(&self) -> Option<&Arc<Link>> {
        match self {
            Self::One(link) => Some(link),
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(_) => None,
        }
    }

    /// Waits until the first attempt to connect has ended.
    pub(super) async fn first_attempt(&self) -> Result<(), Failure> {
        match self {
            Self::One(link) => link.first_attempt().await,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.first_attempt().await,
        }
    }

    /// Asks whoever has the keys of a client, once, until `end`.
    #[cfg_attr(not(feature = "redis-cluster"), allow(unused_variables))]
    pub(super) async fn ask(&self, client: Client, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
        match self {
            Self::One(link) => link.ask(cmd, end).await,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.ask(topology::slot(&hash_tag(client)), cmd, end).await,
        }
    }

    /// Asks whoever has this key.
    #[cfg_attr(not(feature = "redis-cluster"), allow(unused_variables))]
    pub(super) async fn ask_for(&self, key: &str, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
        match self {
            Self::One(link) => link.ask(cmd, end).await,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.ask(topology::slot_of(key), cmd, end).await,
        }
    }

    /// The links to all servers that have counters.
    #[cfg_attr(not(feature = "redis-cluster"), allow(unused_variables, clippy::unused_async))]
    pub(super) async fn links(&self, end: Instant) -> Result<Vec<Arc<Link>>, Failure> {
        match self {
            Self::One(link) => Ok(vec![Arc::clone(link)]),
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.primaries(end).await,
        }
    }

    /// Rises with each server that is found, or is told the scripts again: it may be another one, or have lost what it had.
    pub(super) fn generation(&self) -> u64 {
        match self {
            Self::One(link) => link.loads(),
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(cluster) => cluster.generation(),
        }
    }

    /// Whether one call can have the keys of both clients.
    #[cfg_attr(not(feature = "redis-cluster"), allow(unused_variables))]
    pub(super) fn together(&self, one: Client, other: Client) -> bool {
        match self {
            Self::One(_) => true,
            #[cfg(feature = "redis-cluster")]
            Self::Cluster(_) => topology::slot(&hash_tag(one)) == topology::slot(&hash_tag(other)),
        }
    }
}
