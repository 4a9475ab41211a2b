//! Keys of one slot that lie on two nodes while the slot migrates: a cluster answers `TRYAGAIN` to a call that has several of them, so
//! each is asked for by itself.

use redis::Cmd;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::RedisStore;
use super::failure::Failure;
use super::store_key::store_key;
use crate::key::Client;
use crate::store::{Change, Settlement};

impl RedisStore {
    /// Calls a command that answers how many of these keys of a client it found.
    pub(super) async fn count(
        &self,
        command: &str,
        client: Client,
        keys: &[String],
        end: Instant,
    ) -> Result<u64, Failure> {
        match self.count_together(command_on(command, keys), client, end).await {
            Err(error) if keys.len() > 1 && error.is_try_again() => {}
            counted => return counted,
        }
        let mut asked = JoinSet::new();
        for key in keys {
            let (store, cmd) = (self.clone(), command_on(command, std::slice::from_ref(key)));
            asked.spawn(async move { store.count_together(cmd, client, end).await });
        }
        let mut found = 0;
        while let Some(counted) = asked.join_next().await {
            found += counted??;
        }
        Ok(found)
    }

    async fn count_together(&self, cmd: Cmd, client: Client, end: Instant) -> Result<u64, Failure> {
        let read = |value| redis::from_redis_value(value).ok();
        self.ask_without_clock(client, &cmd, read, end).await
    }

    /// Settles what lies in one slot.
    pub(super) async fn settle_slot(&self, settlements: &[Settlement], end: Instant) -> Result<(), Failure> {
        match self.settle_together(settlements, end).await {
            Err(error) if settlements.len() > 1 && error.is_try_again() => {
                for settlement in settlements.chunks(1) {
                    self.settle_together(settlement, end).await?;
                }
            }
            settled => settled?,
        }
        let cleared = settlements
            .iter()
            .filter(|settlement| settlement.change == Change::Clear);
        let cleared: Vec<String> = cleared.map(|cleared| store_key(&self.0.prefix, &cleared.key)).collect();
        if !cleared.is_empty() {
            self.count("DEL", settlements[0].key.client(), &cleared, end).await?;
        }
        Ok(())
    }
}

fn command_on(command: &str, keys: &[String]) -> Cmd {
    let mut cmd = redis::cmd(command);
    cmd.arg(keys);
    cmd
}
