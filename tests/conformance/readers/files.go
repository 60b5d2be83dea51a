package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"bailiwick.dev/conformance/readers/wire"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// copyFolder copies files, folders and links.
func copyFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, text, 0o644)
		}
		return nil
	})
}

// snapshot has a sum of each file below a folder, by its path; a link has its target.
func snapshot(folder string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			found[relative+"/"] = ""
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			found[relative] = "-> " + link
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[relative] = fmt.Sprintf("%x", sha256.Sum256(text))
		}
		return nil
	})
	return found, err
}

// changes lists paths that one snapshot has and the other has not, or has in another form.
func changes(before, after map[string]string) []string {
	var found []string
	for path, sum := range after {
		if was, is := before[path]; !is || was != sum {
			found = append(found, path)
		}
	}
	for path := range before {
		if _, is := after[path]; !is {
			found = append(found, path)
		}
	}
	sort.Strings(found)
	return found
}

// documents reads files as the program writes them: each document is one object, whatever it holds.
func documents(paths []string) ([]wire.Object, error) {
	var made []wire.Object
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			encoded, err := yaml.YAMLToJSONStrict(document)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if string(encoded) == "null" {
				continue
			}
			one, err := wire.FromJSON(encoded)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			made = append(made, one)
		}
	}
	return made, nil
}

// yamlFiles lists the YAML files below a folder.
func yamlFiles(folder string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() && strings.HasSuffix(path, ".yaml") {
			found = append(found, path)
		}
		return nil
	})
	sort.Strings(found)
	return found, err
}

// writeFiles writes files by their paths below a folder. A text that begins with "-> " is a link.
func writeFiles(folder string, files map[string]string) error {
	for path, text := range files {
		target := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		var err error
		if link, is := strings.CutPrefix(text, "-> "); is {
			err = os.Symlink(link, target)
		} else {
			err = os.WriteFile(target, []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func lines(text []byte) []string {
	var found []string
	for _, line := range bytes.Split(text, []byte("\n")) {
		if len(line) > 0 {
			found = append(found, string(line))
		}
	}
	return found
}
