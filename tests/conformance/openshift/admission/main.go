// Command admission compares which constraints accept a pod, and in which order they are asked, with the admission of
// OpenShift itself.
//
//	admission compare --binary PATH [--seed N] [--pods N]
//	admission self-test [--pods N]
//
// Each pod is held against each of some random constraints, in a namespace with or without the annotations that they
// need. self-test proves that mistakes are noticed. Ends with 0 when nothing differs, 1 when something does, 2 on wrong
// usage, 3 when the harness itself cannot run.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/ask"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

func main() {
	// The admission logs what it thinks of odd pods, and there are many.
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "admission:", err)
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return usage, fmt.Errorf("usage: admission compare|self-test [OPTIONS]")
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	seed := flags.Uint64("seed", 1, "what the pods depend on")
	pods := flags.Int("pods", 4000, "how many pods to compare")
	if err := flags.Parse(arguments[1:]); err != nil {
		return usage, err
	}
	switch arguments[0] {
	case "self-test":
		return selfTest(*pods)
	case "compare":
		if *binary == "" {
			return usage, fmt.Errorf("compare needs --binary")
		}
		session, err := ask.Start(*binary, "ask")
		if err != nil {
			return cannot, err
		}
		report, err := compare(program(session), *seed, *pods)
		if err != nil {
			return cannot, err
		}
		report.print(os.Stdout)
		if len(report.differences) > 0 {
			return different, nil
		}
		return equal, session.Close()
	}
	return usage, fmt.Errorf("there is no command %s", arguments[0])
}

// verdict is what becomes of a pod before some constraints.
type verdict string

const (
	accepted verdict = "accepted"
	refused  verdict = "refused"
	broken   verdict = "broken"
)

// speaker tells what becomes of a pod before constraints.
type speaker func(scc *securityv1.SecurityContextConstraints, pod *corev1.Pod, annotations map[string]string) (verdict, error)

type report struct {
	pods        int
	verdicts    map[verdict]int
	differences map[string]int
	example     string
}

// compare holds so many pods against random constraints.
func compare(ours speaker, seed uint64, pods int) (*report, error) {
	make := maker{rand.New(rand.NewPCG(seed, 2))}
	report := &report{verdicts: map[verdict]int{}, differences: map[string]int{}}
	for ; report.pods < pods; report.pods++ {
		pod, scc, annotations := make.pod(), make.constraints(), make.annotations()
		theirs, problems := real(scc, pod, annotations)
		said, err := ours(scc, pod, annotations)
		if err != nil {
			return nil, err
		}
		report.verdicts[theirs]++
		if said == theirs {
			continue
		}
		report.differences[fmt.Sprintf("bailiwick says %s, OpenShift %s", said, theirs)]++
		if report.example == "" {
			report.example = explain(scc, pod, annotations) + problems
		}
	}
	return report, nil
}

func explain(values ...any) string {
	text := ""
	for _, value := range values {
		line, err := json.Marshal(value)
		if err != nil {
			return err.Error()
		}
		text += string(line) + "\n"
	}
	return text
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%d pods: %v\n", r.pods, r.verdicts)
	for kind, count := range r.differences {
		fmt.Fprintf(out, "%6d times %s\n", count, kind)
	}
	if r.example != "" {
		fmt.Fprintf(out, "\n%s\n", r.example)
		return
	}
	fmt.Fprintln(out, "nothing differs")
}

// program answers with a program that has the verb `ask`.
func program(session *ask.Session) speaker {
	return func(scc *securityv1.SecurityContextConstraints, pod *corev1.Pod, annotations map[string]string) (verdict, error) {
		body := map[string]any{"sccs": []any{scc}, "pod": pod, "annotations": annotations, "stored": true}
		var answer struct {
			Error  string
			SCC    *string
			Broken *string
		}
		if err := session.Ask("scc-admit", body, &answer); err != nil {
			return "", err
		}
		switch {
		case answer.Error != "":
			return "", fmt.Errorf("%s%s", explain(body), answer.Error)
		case answer.Broken != nil:
			return broken, nil
		case answer.SCC != nil:
			return accepted, nil
		}
		return refused, nil
	}
}
