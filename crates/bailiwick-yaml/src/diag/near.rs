//! Near misses: the known name nearest to a written one.

/// The most bytes of a compared name: the cost is the product of both lengths.
const MAXIMUM_LENGTH: usize = 256;

/// How many candidates are compared: a file may have as many slips as there are names.
const MAXIMUM_CANDIDATES: usize = 1_000;

/// Returns the candidate closest to a written name, if it is a likely slip: equal but for case and separators, or a
/// distance of at most a third of its length.
pub fn nearest<'c>(written: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', '.', ' '], "");
    if written.len() > MAXIMUM_LENGTH {
        return None;
    }
    let written_plain = plain(written);
    candidates
        .into_iter()
        .take(MAXIMUM_CANDIDATES)
        .filter(|candidate| *candidate != written && candidate.len() <= MAXIMUM_LENGTH)
        .filter_map(|candidate| {
            let candidate_plain = plain(candidate);
            if candidate_plain == written_plain {
                return Some((0, candidate));
            }
            let (longer, shorter) =
                (written_plain.len().max(candidate_plain.len()), written_plain.len().min(candidate_plain.len()));
            if written_plain.is_ascii() && candidate_plain.is_ascii() && (longer - shorter) * 3 > longer {
                return None;
            }
            let distance = strsim::damerau_levenshtein(&written_plain, &candidate_plain);
            let longest = written_plain.chars().count().max(candidate_plain.chars().count());
            (distance * 3 <= longest).then_some((distance, candidate))
        })
        .min_by_key(|(distance, candidate)| (*distance, *candidate))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_refuses_guesses() {
        let fields = ["apiGroups", "resources", "resourceNames", "verbs"];
        assert_eq!(nearest("resource", fields), Some("resources"));
        assert_eq!(nearest("api_groups", fields), Some("apiGroups"));
        assert_eq!(nearest("vebrs", fields), Some("verbs"));
        assert_eq!(nearest("namespace", fields), None);
    }
}
