package manifests

import (
	"os"
	"strings"
)

// Fields has the fields of each type of facts/openapi.txt, of all minors: a field of another minor is a mistake too.
type Fields struct {
	types map[string][]field
	kinds map[string]string
}

type field struct{ name, form string }

// ReadFields reads the table.
func ReadFields(path string) (*Fields, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	table := &Fields{types: map[string][]field{}, kinds: map[string]string{}}
	current := ""
	for _, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			table.kinds[words[1]+" "+words[2]] = words[3]
		case line[0] == ' ':
			table.types[current] = append(table.types[current], field{words[0], words[1]})
		default:
			current = words[0]
		}
	}
	return table, nil
}

// versions lists the apiVersions that some minor has of a kind.
func (table *Fields) versions(kind string) []string {
	var found []string
	for key := range table.kinds {
		if version, ok := strings.CutSuffix(key, " "+kind); ok {
			found = append(found, version)
		}
	}
	sortTexts(found)
	return found
}
