//! The CEL expressions of Kyverno's policies, compared by a digest of their text.
//!
//! Whitespace next to punctuation does not count, outside of strings. Two texts with one digest have the same tokens.

use bailiwick_yaml::NodeRef;

use super::conditions::hex;
use super::pattern::{GROUPS, ONE_PLACE};
use super::{Demand, UnreadRule};

/// The most expressions of a policy.
const MOST_EXPRESSIONS: usize = 20;

/// The longest text of the expressions of a policy, in bytes.
const LONGEST: usize = 20_000;

/// The published expressions of one rule.
#[derive(Debug, Clone, Copy)]
enum Published {
    Capabilities,
    HostNamespaces,
    HostPath,
    HostPorts,
    HostProcess,
    Privileged,
    ProcMount,
    SeLinux,
    AppArmor,
    Seccomp,
    Sysctls,
    CapabilitiesStrict,
    PrivilegeEscalation,
    RunAsNonRootUser,
    RunAsNonRoot,
    SeccompStrict,
    SeccompOfContainers,
    VolumeTypes,
    NonRootGroups,
}

/// The expressions of the chart `kyverno-policies` with ValidatingPolicies, by the digest of their tokens.
const PUBLISHED: [(&str, Published); 19] = [
    ("63434615cbf55e16b04c42f467794c3ba7f7ddad6d4ecdcc91e933078690f09c", Published::Capabilities),
    ("db195d6d29dad5fee149ad66fb25fe18cd9859823b85c4bef5d3b72c441eceb5", Published::HostNamespaces),
    ("6ed609b748fe6bea56caf44449a2465d0265689b270afb2960bed6806cac233c", Published::HostPath),
    ("3f95bfa41065475dee3ee9fc4f4ae8952470f7c3f9fb4bd5bebd9c70f10c68d2", Published::HostPorts),
    ("7bba27cea772262e6d5c46e31fe6a45f1a2305bda5ddf6f09cb49a7024918b38", Published::HostProcess),
    ("05cf41ddf009cdf726153394daee07172e62f7ebea642cb417ef58e4a5b5b76e", Published::Privileged),
    ("842ec2e07afafc075ba9a86bea77fed97aff459508b6b90fe9198dc60c5f4c21", Published::ProcMount),
    ("531e5e7ee6ada71a4477a25d0617e2b2b65f9aeac5037db2d808f79ae1db0fae", Published::SeLinux),
    ("cc3b08a7def88991b81c75cfc93e46576b3d23c0ef4fd6ec0b9904b3efd53395", Published::AppArmor),
    ("841f2fb704dd34ded8a955f4d7c0963b4b169aa19ae8dd3fd5306c9c6c0a3f59", Published::Seccomp),
    ("3382ac676b0d9535ec4d2d465900e030f6a855af747f38bfce15bb0354318e06", Published::Sysctls),
    ("173060978a67eb44e079374f5366da0cd5ae85a7eb1c90c7a67eaf69e02edfb4", Published::CapabilitiesStrict),
    ("04b259b6f506a045a494911e06e86f63ece21ebc883a8143718a4bcbf2fd78fa", Published::PrivilegeEscalation),
    ("b148ae1ba2c91c1a34c7ea989ccce9d79609a42b33e2bdb54d662b4230160d18", Published::RunAsNonRootUser),
    ("e2ee8831725607b58447c12a4615901872d3b7ed85eb28595de50471f6066d59", Published::RunAsNonRoot),
    ("9d914f8cf9a2899e4aa16b5b62f5e9932d58a6136cef689e35217402c573ce06", Published::SeccompStrict),
    // Of Kyverno 1.18, without the profile of the pod.
    ("679978fd96ed0feebd0ecd9e0e26b5b7e299a6da6b67b766b67a15af3c127049", Published::SeccompOfContainers),
    ("d7cd57bf566ee8f14dc387d2ebefb24e02d28909d9bb0700bfdc892791dc4d61", Published::VolumeTypes),
    ("590e43bcce5c36915e81276990a375b01b5e2a08762f23f3cd3953b38c4e65a1", Published::NonRootGroups),
];

