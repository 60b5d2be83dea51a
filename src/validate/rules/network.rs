//! NetworkPolicy (`specs/kubernetes.md` section 3.5).

use std::net::IpAddr;

use crate::k8s::names;
use crate::yaml::{NodeRef, Value};

use super::{ErrorKind, Path, Report, items, place, selector, shown, text};

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
        let message = format!("{} policy types are given, two is the most", node.len());
        report.add(ErrorKind::Invalid, path, node, message);
        return;
    }
    for (index, item) in items(spec, "policyTypes") {
        let word = item.as_str().unwrap_or_default();
        if !matches!(word, "Ingress" | "Egress") {
            report.unsupported(&path.index(index), item, "the policy type", word, &["Ingress", "Egress"]);
        }
    }
}

fn port(port: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let protocol = text(port, "protocol");
    // An empty protocol is one that was not written; null is completed by the server, an empty string is not.
    let is_given = port.get("protocol").is_some_and(|node| !node.is_null());
    if is_given && !matches!(protocol, "TCP" | "UDP" | "SCTP") {
        let node = place(port, "protocol");
        report.unsupported(&path.field("protocol"), node, "the protocol", protocol, &["TCP", "UDP", "SCTP"]);
    }
    let number = port.get("port").filter(|node| !node.is_null());
    let end = port.get("endPort").filter(|node| !node.is_null());
    let end_path = path.field("endPort");
    let path = path.field("port");
    match number.map(|node| (node, node.value())) {
        Some((node, Value::Int(first))) => {
            if let Some(end) = end {
                let last = end.as_int().unwrap_or_default();
                if last < first {
                    let message = format!("the range of ports ends at {last}, before it begins at {first}");
                    report.add(ErrorKind::Invalid, &end_path, end, message);
                }
                port_number(end, last, &end_path, report);
            }
            port_number(node, first, &path, report);
        }
        Some((node, _)) => {
            let name = node.as_str().unwrap_or_default();
            if let Some(end) = end {
                let message = format!("a range cannot begin at the port name `{}`", shown(name));
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
        let message = "a peer says nothing".to_owned();
        let help = "give `podSelector`, `namespaceSelector` or `ipBlock`";
        report.teach(ErrorKind::Required, path, peer, message, help);
    }
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
    let except = path.field("except");
    for (index, item) in items(block, "except") {
        let path = except.index(index);
        let written = item.as_str().unwrap_or_default();
        match Range::parse(written) {
            None => not_a_range(written, item, &path, report),
            Some(hole) if !range.strictly_contains(hole) => {
                let message = format!("`{}` is not a part of `{}`", shown(written), shown(cidr));
                report.teach(ErrorKind::Invalid, &path, item, message, "an exception lies strictly inside the range");
            }
            Some(_) => {}
        }
    }
}

fn not_a_range(written: &str, node: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let message = format!("`{}` is not a range of addresses", shown(written));
    report.teach(ErrorKind::Invalid, path, node, message, "write address and length, such as `10.0.0.0/8`");
}

/// An address and how many of its leading bits count.
#[derive(Clone, Copy)]
struct Range {
    address: IpAddr,
    length: u32,
}

impl Range {
    fn parse(text: &str) -> Option<Range> {
        let (address, length) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let length = length.bytes().all(|byte| byte.is_ascii_digit()).then(|| length.parse().ok()).flatten()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (length <= bits).then_some(Range { address, length })
    }

    fn strictly_contains(self, other: Range) -> bool {
        let same = match (self.address, other.address) {
            (IpAddr::V4(outer), IpAddr::V4(inner)) => {
                (outer.to_bits() ^ inner.to_bits()).checked_shr(32 - self.length).unwrap_or_default() == 0
            }
            (IpAddr::V6(outer), IpAddr::V6(inner)) => {
                (outer.to_bits() ^ inner.to_bits()).checked_shr(128 - self.length).unwrap_or_default() == 0
            }
            _ => false,
        };
        same && other.length > self.length
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

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
