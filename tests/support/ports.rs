//! Free ports of loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

/// Below those that the kernel hands out, so that a server that was stopped finds its port free when it starts
/// anew; and so that the bus of a cluster, 10,000 above, is below them too.
const PORTS: Range<u16> = 10_000..22_000;
/// How far above its port a node of a cluster has its bus.
const BUS: u16 = 10_000;

pub fn free_port() -> u16 {
    free_ports(1)[0]
}

/// As many different ones. Another process may still be faster to take one.
pub fn free_ports(count: usize) -> Vec<u16> {
    let mut ports = Vec::new();
    for _ in 0..10_000 {
        if ports.len() == count {
            return ports;
        }
        let random = (uuid::Uuid::new_v4().as_u128() % PORTS.len() as u128) as u16;
        let port = PORTS.start + random;
        if !ports.contains(&port) && is_free(port) && is_free(port + BUS) {
            ports.push(port);
        }
    }
    panic!("loopback has no {count} free ports");
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