/// The safe kernel parameters of the published expression.
const SYSCTLS: [&str; 10] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
];

/// Reads the variables and the expressions of a rule. The error is the reason why they were not compared.
pub(super) fn read(variables: Option<NodeRef<'_>>, validations: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let other = || UnreadRule::from("other expressions than the published ones");
    let variables: Vec<NodeRef<'_>> = variables.into_iter().flat_map(NodeRef::items).take(MOST_EXPRESSIONS).collect();
    let validations: Vec<NodeRef<'_>> = validations.items().take(MOST_EXPRESSIONS).collect();
    let mut text = String::new();
    for (name, expression) in variables
        .iter()
        .map(|variable| (variable.text_at("name"), variable.text_at("expression")))
        .chain(validations.iter().map(|validation| ("", validation.text_at("expression"))))
    {
        if text.len() + expression.len() > LONGEST {
            return Err(other());
        }
        text.push_str(&format!("{name}\n{}\n", tokens(expression)));
    }
    let found = hex(text.as_bytes());
    let published = PUBLISHED.iter().find(|(known, _)| *known == found).ok_or_else(other)?;
    Ok(published.1.demands())
}

/// Removes whitespace next to punctuation, and shortens other whitespace to one space. Strings stay as they are.
fn tokens(expression: &str) -> String {
    let mut text = String::new();
    let (mut quote, mut is_escaped, mut is_spaced) = (None, false, false);
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    for letter in expression.trim().chars() {
        if quote.is_none() && letter.is_whitespace() {
            is_spaced = true;
            continue;
        }
        if is_spaced && text.chars().next_back().is_some_and(is_word) && is_word(letter) {
            text.push(' ');
        }
        is_spaced = false;
        text.push(letter);
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(end) if letter == end => quote = None,
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            _ => {}
        }
    }
    text
}

impl Published {
    fn demands(self) -> Vec<Demand> {
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        match self {
            Published::Capabilities => vec![Demand::AddedCapabilities(list(&crate::standards::BASELINE_CAPABILITIES))],
            Published::HostNamespaces => vec![Demand::HostNamespaces],
            Published::HostPath => vec![Demand::HostPath],
            Published::HostPorts => vec![Demand::HostPorts],
            Published::HostProcess => vec![Demand::HostProcess],
            Published::Privileged => vec![Demand::Privileged],
            Published::ProcMount => vec![Demand::ProcMount],
            Published::SeLinux => vec![
                Demand::SeLinuxTypes(list(&[
                    "container_t",
                    "container_init_t",
                    "container_kvm_t",
                    "container_engine_t",
                ])),
                Demand::SeLinuxUserAndRole,
            ],
            // The expression compares the value of an annotation with the text `localhost/*`, without a wildcard.
            Published::AppArmor => vec![
                Demand::AppArmorFields(list(&["RuntimeDefault", "Localhost"])),
                Demand::AppArmorAnnotations(list(&["runtime/default"])),
            ],
            Published::Seccomp => vec![Demand::Seccomp(list(&["RuntimeDefault", "Localhost"]))],
            Published::Sysctls => vec![Demand::Sysctls(list(&SYSCTLS))],
            Published::CapabilitiesStrict => {
                vec![Demand::DroppedCapabilities, Demand::AddedCapabilities(list(&["NET_BIND_SERVICE"]))]
            }
            Published::PrivilegeEscalation => vec![Demand::PrivilegeEscalation],
            Published::RunAsNonRootUser => vec![Demand::RunAsUser],
            Published::RunAsNonRoot => vec![Demand::RunAsNonRoot],
            Published::SeccompStrict => vec![Demand::SeccompForAll(list(&["RuntimeDefault", "Localhost"]))],
            Published::NonRootGroups => vec![Demand::Beyond(GROUPS)],
            Published::SeccompOfContainers => vec![Demand::Beyond(ONE_PLACE)],
            Published::VolumeTypes => vec![Demand::VolumeTypes(list(&crate::standards::ALLOWED_SOURCES))],
        }
    }
}
