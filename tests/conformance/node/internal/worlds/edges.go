package worlds

// Paths are the recipes of requests that a path of the graph allows, by the release since which there is such a path.
func Paths() map[string]int {
	paths := map[string]int{}
	for _, each := range references {
		switch each.edge {
		case "claim direct", "claim of a template":
			paths["path "+each.edge+": get"] = 27
		case "claim of extended resources":
			paths["path "+each.edge+": get"] = 34
		case "volume ephemeral":
			paths["path "+each.edge+": get"] = 21
		case "service account":
			paths["path "+each.edge+": create token"] = 10
		default:
			paths["path "+each.edge+": get"] = 7
		}
	}
	for _, kind := range volumeKinds {
		paths["path volume for a claim, "+kind.edge+": get"] = 7
		if !kind.hidden {
			paths["path secret of a volume, "+kind.edge+": get"] = 7
		}
	}
	for _, state := range []string{"running", "finished", "terminating", "mirror"} {
		paths["path pod "+state+": get"] = 7
	}
	paths["path attachment: get"] = 10
	paths["path slice: get"] = 32
	paths["path certificate: get"] = 34
	return paths
}
