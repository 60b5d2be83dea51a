//! Constraints with the values of a namespace.

use super::{Allocated, Unusable};
use crate::scc::range::Block;
use crate::scc::{Scc, SccIdRange};

/// Fills in the values of the namespace, and checks the result.
pub(super) fn resolve(scc: &Scc, allocated: Allocated<'_>) -> Result<Scc, Unusable> {
    let mut scc = scc.clone();
    let user = &mut scc.run_as_user;
    if user.r#type == "MustRunAsRange" && user.uid_range_min.is_none() && user.uid_range_max.is_none() {
        let text = allocated.uid_range.filter(|text| !text.is_empty()).ok_or(Unusable::NoUidRange)?;
        let block = Block::parse(text).ok_or(Unusable::MalformedRange)?;
        user.uid_range_min = Some(block.start.into());
        user.uid_range_max = Some(block.end.into());
    }
    let context = &mut scc.se_linux_context;
    if context.r#type == "MustRunAs" {
        let options = context.se_linux_options.get_or_insert_default();
        if options.level.is_empty() {
            let level = allocated.mcs.filter(|level| !level.is_empty()).ok_or(Unusable::NoSeLinuxLevel)?;
            level.clone_into(&mut options.level);
        }
    }
    if scc.fs_group.r#type == "MustRunAs" && scc.fs_group.ranges.is_empty() {
        // Of the first block only its first id.
        let first = groups(allocated)?.first().map(|block| i64::from(block.start)).ok_or(Unusable::NoGroups)?;
        scc.fs_group.ranges = vec![SccIdRange { min: first, max: first }];
    }
    if scc.supplemental_groups.r#type == "MustRunAs" && scc.supplemental_groups.ranges.is_empty() {
        let blocks = groups(allocated)?;
        let range = |block: &Block| SccIdRange { min: block.start.into(), max: block.end.into() };
        scc.supplemental_groups.ranges = blocks.iter().map(range).collect();
    }
    check(&scc)?;
    Ok(scc)
}

/// Returns the groups. The annotation for groups comes before the annotation for users, even if empty.
fn groups(allocated: Allocated<'_>) -> Result<Vec<Block>, Unusable> {
    let text = allocated.supplemental_groups.or(allocated.uid_range).filter(|text| !text.is_empty());
    Block::parse_list(text.ok_or(Unusable::NoGroups)?).ok_or(Unusable::MalformedRange)
}

fn check(scc: &Scc) -> Result<(), Unusable> {
    let user = &scc.run_as_user;
    match user.r#type.as_str() {
        "MustRunAs" if user.uid.is_none() => return Err(Unusable::NoUser),
        "MustRunAsRange" if user.uid_range_min.is_none() || user.uid_range_max.is_none() => {
            return Err(Unusable::HalfRange);
        }
        "MustRunAs" | "MustRunAsRange" | "MustRunAsNonRoot" | "RunAsAny" => {}
        _ => return Err(Unusable::UnknownStrategy("runAsUser")),
    }
    let strategies = [
        ("seLinuxContext", &scc.se_linux_context.r#type),
        ("fsGroup", &scc.fs_group.r#type),
        ("supplementalGroups", &scc.supplemental_groups.r#type),
    ];
    for (field, strategy) in strategies {
        if !matches!(strategy.as_str(), "MustRunAs" | "RunAsAny") {
            return Err(Unusable::UnknownStrategy(field));
        }
    }
    Ok(())
}
