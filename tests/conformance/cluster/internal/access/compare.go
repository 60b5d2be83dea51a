package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"k8s.io/client-go/rest"

	"bailiwick.dev/conformance/internal/cluster"
)

const (
	// workers ask at the same time.
	workers = 4
	// shown differences are enough to see what is wrong.
	shown = 10
)

// Options are the options of a comparison.
type Options struct {
	Server *cluster.Cluster
	Binary string
	// Folder has the objects that were applied, and Dump the objects of RBAC that the server has.
	Folder, Dump string
	Version      string
	Seed         uint64
	Count        int
	Out          io.Writer
}

// answers are the answers to a question: of the server to its review and to the request itself, and of the program.
type answers struct {
	review, request                     bool
	folderReview, folderRequest, dumped bool
}

// differs returns whether the program is wrong.
func (a answers) differs() bool {
	return a.review != a.folderReview || a.request != a.folderRequest || a.review != a.dumped
}

// Compare asks the server and the program the same questions. The error is cluster.ErrDiffers if an answer differs.
func Compare(ctx context.Context, options Options) error {
	objects, err := cluster.ReadPath(options.Folder)
	if err != nil {
		return err
	}
	served, err := Served(options.Server.Kube.Discovery())
	if err != nil {
		return err
	}
	accounts := AccountsOf(objects)
	configs, err := Clients(ctx, options.Server, accounts)
	if err != nil {
		return err
	}
	questions := NewGenerator(options.Seed, objects, accounts, served).Questions(options.Count)
	asked, err := askAll(ctx, options, configs, questions)
	if err != nil {
		return err
	}
	differences := differing(questions, asked)
	fmt.Fprintf(options.Out, "%s\n", tally(len(accounts), asked, len(differences)))
	for _, difference := range differences[:min(shown, len(differences))] {
		fmt.Fprintln(options.Out, "  "+difference)
	}
	if len(differences) > 0 {
		return cluster.ErrDiffers
	}
	return lie(options.Out, questions, asked)
}

// tally returns a line with the number of answers.
func tally(accounts int, asked []answers, differences int) string {
	var reviews, requests int
	for _, one := range asked {
		if one.review {
			reviews++
		}
		if one.request {
			requests++
		}
	}
	return fmt.Sprintf("%d questions with the tokens of %d ServiceAccounts: %d reviews and %d requests allowed; %d differ from can-i",
		len(asked), accounts, reviews, requests, differences)
}

// lie changes each of the five answers to a question, which has to be a difference.
func lie(out io.Writer, questions []Question, asked []answers) error {
	for _, change := range []func(*answers){
		func(a *answers) { a.review = !a.review },
		func(a *answers) { a.request = !a.request },
		func(a *answers) { a.folderReview = !a.folderReview },
		func(a *answers) { a.folderRequest = !a.folderRequest },
		func(a *answers) { a.dumped = !a.dumped },
	} {
		changed := append([]answers(nil), asked...)
		change(&changed[len(changed)/2])
		if len(differing(questions, changed)) != 1 {
			fmt.Fprintln(out, "self-test: a changed answer is not noticed")
			return cluster.ErrDiffers
		}
	}
	fmt.Fprintln(out, "self-test: five changed answers are noticed")
	return nil
}

func differing(questions []Question, asked []answers) []string {
	var differences []string
	for i, one := range asked {
		if one.differs() {
			differences = append(differences, fmt.Sprintf("%s: review %t, request %t; can-i of the folder %t, of the request %t, of the dump %t",
				questions[i], one.review, one.request, one.folderReview, one.folderRequest, one.dumped))
		}
	}
	return differences
}

func askAll(ctx context.Context, options Options, configs map[Account]*rest.Config, questions []Question) ([]answers, error) {
	callers := map[Account]*Caller{}
	for account, config := range configs {
		caller, err := NewCaller(account, config)
		if err != nil {
			return nil, err
		}
		callers[account] = caller
	}
	folder := Program{options.Binary, []string{"--from", options.Folder, "--kubernetes-version", options.Version}}
	dump := Program{options.Binary, []string{"--from", options.Dump, "--kubernetes-version", options.Version, "--baseline", "none", "--complete"}}
	asked := make([]answers, len(questions))
	failures := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(questions) && failures[worker] == nil; i += workers {
				asked[i], failures[worker] = askOne(ctx, callers[questions[i].Account], folder, dump, questions[i])
			}
		})
	}
	group.Wait()
	return asked, errors.Join(failures...)
}

func askOne(ctx context.Context, caller *Caller, folder, dump Program, question Question) (asked answers, err error) {
	if asked.review, err = caller.Review(ctx, question); err != nil {
		return asked, err
	}
	if asked.request, err = caller.Request(ctx, question); err != nil {
		return asked, err
	}
	if asked.folderReview, err = folder.Review(question); err != nil {
		return asked, err
	}
	if asked.folderRequest, err = folder.Request(question); err != nil {
		return asked, err
	}
	asked.dumped, err = dump.Review(question)
	return asked, err
}
