// Command validation compares Bailiwick's checks of manifests with the decoding, defaulting and validation of Kubernetes.
//
//	validation compare --binary bailiwick --oracle FOLDER/v1.37 --minor 37 --fields openapi.txt [--count N] [--seed S]
//	validation expressions --binary bailiwick --oracle FOLDER/v1.37 --minor 37 --policies FOLDER,FOLDER [--count N] [--seed S]
//	validation types --binary bailiwick --oracle FOLDER/v1.37 --minor 37 --fields FILE --policies FOLDER,FOLDER [--count N] [--seed S]
//	validation self-test --binary bailiwick --oracle FOLDER/v1.37 --minor 37 --fields openapi.txt
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/validation/internal/compare"
	"bailiwick.dev/conformance/validation/internal/expressions"
	"bailiwick.dev/conformance/validation/internal/manifests"
)

type options struct {
	binary, oracle, fields, policies string
	minor, count, most               int
	seed                             uint64
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: validation compare|expressions|types|self-test OPTIONS")
		os.Exit(2)
	}
	var chosen options
	set := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	set.StringVar(&chosen.binary, "binary", "", "the program under test")
	set.StringVar(&chosen.oracle, "oracle", "", "the real code")
	set.StringVar(&chosen.fields, "fields", "", "facts/openapi.txt")
	set.StringVar(&chosen.policies, "policies", "", "folders with admission policies")
	set.IntVar(&chosen.minor, "minor", 37, "minor of the real code")
	set.IntVar(&chosen.count, "count", 5000, "how many manifests")
	set.IntVar(&chosen.most, "most", 20, "how many differences to print")
	set.Uint64Var(&chosen.seed, "seed", 1, "seed of the manifests")
	_ = set.Parse(os.Args[2:])
	differences, err := run(os.Args[1], chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "validation:", err)
		os.Exit(3)
	}
	if differences > 0 {
		os.Exit(1)
	}
}

func run(command string, chosen options) (int, error) {
	ours, err := ask.Start(chosen.binary, "ask")
	if err != nil {
		return 0, err
	}
	theirs, err := ask.Start(chosen.oracle)
	if err != nil {
		return 0, err
	}
	count := 0
	switch command {
	case "compare":
		count, err = compareRandom(ours, theirs, chosen)
		if err == nil {
			var more int
			more, err = compareCustom(ours, theirs, chosen)
			count += more
		}
	case "expressions":
		count, err = compareExpressions(ours, theirs, chosen)
	case "types":
		count, err = compareTypes(ours, theirs, chosen)
	case "self-test":
		count, err = selfTest(ours, theirs, chosen)
	default:
		err = fmt.Errorf("there is no command %s", command)
	}
	if err != nil {
		return 0, err
	}
	if err := ours.Close(); err != nil {
		return 0, err
	}
	return count, theirs.Close()
}

// batch is how many manifests are asked about at a time.
const batch = 500

func compareRandom(ours, theirs *ask.Session, chosen options) (int, error) {
	fields, err := manifests.ReadFields(chosen.fields)
	if err != nil {
		return 0, err
	}
	source, err := manifests.NewSource(chosen.seed, fields)
	if err != nil {
		return 0, err
	}
	differences, verdicts := 0, map[compare.Verdict]int{}
	unjudged, skipped := map[string]int{}, map[string]int{}
	report := func(object map[string]any, why string) {
		differences++
		if differences <= chosen.most {
			text, _ := json.Marshal(object)
			fmt.Printf("DIFFER %.3000s\n  %.1200s\n", text, why)
		}
	}
	for done := 0; done < chosen.count; done += batch {
		var objects []map[string]any
		for range min(batch, chosen.count-done) {
			objects = append(objects, source.Next())
		}
		answers, verdictsOfServer, err := askBoth(ours, theirs, objects, chosen.minor)
		if err != nil {
			return 0, err
		}
		var accepted []int
		var stored []any
		for index, object := range objects {
			kind, _ := object["kind"].(string)
			verdict, why := compare.Compare(object, answers[index], verdictsOfServer[index])
			verdicts[verdict]++
			switch verdict {
			case compare.Different:
				report(object, why)
			case compare.Unjudged:
				unjudged[kind]++
			case compare.Skipped:
				skipped[why]++
			case compare.Same:
				if answers[index].Accepted {
					accepted = append(accepted, index)
					stored = append(stored, answers[index].Stored)
				}
			}
		}
		again, err := ask.All[compare.Theirs](theirs, stored)
		if err != nil {
			return 0, err
		}
		for place, index := range accepted {
			if same, why := compare.SameStored(objects[index], verdictsOfServer[index], again[place]); !same {
				report(objects[index], why)
			}
		}
	}
	fmt.Printf("1.%d: %d manifests: %d the same, %d refused by rules of their kind alone, %d skipped, %d differ\n",
		chosen.minor, chosen.count, verdicts[compare.Same], verdicts[compare.Unjudged], verdicts[compare.Skipped], differences)
	printCounts("refused by rules of the kind", unjudged)
	printCounts("skipped", skipped)
	return differences, nil
}

