//! Which node of a cluster has which slot, as the nodes tell it.

use std::collections::HashMap;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, RedisResult, Value};

use super::failure::Failure;

pub(super) const SLOTS: usize = 16_384;

/// The slot of what stands between the braces of a key.
pub(super) fn slot(hash_tag: &str) -> usize {
    usize::from(crc16::State::<crc16::XMODEM>::calculate(hash_tag.as_bytes())) % SLOTS
}

/// The slot of a key, by what stands between its first braces, if that is anything.
pub(super) fn slot_of(key: &str) -> usize {
    let tag = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .map(|(tag, _)| tag);
    slot(tag.filter(|tag| !tag.is_empty()).unwrap_or(key))
}

/// Slots and the primary that has them.
#[derive(Debug, PartialEq)]
pub(super) struct Range {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) address: Arc<str>,
    /// Of several nodes that claim a slot the one with the highest has it. At least 1, so that it is above that of none.
    pub(super) epoch: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owner {
    pub(super) epoch: u64,
    pub(super) address: Arc<str>,
}

/// The owner of each slot, if one is known.
pub(super) type Owners = Vec<Option<Owner>>;

/// Has the owners of higher epochs take the place of others. Returns whether there was one.
pub(super) fn merge(owners: &mut Owners, ranges: &[Range]) -> bool {
    let mut changed = false;
    for range in ranges {
        let slots = owners.get_mut(range.first..=range.last);
        for slot in slots.into_iter().flatten() {
            if slot.as_ref().is_none_or(|owner| owner.epoch < range.epoch) {
                *slot = Some(Owner {
                    epoch: range.epoch,
                    address: Arc::clone(&range.address),
                });
                changed = true;
            }
        }
    }
    changed
}

/// The epoch of each node by its id, as `CLUSTER NODES` answers: `ID ADDRESS FLAGS PRIMARY PING PONG EPOCH LINK SLOTS..`
pub(super) fn epochs(answer: Result<Value, Failure>) -> HashMap<String, u64> {
    let text = answer
        .ok()
        .and_then(|answer| redis::from_redis_value::<String>(answer).ok());
    let epoch = |line: &str| {
        let mut fields = line.split(' ');
        Some((fields.next()?.to_owned(), fields.nth(5)?.parse().ok()?))
    };
    text.iter().flat_map(|text| text.lines()).filter_map(epoch).collect()
}

/// Reads what `CLUSTER SLOTS` answers. A node that does not know its own host leaves it out: it is the one that was asked.
pub(super) fn ranges(answer: &Value, epochs: &HashMap<String, u64>, asked: &str) -> RedisResult<Vec<Range>> {
    let malformed = || RedisError::from((ErrorKind::Parse, "a node of the cluster tells slots that are none"));
    let own_host = asked.rsplit_once(':').map_or(asked, |(host, _)| host);
    let range = |range: &Value| {
        let Value::Array(range) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &range[..] else {
            return None;
        };
        let [host, Value::Int(port), id @ ..] = &primary[..] else {
            return None;
        };
        let id = match id.first() {
            Some(Value::BulkString(id)) => str::from_utf8(id).unwrap_or_default(),
            _ => "",
        };
        let host = match host {
            Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
            Value::BulkString(_) | Value::Nil => own_host.to_owned(),
            _ => return None,
        };
        Some(Range {
            first: usize::try_from(*first).ok()?,
            last: usize::try_from(*last).ok()?,
            address: format!("{host}:{port}").into(),
            epoch: epochs.get(id).copied().unwrap_or(0).max(1),
        })
    };
    match answer {
        Value::Array(all) => all.iter().map(|one| range(one).ok_or_else(malformed)).collect(),
        _ => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: `HASH_SLOT = CRC16(key) mod 16384`, and the CRC of `123456789` is 31C3.
    #[test]
    fn a_slot_is_that_of_the_specification() {
        assert_eq!(slot("123456789"), 0x31C3);
        assert_eq!(slot("foo"), 12_182);
        assert_eq!(slot_of("a:{foo}:{bar}"), 12_182);
        assert_eq!(slot_of("a{}b"), slot("a{}b"), "braces around nothing are none");
    }

    #[test]
    fn f_68_the_owner_of_the_highest_epoch_has_a_slot_whatever_the_order_of_views() {
        let range = |first, last, address: &str, epoch| Range {
            first,
            last,
            address: address.into(),
            epoch,
        };
        let stale = [range(0, 99, "old:1", 3)];
        let others = [range(0, 99, "new:1", 6), range(100, SLOTS - 1, "other:1", 2)];
        for views in [[&stale[..], &others], [&others, &stale]] {
            let mut owners: Owners = vec![None; SLOTS];
            for view in views {
                merge(&mut owners, view);
            }
            let owner = |slot: usize| owners[slot].as_ref().map(|owner| &*owner.address);
            assert_eq!(
                [owner(0), owner(99), owner(100)],
                [Some("new:1"), Some("new:1"), Some("other:1")]
            );
            assert!(!merge(&mut owners, &stale), "nothing is undone");
        }
    }

    #[test]
    fn a_host_that_is_left_out_is_the_one_that_was_asked() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let of = |host: Value| {
            let primary = Value::Array(vec![host, Value::Int(7001), text("id")]);
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(5), primary])])
        };
        let range = |address: &str| Range {
            first: 0,
            last: 5,
            address: address.into(),
            epoch: 7,
        };
        let epochs = epochs(Ok(text(
            "id 127.0.0.1:7001@17001 myself,master - 0 0 7 connected 0-5\nother :7002@17002 slave id 0 0 3 connected",
        )));
        assert_eq!(epochs.get("other"), Some(&3));
        let ranges = |answer: &Value| ranges(answer, &epochs, "one:7000");
        assert_eq!(ranges(&of(text("two"))).ok(), Some(vec![range("two:7001")]));
        assert_eq!(ranges(&of(text(""))).ok(), Some(vec![range("one:7001")]));
        assert_eq!(ranges(&of(Value::Nil)).ok(), Some(vec![range("one:7001")]));
        assert!(ranges(&of(Value::Int(1))).is_err());
        assert!(ranges(&Value::Okay).is_err());
    }
}
