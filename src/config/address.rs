//! Which addresses are public: a webhook goes nowhere else unless its settings allow it. May import: nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reachable for everybody on the Internet, by the registries of special-purpose addresses. What is not known to be
/// public is not.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or_else(|| is_public_v6(v6), is_public_v4),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network; shared by carriers; protocol assignments; benchmarks; reserved and broadcast.
        (0, ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) | (240.., ..) => true,
        // The relay of 6to4.
        (192, 88, 99) => true,
        _ => false,
    };
    let is_local = address.is_loopback() || address.is_private() || address.is_link_local();
    !(is_special || is_local || address.is_multicast() || address.is_documentation())
}

/// Only `2000::/3` is global unicast; what translates or tunnels an IPv4 address is left out: it could hide one.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_global = (a & 0xe000) == 0x2000;
    // Protocol assignments with Teredo (2001::/23), documentation, 6to4, documentation again (3fff::/20).
    let is_special = matches!((a, b), (0x2001, 0..=0x1ff | 0xdb8) | (0x2002, _) | (0x3fff, 0..=0xfff));
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_everybody_can_reach_is_public() {
        for public in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for hidden in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::a00:1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(hidden.parse().unwrap()), "{hidden}");
        }
    }
}
