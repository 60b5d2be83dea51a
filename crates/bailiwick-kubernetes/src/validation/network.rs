//! NetworkPolicy (`pkg/apis/networking/validation/validation.go` of Kubernetes 1.37).

use crate::absent;
use std::fmt;
use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::names;
use bailiwick_yaml::NodeRef;

use super::{ErrorKind, Path, Report, items, place, selector, shown, strings, text};

/// Checks a NetworkPolicy.
pub(super) fn check(object: NodeRef<'_>, report: &mut Report<'_>) {
    let spec = place(object, "spec");
    let path = Path::root("spec");
    selector_at(spec, "podSelector", &path, report);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let path = path.field(direction);
        for (index, rule) in items(spec, direction) {
            let path = path.index(index);
            let ports = path.field("ports");
            for (index, item) in items(rule, "ports") {
                port(item, &ports.index(index), report);
            }
            let peers_path = path.field(peers);
            for (index, item) in items(rule, peers) {
                peer(item, &peers_path.index(index), report);
            }
        }
    }
    policy_types(spec, &path.field("policyTypes"), report);
}

fn selector_at(map: NodeRef<'_>, key: &str, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some(node) = map.get(key) {
        selector::check(node, &path.field(key), report.minor >= selector::VALUES_SINCE, report);
    }
}

fn policy_types(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let node = place(spec, "policyTypes");
    if node.is_seq() && node.len() > 2 {
        let message = format!("{} policy types exceed the limit of two", node.len());
        report.add(ErrorKind::Invalid, path, node, message);
        return;
    }
    for (index, item) in items(spec, "policyTypes") {
        let word = absent::text(item.as_str());
        if !matches!(word, "Ingress" | "Egress") {
            report.unsupported(&path.index(index), item, "the policy type", word, &["Ingress", "Egress"]);
        }
    }
}

fn port(port: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let protocol = text(port, "protocol");
    // An empty protocol is absent; the server completes null, but not an empty string.
    let is_given = port.get("protocol").is_some_and(|node| !node.is_null());
    if is_given && !matches!(protocol, "TCP" | "UDP" | "SCTP") {
        let node = place(port, "protocol");
        report.unsupported(&path.field("protocol"), node, "the protocol", protocol, &["TCP", "UDP", "SCTP"]);
    }
    let number = port.get("port").filter(|node| !node.is_null());
    let end = port.get("endPort").filter(|node| !node.is_null());
    let end_path = path.field("endPort");
    let path = path.field("port");
    match number.map(|node| (node, node.as_int())) {
        Some((node, Some(first))) => {
            if let Some(end) = end {
                let last = absent::number(end.as_int());
                if last < first {
                    let message = format!("the range of ports ends at {last}, before it begins at {first}");
                    report.add(ErrorKind::Invalid, &end_path, end, message);
                }
                port_number(end, last, &end_path, report);
            }
            port_number(node, first, &path, report);
        }
        Some((node, _)) => {
            let name = absent::text(node.as_str());
            if let Some(end) = end {
                let message = format!("a range cannot begin with the port name `{}`", shown(name));
                report.add(ErrorKind::Invalid, &end_path, end, message);
            }
            report.grammar(names::port_name(name), &path, node, "the port name", name);
        }
        None => {
            if let Some(end) = end {
                let message = "a range of ports has an end but no beginning".to_owned();
                report.teach(ErrorKind::Invalid, &end_path, end, message, "add `port:`, the first port of the range");
            }
        }
    }
}

fn port_number(node: NodeRef<'_>, number: i64, path: &Path<'_>, report: &mut Report<'_>) {
    if !(1..=65_535).contains(&number) {
        report.add(ErrorKind::Invalid, path, node, format!("the port {number} is not between 1 and 65535"));
    }
}

fn peer(peer: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let is_given = |key: &str| peer.get(key).is_some_and(|node| !node.is_null());
    let given = ["podSelector", "namespaceSelector", "ipBlock"].iter().filter(|key| is_given(key)).count();
    selector_at(peer, "podSelector", path, report);
    selector_at(peer, "namespaceSelector", path, report);
    if let Some(block) = peer.get("ipBlock").filter(|block| !block.is_null()) {
        ip_block(block, &path.field("ipBlock"), report);
        if given > 1 {
            let message = "a peer is either an address block or selectors, not both".to_owned();
            report.teach(ErrorKind::Forbidden, path, peer, message, "write two peers");
        }
    }
    if given == 0 {
        let message = "a peer is empty".to_owned();
        let help = "add `podSelector`, `namespaceSelector` or `ipBlock`";
        report.teach(ErrorKind::Required, path, peer, message, help);
    }
}

/// Returns the address ranges of a NetworkPolicy.
pub fn ranges<'t>(object: NodeRef<'t>) -> impl Iterator<Item = &'t str> {
    let spec = place(object, "spec");
    let rules = ["ingress", "egress"].into_iter().flat_map(move |direction| items(spec, direction));
    let peers = rules.flat_map(|(_, rule)| ["from", "to"].into_iter().flat_map(move |key| items(rule, key)));
    let blocks = peers.filter_map(|(_, peer)| peer.get("ipBlock"));
    blocks.flat_map(|block| iter::once(text(block, "cidr")).chain(strings(block, "except")))
}

