//! Whether a server is new enough for the scripts.

use crate::error::{StoreError, StoreErrorKind};

/// The first that has all that the scripts use. Valkey tells a version of Redis too, 7.2 or later.
const OLDEST: (u32, u32) = (6, 2);

/// Reads what `INFO server` answers. A server that does not tell is tried all the same.
pub(super) fn check(info: &str) -> Result<(), StoreError> {
    let version = info.lines().find_map(|line| line.trim().strip_prefix("redis_version:"));
    let Some(version) = version else { return Ok(()) };
    let mut numbers = version.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < OLDEST => Err(StoreError::new(
            StoreErrorKind::Misconfigured,
            format!(
                "Redis {version} is too old: the store needs {}.{} or later, or Valkey",
                OLDEST.0, OLDEST.1
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_told_apart() {
        let told = |info: &str| check(info).map_err(|error| error.to_string());
        let too_old = told("# Server\r\nredis_version:6.0.16\r\nredis_mode:standalone\r\n").expect_err("it is");
        assert_eq!(
            too_old,
            "Redis 6.0.16 is too old: the store needs 6.2 or later, or Valkey"
        );
        assert!(told("redis_version:5.0.14").is_err());
        for new_enough in [
            "redis_version:6.2.0",
            "redis_version:7.0.15",
            "redis_version:10.0.1",
            "",
            "redis_version:x",
        ] {
            assert_eq!(told(new_enough), Ok(()), "{new_enough}");
        }
    }
}
