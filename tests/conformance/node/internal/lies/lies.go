// Package lies answers with the real code, but wrong in one way. Whoever compares has to notice each of them.
package lies

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"bailiwick.dev/conformance/node/internal/compare"
	"bailiwick.dev/conformance/node/internal/worlds"
)

// Lie is a mistake that somebody could make.
type Lie struct {
	Name string
	// twist asks another question about one sort, and tell changes a single answer of it.
	sort  string
	twist func(question worlds.Object)
	tell  func(item worlds.Object, allowed bool, text string) bool
}

// Liar stands for a program that is wrong in one way, or in none.
type Liar struct {
	Oracles *compare.Oracles
	Lie     *Lie
}

// Ask answers a question.
func (l Liar) Ask(kind string, body, answer any) error {
	result := answer.(*compare.Answer)
	if err := l.Oracles.Ask(kind, body, result); err != nil || l.Lie == nil {
		return err
	}
	question, err := copyOf(body.(worlds.Object))
	if err != nil {
		return err
	}
	said, err := l.Lie.say(l.Oracles, question, *result)
	for index, allowed := range said {
		result.Set(l.Lie.sort, index, allowed)
	}
	return err
}

// say is what a lie makes of the answers of its sort.
func (l *Lie) say(oracles *compare.Oracles, question worlds.Object, truth compare.Answer) ([]bool, error) {
	said := []bool{}
	if l.tell != nil {
		items, _ := question[l.sort].([]any)
		for index, verdict := range truth.Verdicts(l.sort) {
			said = append(said, l.tell(items[index].(worlds.Object), verdict.Allowed, verdict.Text))
		}
		return said, nil
	}
	twisted, err := copyOf(question)
	if err != nil {
		return nil, err
	}
	l.twist(twisted)
	if reflect.DeepEqual(twisted, question) {
		return said, nil
	}
	var answer compare.Answer
	if err := oracles.Ask("node", twisted, &answer); err != nil {
		return nil, err
	}
	for _, verdict := range answer.Verdicts(l.sort) {
		said = append(said, verdict.Allowed)
	}
	return said, nil
}

func copyOf(question worlds.Object) (worlds.Object, error) {
	raw, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	copied := worlds.Object{}
	return copied, json.Unmarshal(raw, &copied)
}

// Find is the lie of a name; none if there is none.
func Find(name string) *Lie {
	for index := range All {
		if All[index].Name == name {
			return &All[index]
		}
	}
	return nil
}

// SelfTest makes a sample of questions, checks that every rule shows in it, and then tells every lie about it, which has
// to be noticed.
func SelfTest(out io.Writer, oracles *compare.Oracles, versions []string, decisions int) error {
	seen := coverage{}
	options := compare.Options{Seed: 1, Decisions: decisions, Rough: true, Versions: versions, Watch: seen.watch}
	keeper := &keeper{oracles: oracles}
	report, err := compare.Run(oracles, keeper, options)
	if err != nil {
		return err
	}
	if report.Differs() {
		_ = report.Print(out)
		return fmt.Errorf("self-test: the real code differs from itself")
	}
	if err := seen.check(out); err != nil {
		return err
	}
	for index := range All {
		lie := &All[index]
		asked, err := keeper.notice(lie)
		if err != nil {
			return fmt.Errorf("self-test: %s: %w", lie.Name, err)
		}
		if asked == 0 {
			return fmt.Errorf("self-test: nobody notices `%s`", lie.Name)
		}
		fmt.Fprintf(out, "%-56s noticed within %d clusters\n", lie.Name, asked)
	}
	fmt.Fprintf(out, "self-test: %d decisions, %d lies, all noticed\n", report.Decisions, len(All))
	return nil
}

// keeper tells the truth, and keeps it together with the questions.
type keeper struct {
	oracles   *compare.Oracles
	questions []worlds.Object
	truths    []compare.Answer
}

// Ask answers a question.
func (k *keeper) Ask(kind string, body, answer any) error {
	if err := k.oracles.Ask(kind, body, answer); err != nil {
		return err
	}
	copied, err := copyOf(body.(worlds.Object))
	k.questions = append(k.questions, copied)
	k.truths = append(k.truths, *answer.(*compare.Answer))
	return err
}

// notice tells after how many questions a lie shows; 0 if it never does.
func (k *keeper) notice(lie *Lie) (int, error) {
	for index, question := range k.questions {
		said, err := lie.say(k.oracles, question, k.truths[index])
		if err != nil {
			return 0, err
		}
		theirs := k.truths[index].Verdicts(lie.sort)
		for at, verdict := range said {
			if verdict != theirs[at].Allowed {
				return index + 1, nil
			}
		}
	}
	return 0, nil
}
