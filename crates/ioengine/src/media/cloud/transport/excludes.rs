//! Hosts that are reached without a proxy.

use std::net::IpAddr;

/// The entries of a `NO_PROXY` list: hosts (with all their subdomains, a leading dot or not), addresses, networks as
/// `10.0.0.0/8`, each with `:port` or without, or `*` for all. What is none of these names no host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Excludes(Vec<(Hosts, Option<u16>)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    Domain(String),
    Network(IpAddr, u32),
}

impl Excludes {
    /// Reads a comma-separated list.
    pub(super) fn parse(list: &str) -> Excludes {
        Excludes(list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(entry).collect())
    }

    /// Whether `host`, a name in lower case or an address without brackets, is on the list.
    pub(super) fn holds(&self, host: &str, port: u16) -> bool {
        let address: Option<IpAddr> = host.parse().ok();
        self.0.iter().any(|(hosts, only_port)| {
            only_port.is_none_or(|only| only == port)
                && match hosts {
                    Hosts::All => true,
                    Hosts::Domain(domain) => is_under(host, domain),
                    Hosts::Network(network, bits) => {
                        address.is_some_and(|found| shares(found, *network, *bits))
                    }
                }
        })
    }
}

fn entry(text: &str) -> (Hosts, Option<u16>) {
    if let Some(hosts) = network(text) {
        return (hosts, None);
    }
    let (name, port) = match text.rsplit_once(':').map(|(name, port)| (name, port.parse().ok())) {
        Some((name, Some(port))) => (name, Some(port)),
        _ => (text, None),
    };
    if name == "*" {
        return (Hosts::All, port);
    }
    let domain = || Hosts::Domain(name.trim_start_matches('.').to_ascii_lowercase());
    (network(name).unwrap_or_else(domain), port)
}

/// An address or a network.
fn network(text: &str) -> Option<Hosts> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(all), |bits| bits.parse().ok().filter(|&bits| bits <= all))?;
    Some(Hosts::Network(address, bits))
}

/// True for the domain itself and its subdomains.
fn is_under(host: &str, domain: &str) -> bool {
    let head = host.strip_suffix(domain);
    !domain.is_empty() && head.is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

/// Whether the first `bits` bits of two addresses are equal.
fn shares(found: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (found, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_hosts_suffixes_networks_and_all() {
        let list =
            Excludes::parse("example.com, .Local,10.1.0.0/16, ::1,fe80::/10,store:9000,[::2]:81,0.0.0.0/99");
        let inside = [
            ("example.com", 80),
            ("a.example.com", 80),
            ("x.local", 1),
            ("local", 1),
            ("10.1.200.3", 80),
            ("::1", 443),
            ("fe80::9", 80),
            ("store", 9000),
            ("::2", 81),
        ];
        for (host, port) in inside {
            assert!(list.holds(host, port), "{host}:{port}");
        }
        let outside = [
            ("badexample.com", 80),
            ("10.2.0.1", 80),
            ("::3", 80),
            ("store", 9001),
            ("::2", 80),
            ("8.8.8.8", 1),
        ];
        for (host, port) in outside {
            assert!(!list.holds(host, port), "{host}:{port}");
        }
        assert!(Excludes::parse("*").holds("anything", 1));
        assert!(Excludes::parse("0.0.0.0/0").holds("8.8.8.8", 1));
        assert!(!Excludes::parse(" , ").holds("anything", 1));
    }
}