fn ip_block(block: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let cidr = text(block, "cidr");
    let cidr_path = path.field("cidr");
    if cidr.is_empty() {
        let message = "an address block has no range".to_owned();
        let help = "add `cidr:`, such as `10.0.0.0/8`";
        report.teach(ErrorKind::Required, &cidr_path, place(block, "cidr"), message, help);
        return;
    }
    let Some(range) = Range::parse(cidr) else {
        not_a_range(cidr, place(block, "cidr"), &cidr_path, report);
        return;
    };
    refuse_ambiguous(cidr, place(block, "cidr"), &cidr_path, report);
    let except = path.field("except");
    for (index, item) in items(block, "except") {
        let path = except.index(index);
        let written = absent::text(item.as_str());
        let hole = Range::parse(written);
        if hole.is_some() {
            refuse_ambiguous(written, item, &path, report);
        }
        match hole {
            None => not_a_range(written, item, &path, report),
            Some(hole) if !range.strictly_contains(hole) => {
                let message = format!("`{}` is not a part of `{}`", shown(written), shown(cidr));
                report.teach(ErrorKind::Invalid, &path, item, message, "use an exception strictly inside the range");
            }
            Some(_) => {}
        }
    }
}

fn not_a_range(written: &str, node: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let message = format!("`{}` is not a range of addresses", shown(written));
    report.teach(ErrorKind::Invalid, path, node, message, "write address and length, such as `10.0.0.0/8`");
}

/// The first minor with an error for ambiguous ranges: the feature gate StrictIPCIDRValidation is on.
pub const STRICT_SINCE: u32 = 36;

fn refuse_ambiguous(written: &str, node: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some((reason, help)) = ambiguity(written).filter(|_| report.minor >= STRICT_SINCE) {
        report.teach(ErrorKind::Invalid, path, node, format!("the range `{}` {reason}", shown(written)), help);
    }
}

/// Returns the reason for the ambiguity of a range, and the text to write: the reasons of StrictIPCIDRValidation
/// (`parseCIDR` of `pkg/util/validation/ip.go`, k8s.io/apimachinery v0.37.2). None for a text other than a range.
pub fn ambiguity(text: &str) -> Option<(&'static str, String)> {
    let range = Range::parse(text)?;
    let (address, length) = text.split_once('/')?;
    let has_leading_zero = |number: &str| number.len() > 1 && number.starts_with('0');
    if address.parse::<IpAddr>().is_err() || has_leading_zero(length) {
        return Some(("has a number with leading zeros", format!("write `{}`", range.masked())));
    }
    if matches!(range.address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some()) {
        return Some(("is an IPv4 range in the form of IPv6", "write the range as IPv4".to_owned()));
    }
    let masked = range.masked();
    (masked.address != range.address)
        .then(|| ("has bits beyond its length", format!("write `{masked}`, or the length of the address")))
}

/// An address and how many of its leading bits count.
#[derive(Clone, Copy)]
struct Range {
    address: IpAddr,
    length: u32,
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.length)
    }
}

impl Range {
    /// Reads a range as every minor does, with leading zeros and bits beyond the length.
    fn parse(text: &str) -> Option<Range> {
        let (address, length) = text.split_once('/')?;
        let address = address.parse().ok().or_else(|| without_leading_zeros(address))?;
        let length = length.bytes().all(|byte| byte.is_ascii_digit()).then(|| length.parse().ok()).flatten()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (length <= bits).then_some(Range { address, length })
    }

    /// Returns the range without the bits beyond its length.
    fn masked(self) -> Range {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - self.length).unwrap_or_default();
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - self.length).unwrap_or_default();
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Range { address, ..self }
    }

    fn strictly_contains(self, other: Range) -> bool {
        let is_one_family = self.address.is_ipv4() == other.address.is_ipv4();
        let same = is_one_family && self.masked().address == Range { address: other.address, ..self }.masked().address;
        same && other.length > self.length
    }
}

/// Returns an IPv4 address with leading zeros in its numbers in plain form. Kubernetes reads them as decimal numbers.
fn without_leading_zeros(text: &str) -> Option<IpAddr> {
    let mut parts = text.split('.').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number
            .then(|| part.trim_start_matches('0'))
            .and_then(|digits| if digits.is_empty() { Some(0) } else { digits.parse::<u8>().ok() })
    });
    let mut next = || parts.next().flatten();
    let octets = [next()?, next()?, next()?, next()?];
    parts.next().is_none().then(|| IpAddr::from(octets))
}

#[cfg(test)]
mod tests {
    use super::{Range, ambiguity};

    #[test]
    fn a_range_is_read_in_one_way() {
        for text in ["010.0.0.0/8", "10.0.0.0/08", "10.0.0.1/8", "::ffff:1.2.3.0/120", "2001:db8::1/32"] {
            assert!(ambiguity(text).is_some() && Range::parse(text).is_some(), "{text}");
        }
        for text in ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0", "10.0.0.1/32", "x", "10.0.0/8", "1.2.3.4.5/8"]
        {
            assert!(ambiguity(text).is_none(), "{text}");
        }
        assert_eq!(ambiguity("010.1.0.0/8").unwrap().1, "write `10.0.0.0/8`");
        assert!(Range::parse("10.0.0.256/8").is_none() && Range::parse("10..0.0/8").is_none());
    }

    #[test]
    fn an_exception_lies_strictly_inside() {
        let contains =
            |outer: &str, inner: &str| Range::parse(outer).unwrap().strictly_contains(Range::parse(inner).unwrap());
        assert!(contains("0.0.0.0/0", "10.0.0.0/8"));
        assert!(contains("fd00::/8", "fd12::/16"));
        assert!(!contains("10.0.0.0/8", "10.0.0.0/8"));
        assert!(!contains("10.1.0.0/16", "10.0.0.0/8"));
        assert!(!contains("0.0.0.0/0", "fd00::/8"));
        assert!(Range::parse("10.0.0.0/33").is_none());
        assert!(Range::parse("10.0.0.0/+8").is_none());
    }
}