// embedded is a refusal for the metadata of an embedded object alone, whose fields Bailiwick does not check.
var embedded = regexp.MustCompile(`^\[spec(\.[^.]+|\[\d+\])*\.metadata\.\w+\]$|(?s)^spec.*\.metadata: Invalid value`)

// compareCustom compares custom resources. The schemas have no keyword that Bailiwick leaves out.
func compareCustom(ours, theirs *ask.Session, chosen options) (int, error) {
	source, err := manifests.NewSource(chosen.seed, nil)
	if err != nil {
		return 0, err
	}
	differences, accepted, refused, skipped := 0, 0, 0, 0
	for done := 0; done < chosen.count; done += batch {
		var resources []manifests.Custom
		var questions, plain []any
		for range min(batch, chosen.count-done) {
			custom := source.NextCustom()
			resources = append(resources, custom)
			plain = append(plain, custom)
			questions = append(questions, map[string]any{"validate": map[string]any{
				"object": custom.Custom, "minor": chosen.minor, "definitions": []any{custom.Definition()},
			}})
		}
		answers, err := ask.All[compare.Ours](ours, questions)
		if err != nil {
			return 0, err
		}
		verdicts, err := ask.All[compare.Theirs](theirs, plain)
		if err != nil {
			return 0, err
		}
		for index, custom := range resources {
			verdict := verdicts[index]
			switch {
			case verdict.Stage == "unknown" || verdict.Stage == "panic" || embedded.MatchString(verdict.Message):
				skipped++
			case answers[index].Accepted != (verdict.Stage == ""):
				differences++
				if differences <= chosen.most {
					text, _ := json.Marshal(custom)
					fmt.Printf("DIFFER %.3000s\n  ours %v, the server's %s: %.600s\n", text, answers[index].Errors, verdict.Stage, verdict.Message)
				}
			case verdict.Stage == "":
				accepted++
			default:
				refused++
			}
		}
	}
	fmt.Printf("1.%d: %d custom resources: %d accepted, %d refused, %d skipped, %d differ\n",
		chosen.minor, chosen.count, accepted, refused, skipped, differences)
	return differences, nil
}

// compareExpressions asks about all policies of some folders, and about the same with one expression that is changed.
func compareExpressions(ours, theirs *ask.Session, chosen options) (int, error) {
	corpus, err := expressions.Corpus(strings.Split(chosen.policies, ","))
	if err != nil {
		return 0, err
	}
	source, report := expressions.NewSource(chosen.seed, corpus), expressions.NewReport()
	for done := 0; done < len(corpus)+chosen.count; done += batch {
		var objects []map[string]any
		for number := done; number < min(done+batch, len(corpus)+chosen.count); number++ {
			if number < len(corpus) {
				objects = append(objects, corpus[number])
			} else {
				objects = append(objects, source.Next())
			}
		}
		answers, verdicts, err := askBoth(ours, theirs, objects, chosen.minor)
		if err != nil {
			return 0, err
		}
		for index, object := range objects {
			report.Take(object, answers[index], verdicts[index])
		}
	}
	report.Print(chosen.minor, chosen.most)
	return len(report.Wrong), report.Vacuous()
}

// compareTypes asks which expressions do not fit the kinds of their policies: of all policies of some folders, of the same with one
// expression that is changed, and of policies that walk through the fields of their kinds.
func compareTypes(ours, theirs *ask.Session, chosen options) (int, error) {
	corpus, err := expressions.Corpus(strings.Split(chosen.policies, ","))
	if err != nil {
		return 0, err
	}
	fields, err := manifests.ReadFields(chosen.fields)
	if err != nil {
		return 0, err
	}
	walks, err := manifests.NewSource(chosen.seed, fields)
	if err != nil {
		return 0, err
	}
	changes, report := expressions.NewSource(chosen.seed, corpus), expressions.NewTypeReport()
	for done := 0; done < len(corpus)+chosen.count; done += batch {
		var policies []manifests.Typed
		var questions, plain []any
		for number := done; number < min(done+batch, len(corpus)+chosen.count); number++ {
			var policy manifests.Typed
			switch {
			case number < len(corpus):
				policy.Policy = corpus[number]
			case number%3 == 0:
				policy.Policy = changes.Next()
			default:
				policy = walks.NextTyped()
			}
			if policy.Policy["kind"] != "ValidatingAdmissionPolicy" {
				continue
			}
			policies, plain = append(policies, policy), append(plain, policy)
			question := map[string]any{"object": policy.Policy, "minor": chosen.minor, "definitions": policy.Definitions}
			questions = append(questions, map[string]any{"validate": question})
		}
		answers, err := ask.All[compare.Ours](ours, questions)
		if err != nil {
			return 0, err
		}
		verdicts, err := ask.All[compare.Theirs](theirs, plain)
		if err != nil {
			return 0, err
		}
		for index, policy := range policies {
			report.Take(policy.Policy, answers[index], verdicts[index])
		}
	}
	report.Print(chosen.minor, chosen.most)
	return len(report.Differences), report.Vacuous()
}

