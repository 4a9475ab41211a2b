//! The guard that a login needs: by address, by address and user, and by user.

use std::net::{Ipv4Addr, Ipv6Addr};

use rate_limit::{ClientIp, limit_per_time};

use crate::world::{Failure, World, why};

#[limit_per_time(100, "1d", key = ip)]
#[limit_per_time(10, "1d", key = (user, ip), reset_on_success)]
#[limit_per_time(50, "1d", key = user, refund_on_success)]
async fn login(ip: ClientIp, user: &str, password: &str) -> Result<(), Failure> {
    if password == "right" { Ok(()) } else { Err(Failure::Own) }
}

fn host(n: u8) -> ClientIp {
    ClientIp::new(Ipv4Addr::new(192, 0, 2, n).into(), 64)
}

fn attempts(world: &World, times: usize, ip: ClientIp, user: &str, password: &str) -> usize {
    let admitted = |_| usize::from(why(&world.run(login(ip, user, password))).is_none());
    (0..times).map(admitted).sum()
}

#[test]
fn ten_in_a_row_by_user_and_address_cleared_by_a_success() {
    let world = World::new();
    assert_eq!(attempts(&world, 9, host(1), "alice", "wrong"), 9);
    assert_eq!(attempts(&world, 1, host(1), "alice", "right"), 1);
    assert_eq!(attempts(&world, 20, host(1), "alice", "wrong"), 10);
    assert_eq!(
        attempts(&world, 1, host(2), "alice", "right"),
        1,
        "from elsewhere she can"
    );
}

/// All addresses of an IPv6 network are one host, to a user and to all.
#[test]
fn f_07_a_network_has_no_more_attempts_than_a_host() {
    let world = World::new();
    let address = |n: u16| ClientIp::new(Ipv6Addr::new(0x2001, 0xdb8, 1, 2, n, n, n, n).into(), 64);
    let of_alice: usize = (0..50).map(|n| attempts(&world, 1, address(n), "alice", "wrong")).sum();
    assert_eq!(of_alice, 10);
    let of_all = (0..500).map(|n| attempts(&world, 1, address(n), &format!("user-{n}"), "wrong"));
    assert_eq!(of_all.sum::<usize>(), 90, "a hundred with those of alice");
}

#[test]
fn fifty_failures_by_user_from_anywhere() {
    let world = World::new();
    for n in 0..9 {
        assert_eq!(attempts(&world, 5, host(n), "alice", "wrong"), 5);
        assert_eq!(
            attempts(&world, 1, host(200), "alice", "right"),
            1,
            "successes are not counted by user"
        );
    }
    assert_eq!(attempts(&world, 9, host(9), "alice", "wrong"), 5);
    assert_eq!(attempts(&world, 1, host(99), "alice", "right"), 0);
    assert_eq!(attempts(&world, 1, host(99), "bob", "right"), 1);
}

/// An attacker's own valid log-in clears nothing of what he did to others, and nothing of his address.
#[test]
fn rst_01_an_own_success_gives_an_attacker_nothing() {
    let world = World::new();
    let mut guesses = 0;
    for round in 0..50 {
        guesses += attempts(&world, 4, host(1), &format!("victim-{}", round % 2), "wrong");
        attempts(&world, 1, host(1), "attacker", "right");
    }
    assert_eq!(guesses, 20, "ten for each victim");
}

#[test]
fn key_03_many_users_from_one_address_are_bounded_by_the_address() {
    let world = World::new();
    let tried: usize = (0..200)
        .map(|n| attempts(&world, 1, host(1), &format!("user-{n}"), "wrong"))
        .sum();
    assert_eq!(tried, 100);
    assert_eq!(attempts(&world, 1, host(2), "user-1", "right"), 1);
}
