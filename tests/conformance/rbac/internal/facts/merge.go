package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// document is an object with the stretches of minors that have it in this form.
type document struct {
	minors string
	Object
}

const (
	separator = "---\n"
	mark      = "minors: "
)

// kinds is the order of the kinds in the table.
var kinds = []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}

// Merge adds the objects of a minor to the table. The minor has to follow the last one of the table, or be it.
func Merge(table string, minor int, objects []Object) (string, error) {
	start := strings.Index(table, mark)
	if start < 0 {
		return "", fmt.Errorf("the table has no document")
	}
	header, documents := table[:start], []document{}
	for _, text := range strings.Split(table[start:], separator) {
		read, err := parse(text)
		if err != nil {
			return "", err
		}
		documents = append(documents, read)
	}
	last := 0
	for _, each := range documents {
		last = max(last, each.last())
	}
	if minor != last && minor != last+1 {
		return "", fmt.Errorf("1.%d does not follow 1.%d, the last minor of the table", minor, last)
	}
	for _, object := range objects {
		documents = add(documents, object, minor)
	}
	if minor == last {
		if err := same(documents, minor, len(objects)); err != nil {
			return "", err
		}
	}
	header = strings.Replace(header, fmt.Sprintf("to 1.%d,", last), fmt.Sprintf("to 1.%d,", minor), 1)
	texts := []string{}
	for _, each := range documents {
		texts = append(texts, mark+strconv.Quote(each.minors)+"\n"+each.Text)
	}
	return header + strings.Join(texts, separator), nil
}

func parse(text string) (document, error) {
	first, rest, _ := strings.Cut(text, "\n")
	minors, err := strconv.Unquote(strings.TrimPrefix(first, mark))
	if err != nil {
		return document{}, fmt.Errorf("%q does not say which minors have the object", first)
	}
	read := document{minors: minors, Object: Object{Text: rest}}
	within := ""
	for _, line := range strings.Split(rest, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		if !strings.HasPrefix(line, " ") {
			within = strings.TrimSuffix(line, ":")
		}
		switch {
		case key == "kind":
			read.Kind = value
		case within == "metadata" && key == "  name":
			read.Name = strings.Trim(value, `"'`)
		case within == "metadata" && key == "  namespace":
			read.Namespace = value
		}
	}
	return read, nil
}

func (d document) last() int {
	_, text, _ := strings.Cut(d.minors[strings.LastIndexByte(d.minors, ' ')+1:], "-")
	last, _ := strconv.Atoi(text)
	return last
}

func (d document) is(object Object) bool {
	return d.Kind == object.Kind && d.Namespace == object.Namespace && d.Name == object.Name
}

// after tells whether a document stands behind the place of an object.
func (d document) after(object Object) bool {
	if d.Kind != object.Kind {
		return slices.Index(kinds, d.Kind) > slices.Index(kinds, object.Kind)
	}
	if d.Namespace != object.Namespace {
		return d.Namespace > object.Namespace
	}
	return d.Name > object.Name
}

// add puts an object of a minor where its form is, or behind its other forms.
func add(documents []document, object Object, minor int) []document {
	for index := range documents {
		each := &documents[index]
		if !each.is(object) || each.Text != object.Text {
			continue
		}
		switch each.last() {
		case minor:
		case minor - 1:
			each.minors = strings.TrimSuffix(each.minors, fmt.Sprintf("-%d", minor-1)) + fmt.Sprintf("-%d", minor)
		default:
			each.minors += fmt.Sprintf(" %d-%d", minor, minor)
		}
		return documents
	}
	place := slices.IndexFunc(documents, func(each document) bool { return each.after(object) })
	if place < 0 {
		place = len(documents)
	}
	made := document{minors: fmt.Sprintf("%d-%d", minor, minor), Object: object}
	return slices.Insert(documents, place, made)
}

// same refuses a table that has other objects for a minor than there are.
func same(documents []document, minor, count int) error {
	found := 0
	for _, each := range documents {
		if each.last() == minor {
			found++
		}
	}
	if found != count {
		return fmt.Errorf("the table has %d objects of 1.%d, and the code makes %d", found, minor, count)
	}
	return nil
}
