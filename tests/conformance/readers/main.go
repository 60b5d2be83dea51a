// Command readers compares what every reader makes of the output with what the program says that it wrote.
//
//	readers [OPTION...] [BINARY [ROOT [WORKSPACES [SEED]]]]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// scratchFolder is removed at the end of the run.
var scratchFolder string

func cannot(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "readers: "+format+"\n", values...)
	if scratchFolder != "" {
		os.RemoveAll(scratchFolder)
	}
	os.Exit(3)
}

func usage() {
	fmt.Fprintln(os.Stderr, `usage: readers [OPTION...] BINARY ROOT [WORKSPACES [SEED]]
       readers [OPTION...] --self-test
       readers [OPTION...] --print REPOSITORY FOLDER
With ROOT -, only the cases and the random workspaces are compared.`)
	flag.PrintDefaults()
	os.Exit(2)
}

// options of the command line.
var (
	casesFolder = flag.String("cases", "", "compare the workspace in each `FOLDER` below this one, too")
	keepFolder  = flag.String("keep", "", "keep workspaces with differences in this `FOLDER`")
	reportFile  = flag.String("report", "", "write each outcome to this `FILE`, a line of JSON each")
	number      = flag.Uint64("number", 0, "make the random workspace of this `NUMBER` alone")
	onlyReaders = flag.String("only", "", "ask these `READERS`, joined by commas")
	jobs        = flag.Int("jobs", min(2, runtime.NumCPU()), "compare so many workspaces at once")
	selfTest    = flag.Bool("self-test", false, "does each reader differ where it has to?")
	printing    = flag.Bool("print", false, "print what each reader makes of a folder of a repository")
	most        = flag.Int("most", 20, "print so many differences")
	tools       = flag.String("tools", "", "the `PATH` of the programs of the readers, without -flux and -argocd")
)

