//! Servers whose clock is off.

use std::process::Command;

use tempfile::TempDir;

/// What the server asks for the time, which calls of the kernel answer otherwise.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    const char *offset = getenv("SHIFTED_CLOCK");
    return offset ? atol(offset) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}
"#;

/// A library that is loaded before a program, built by the C compiler that links the tests too. A program that was started does
/// without its file.
pub struct ShiftedClock(TempDir);

impl ShiftedClock {
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let source = folder.path().join("clock.c");
        std::fs::write(&source, SOURCE).expect("it can be written");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(folder.path().join("clock.so"));
        let built = compiler.arg(source).status().expect("there is a C compiler");
        assert!(built.success());
        Self(folder)
    }

    /// The program, with a clock that is so many seconds ahead, as words of a command.
    pub fn program(&self, offset: i32, program: &str) -> String {
        let library = self.0.path().join("clock.so");
        format!("env SHIFTED_CLOCK={offset} LD_PRELOAD={} {program}", library.display())
    }
}
