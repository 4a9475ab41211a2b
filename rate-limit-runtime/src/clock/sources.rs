//! What a machine has to tell the time by.

use std::fs;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the times of a machine. Tests put an emulated machine in the place of this one.
pub(crate) trait Sources {
    /// Returns the time stamp counter of the processor that the thread runs on, or `None` where it
    /// is not to be used.
    fn ticks(&self) -> Option<u64>;

    /// Returns the kernel's monotonic clock in nanoseconds, since any moment before.
    fn monotonic(&self) -> u64;

    /// Returns the wall clock in microseconds since 1970.
    fn wall(&self) -> u64;

    /// Returns the nanoseconds since the machine was started, those included for which it was
    /// suspended, or `None` where that is not known.
    fn since_boot(&self) -> Option<u64>;
}

/// The machine that this process runs on.
#[derive(Debug)]
pub(crate) struct System {
    counter: Option<quanta::Clock>,
    origin: Instant,
}

impl System {
    /// Creates the sources. The counter is among them only if the kernel reads it for its own
    /// clock: it knows whether all processors have it alike, and takes another source as soon as
    /// they do not.
    pub(super) fn new() -> Self {
        let clocksource = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        let trusted = clocksource.is_ok_and(|name| is_counter(&name));
        Self {
            counter: trusted.then(quanta::Clock::new),
            origin: Instant::now(),
        }
    }
}

/// Whether this clocksource of Linux is the counter as the processor has it. `arch_sys_counter` of
/// ARM is not: where the hardware has an erratum, the kernel reads it by a workaround under the
/// same name. `kvm-clock` and `hyperv_*` are the counter, corrected.
fn is_counter(clocksource: &str) -> bool {
    clocksource.trim_end() == "tsc"
}

impl Sources for System {
    #[inline]
    fn ticks(&self) -> Option<u64> {
        self.counter.as_ref().map(quanta::Clock::raw)
    }

    #[inline]
    fn monotonic(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn wall(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_micros() as u64
    }

    /// Linux tells it in hundredths of a second, without a system call of its own. Elsewhere it is
    /// not known.
    fn since_boot(&self) -> Option<u64> {
        nanos_since_boot(&fs::read_to_string("/proc/uptime").ok()?)
    }
}

/// Reads the first of the two numbers in `/proc/uptime`, such as `35231.17 68402.55`.
fn nanos_since_boot(uptime: &str) -> Option<u64> {
    let (seconds, hundredths) = uptime.split(' ').next()?.split_once('.')?;
    let [seconds, hundredths]: [u64; 2] = [seconds.parse().ok()?, hundredths.parse().ok()?];
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(hundredths.checked_mul(10_000_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_32_only_the_counter_itself_is_the_counter() {
        assert!(is_counter("tsc\n"));
        for other in [
            "hpet\n",
            "acpi_pm\n",
            "kvm-clock\n",
            "arch_sys_counter\n",
            "tsc-early\n",
            "",
        ] {
            assert!(!is_counter(other), "{other:?}");
        }
    }

    #[test]
    fn the_time_since_boot_is_read() {
        assert_eq!(nanos_since_boot("35231.07 68402.55\n"), Some(35_231_070_000_000));
        for other in [
            "",
            "\n",
            "35231 1\n",
            "a.b c\n",
            "-1.00 2\n",
            "99999999999999999999.00 1\n",
        ] {
            assert_eq!(nanos_since_boot(other), None, "{other:?}");
        }
    }
}