func main() {
	flag.Usage = usage
	flag.Parse()
	if *tools == "" {
		own, err := os.Executable()
		if err != nil {
			cannot("%v", err)
		}
		*tools = own
	}
	for _, name := range []string{"-flux", "-argocd", "-argocd.yaml"} {
		if _, err := os.Stat(*tools + name); err != nil {
			cannot("%v", err)
		}
	}
	runtime.GOMAXPROCS(max(1, *jobs))
	only := map[string]bool{}
	for _, name := range strings.Split(*onlyReaders, ",") {
		if name != "" {
			only[name] = true
		}
	}
	work, err := os.MkdirTemp("", "readers-")
	if err != nil {
		cannot("%v", err)
	}
	scratchFolder = work
	// The readers take their temporary folders from here, too.
	if err := os.Setenv("TMPDIR", work); err != nil {
		cannot("%v", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ended
		os.RemoveAll(work)
		os.Exit(3)
	}()
	status := run(work, only, flag.Args())
	os.RemoveAll(work)
	os.Exit(status)
}

func run(work string, only map[string]bool, arguments []string) int {
	switch {
	case *selfTest:
		return testSelf(work, newWorker(*tools, nil))
	case *printing:
		if len(arguments) != 2 {
			usage()
		}
		return printReadings(newWorker(*tools, only), arguments[0], arguments[1])
	}
	if len(arguments) < 2 || len(arguments) > 4 {
		usage()
	}
	binary, err := filepath.Abs(arguments[0])
	if err != nil {
		cannot("%v", err)
	}
	count, seed := parsed(arguments, 2, 0), parsed(arguments, 3, 1)
	home := filepath.Join(work, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		cannot("%v", err)
	}
	s := &sum{refused: map[string]int{}, readers: map[string]int{}}
	if *reportFile != "" {
		if s.report, err = os.Create(*reportFile); err != nil {
			cannot("%v", err)
		}
		defer s.report.Close()
	}
	h := &harness{binary: program{path: binary, home: home}, work: work, only: only, sum: s}
	var tasks []task
	if arguments[1] != "-" {
		root, err := filepath.Abs(arguments[1])
		if err != nil {
			cannot("%v", err)
		}
		tasks = append(tasks, h.ofRoot(root)...)
	}
	if *casesFolder != "" {
		tasks = append(tasks, h.ofCases(*casesFolder)...)
	}
	if *number > 0 {
		tasks = append(tasks, h.ofNumber(seed, *number))
	}
	h.all(tasks, seed, count)
	return s.end()
}

func parsed(arguments []string, index int, otherwise uint64) uint64 {
	if len(arguments) <= index {
		return otherwise
	}
	value, err := strconv.ParseUint(arguments[index], 10, 64)
	if err != nil {
		usage()
	}
	return value
}

// task compares something with the readers of a worker.
type task func(*worker) outcome

type harness struct {
	binary program
	work   string
	only   map[string]bool
	sum    *sum
}

// all runs the tasks, and then the random workspaces 1 to `count`.
func (h *harness) all(tasks []task, seed, count uint64) {
	queue := make(chan task)
	var ended sync.WaitGroup
	for range *jobs {
		ended.Add(1)
		go func() {
			defer ended.Done()
			worker := newWorker(*tools, h.only)
			defer worker.stop()
			for one := range queue {
				h.sum.add(one(worker))
			}
		}()
	}
	for _, one := range tasks {
		queue <- one
	}
	for index := range count {
		queue <- h.ofNumber(seed, index+1)
	}
	close(queue)
	ended.Wait()
}

// sum is what the run prints at its end.
type sum struct {
	sync.Mutex
	made, compared, folders, objects, inputs int
	refused, readers                         map[string]int
	differing                                int
	failed                                   []outcome
	differ                                   []outcome
	report                                   *os.File
}

func (s *sum) add(one outcome) {
	s.Lock()
	defer s.Unlock()
	s.made++
	if one.Refused != "" {
		s.refused[one.Refused]++
	}
	s.inputs += one.Inputs
	if one.Compared > 0 {
		s.compared++
		s.folders += one.Compared
		s.objects += one.Objects
	}
	if len(one.Failed) > 0 {
		s.failed = append(s.failed, one)
	}
	if len(one.Differences) > 0 {
		s.differing++
		s.differ = append(s.differ, one)
		for _, each := range one.Differences {
			s.readers[each.Reader]++
		}
	}
	if s.report != nil {
		encoder := json.NewEncoder(s.report)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(one); err != nil {
			cannot("%v", err)
		}
	}
}

func (s *sum) end() int {
	order := func(a, b outcome) bool {
		return len(a.Label) < len(b.Label) || len(a.Label) == len(b.Label) && a.Label < b.Label
	}
	sort.Slice(s.failed, func(a, b int) bool { return order(s.failed[a], s.failed[b]) })
	sort.Slice(s.differ, func(a, b int) bool { return order(s.differ[a], s.differ[b]) })
	for index, one := range s.failed {
		if index == *most {
			fmt.Printf("and %d more failures\n", len(s.failed)-index)
			break
		}
		fmt.Printf("failed: %s%s\n", one.Label, wordsOf(one))
		for _, text := range one.Failed {
			fmt.Printf("  %s\n", text)
		}
	}
	for index, one := range s.differ {
		if index == *most {
			fmt.Printf("and %d more with differences\n", len(s.differ)-index)
			break
		}
		fmt.Printf("differs: %s%s\n", one.Label, wordsOf(one))
		for _, each := range one.Differences {
			fmt.Printf("  %s, %s:\n", each.Reader, each.Folder)
			for _, text := range each.Details {
				fmt.Printf("    %s\n", text)
			}
		}
	}
	var refused []string
	total := 0
	for name, count := range s.refused {
		refused = append(refused, fmt.Sprintf("%s %d", name, count))
		total += count
	}
	sort.Strings(refused)
	if len(refused) > 0 {
		fmt.Printf("refused: %s\n", strings.Join(refused, ", "))
	}
	for _, name := range readers {
		if s.readers[name] > 0 {
			fmt.Printf("%s differs for %d folders\n", name, s.readers[name])
		}
	}
	fmt.Printf("readers: %d workspaces, %d refused, %d compared (%d folders, %d objects; %d inputs), %d with differences, %d failures\n",
		s.made, total, s.compared, s.folders, s.objects, s.inputs, s.differing, len(s.failed))
	if s.differing > 0 || len(s.failed) > 0 {
		return 1
	}
	return 0
}

func wordsOf(one outcome) string {
	if len(one.Changed) == 0 {
		return ""
	}
	return "\n  " + strings.Join(one.Changed, "\n  ")
}
