// Package bench measures how fast the authorizer of the server decides.
package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Options say what to measure.
type Options struct {
	// Objects and Questions are files of JSON lines.
	Objects   string
	Questions string
	Baseline  string
	// Time is how long to measure at least.
	Time time.Duration
}

// Run loads the objects into the listers that the informers of the server fill, RoleBindings by namespace, and decides
// all questions again and again on one thread. Requests are parsed beforehand: that is not the authorizer's work.
func Run(ctx context.Context, out io.Writer, options Options) error {
	runtime.GOMAXPROCS(1)
	world, load, err := loadWorld(options)
	if err != nil {
		return err
	}
	questions, err := loadQuestions(ctx, options.Questions)
	if err != nil {
		return err
	}
	if len(questions) == 0 {
		return fmt.Errorf("%s: no questions", options.Questions)
	}
	// The first pass warms the caches, and counts.
	allowed := decideAll(ctx, world.Authorizer(), questions)
	var passes []time.Duration
	for begin := time.Now(); time.Since(begin) < options.Time || len(passes) == 0; {
		start := time.Now()
		decideAll(ctx, world.Authorizer(), questions)
		passes = append(passes, time.Since(start))
	}
	slices.Sort(passes)
	each := func(pass time.Duration) float64 { return float64(pass.Nanoseconds()) / float64(len(questions)) }
	fmt.Fprintf(out, "%d objects loaded in %.2f s\n", world.Count(), load.Seconds())
	fmt.Fprintf(out, "%d decisions (%d allowed), %d passes: %.0f ns per decision (median; %.0f at best, %.0f at worst)\n",
		len(questions), allowed, len(passes), each(passes[len(passes)/2]), each(passes[0]), each(passes[len(passes)-1]))
	return nil
}

func decideAll(ctx context.Context, decider authorizer.Authorizer, questions []authorizer.Attributes) int {
	allowed := 0
	for _, question := range questions {
		if decision, _, _ := decider.Authorize(ctx, question); decision == authorizer.DecisionAllow {
			allowed++
		}
	}
	return allowed
}

func loadWorld(options Options) (*kube.World, time.Duration, error) {
	given := &protocol.World{Baseline: options.Baseline}
	err := eachLine(options.Objects, func(line []byte) error {
		given.Objects = append(given.Objects, bytes.Clone(line))
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	objects, err := kube.Decode(given)
	if err != nil {
		return nil, 0, err
	}
	world, err := kube.NewAuthorizer(objects, kube.NewAggregation())
	return world, time.Since(start), err
}

func loadQuestions(ctx context.Context, path string) ([]authorizer.Attributes, error) {
	var questions []authorizer.Attributes
	err := eachLine(path, func(line []byte) error {
		var question protocol.Question
		if err := json.Unmarshal(line, &question); err != nil {
			return err
		}
		if question.CanI == nil {
			return fmt.Errorf("not a question `can-i`: %s", line)
		}
		attributes, err := kube.Attributes(ctx, question.CanI)
		questions = append(questions, attributes)
		return err
	})
	return questions, err
}

func eachLine(path string, visit func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<28)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := visit(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return lines.Err()
}