func askBoth(ours, theirs *ask.Session, objects []map[string]any, minor int) ([]compare.Ours, []compare.Theirs, error) {
	var questions, plain []any
	for _, object := range objects {
		questions = append(questions, map[string]any{"validate": map[string]any{"object": object, "minor": minor}})
		plain = append(plain, object)
	}
	type answer struct {
		theirs []compare.Theirs
		err    error
	}
	server := make(chan answer, 1)
	go func() {
		verdicts, err := ask.All[compare.Theirs](theirs, plain)
		server <- answer{verdicts, err}
	}()
	answers, err := ask.All[compare.Ours](ours, questions)
	other := <-server
	if err == nil {
		err = other.err
	}
	return answers, other.theirs, err
}

// selfTest checks that all unchanged manifests are accepted, and that a lie about each is noticed.
func selfTest(ours, theirs *ask.Session, chosen options) (int, error) {
	objects, err := manifests.Valid()
	if err != nil {
		return 0, err
	}
	answers, verdicts, err := askBoth(ours, theirs, objects, chosen.minor)
	if err != nil {
		return 0, err
	}
	wrong, lies := 0, 0
	for index, object := range objects {
		kind, _ := object["kind"].(string)
		if verdict, why := compare.Compare(object, answers[index], verdicts[index]); verdict != compare.Same {
			fmt.Printf("DIFFER %s: %s\n", kind, why)
			wrong++
		}
		flipped := answers[index]
		if verdicts[index].Stage == "decode" && flipped.Checked == "metadata" {
			// Neither side knows the kind at this minor.
			continue
		}
		flipped.Accepted, flipped.Errors = !flipped.Accepted, nil
		if !flipped.Accepted {
			flipped.Errors = []compare.OurError{{Field: "spec", Type: "invalid"}}
		}
		if verdict, _ := compare.Compare(object, flipped, verdicts[index]); verdict != compare.Different {
			fmt.Printf("a wrong verdict on %s is not noticed\n", kind)
			wrong++
		}
		lies++
		if answers[index].Accepted {
			if same, _ := compare.SameStored(object, verdicts[index], verdicts[(index+1)%len(objects)]); same {
				fmt.Printf("another object in place of %s is not noticed\n", kind)
				wrong++
			}
			lies++
		}
	}
	policies, err := expressions.Corpus(nil)
	if err != nil {
		return 0, err
	}
	for _, policy := range policies {
		report := expressions.NewReport()
		report.Take(policy, compare.Ours{Errors: []compare.OurError{{Field: "spec.variables[0].expression"}}}, compare.Theirs{})
		if len(report.Wrong) != 1 {
			fmt.Println("a wrong refusal of an expression is not noticed")
			wrong++
		}
		lies++
		types := expressions.NewTypeReport()
		misfit := compare.Misfit{Field: "spec.validations[0].expression", APIVersion: "v1", Kind: "Pod"}
		types.Take(policy, compare.Ours{Accepted: true, Warnings: []compare.Misfit{misfit}}, compare.Theirs{})
		types.Take(policy, compare.Ours{Accepted: true}, compare.Theirs{Misfits: []compare.Misfit{misfit}})
		if len(types.Differences) != 2 {
			fmt.Println("a wrong or a missing warning about an expression is not noticed")
			wrong++
		}
		lies += 2
	}
	fmt.Printf("self-test: %d lies, %d mistakes\n", lies, wrong)
	return wrong, nil
}

func printCounts(title string, counts map[string]int) {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return counts[names[i]] > counts[names[j]] || counts[names[i]] == counts[names[j]] && names[i] < names[j]
	})
	for _, name := range names {
		fmt.Printf("  %s: %d %s\n", title, counts[name], name)
	}
}
