// Command conform reads a folder of manifests with the readers that stand between a commit and a cluster, and
// compares what they see with what the compiler says it wrote.
//
//	conform FOLDER EXPECTED.jsonl
//
// Each line of EXPECTED.jsonl is {"path": "namespaces/a.yaml", "index": 0, "object": {...}}: path below FOLDER,
// position among the file's documents that are not empty, object as JSON. Where index is left out, the object is
// found by its identity.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// shownDifferences bounds what is printed for one reader.
const shownDifferences = 20

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: conform FOLDER EXPECTED.jsonl")
		os.Exit(2)
	}
	files, err := readFolder(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(3)
	}
	expected, err := readExpected(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(3)
	}
	different := false
	for _, reader := range []struct {
		name string
		run  func([]file, []record) (string, []string)
	}{
		{"sigs.k8s.io/yaml", withKubectl},
		{"kyaml", withKyaml},
		{"kustomize build", withKustomize},
	} {
		summary, differences := reader.run(files, expected)
		verdict := "equal"
		if len(differences) > 0 {
			different = true
			verdict = fmt.Sprintf("%d differences", len(differences))
		}
		fmt.Printf("%-18s %s: %s\n", reader.name, summary, verdict)
		for number, difference := range differences {
			if number == shownDifferences {
				fmt.Printf("  ... and %d more\n", len(differences)-number)
				break
			}
			fmt.Println("  " + difference)
		}
	}
	if different {
		os.Exit(1)
	}
}

// file is one manifest file, with its path below the folder.
type file struct {
	path string
	text string
}

func readFolder(folder string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		files = append(files, file{path: filepath.ToSlash(relative), text: string(text)})
		return err
	})
	sort.Slice(files, func(i, j int) bool { return files[i].path < files[j].path })
	return files, err
}
