package expressions

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"sort"
	"strings"
)

// Source makes policies with one expression that is changed.
type Source struct {
	*rand.Rand
	corpus []map[string]any
	// words are the expressions of the corpus, as something to put in.
	words []string
}

// NewSource makes a source that depends on a seed alone.
func NewSource(seed uint64, corpus []map[string]any) *Source {
	source := &Source{Rand: rand.New(rand.NewPCG(seed, 18)), corpus: corpus}
	for _, policy := range corpus {
		for _, place := range places(policy["spec"]) {
			source.words = append(source.words, place.text())
		}
	}
	return source
}

// Next makes a policy.
func (s *Source) Next() map[string]any {
	for {
		policy := clone(s.corpus[s.IntN(len(s.corpus))])
		found := places(policy["spec"])
		if len(found) == 0 {
			continue
		}
		place := found[s.IntN(len(found))]
		text := place.text()
		for range 1 + s.IntN(3)/2 {
			text = s.changed(text)
		}
		place.holder[place.key] = text
		if s.IntN(12) == 0 {
			delete(policy["spec"].(map[string]any), "paramKind")
		}
		return policy
	}
}

type place struct {
	holder map[string]any
	key    string
}

func (p place) text() string {
	text, _ := p.holder[p.key].(string)
	return text
}

// places are where expressions stand.
func places(value any) []place {
	var found []place
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			_, isText := value[key].(string)
			if isText && (key == "expression" || strings.HasSuffix(key, "Expression")) {
				found = append(found, place{value, key})
			}
			found = append(found, places(value[key])...)
		}
	case []any:
		for _, item := range value {
			found = append(found, places(item)...)
		}
	}
	return found
}

var tokens = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z_0-9]*|[0-9]+(?:\.[0-9]+)?u?|&&|\|\||[=!<>]=|\s+|.`)

var (
	names = []string{
		"object", "oldObject", "request", "namespaceObject", "params", "variables", "authorizer", "nowhere", "metadata", "name", "x", "c",
		"labels", "userInfo", "groups", "size", "startsWith", "matches", "includes", "first", "sort", "Object", "JSONPatch", "string", "int",
		"contains", "value", "orValue", "hasValue", "map", "all", "exists", "filter", "has", "dyn", "type", "list", "text", "options", "spec",
	}
	literals = []string{"1", "1u", "1.5", "'a'", "\"b\"", "b'c'", "true", "null", "[]", "{}", "[1]", "['a', 'b']", "{'a': 1}", "int", "[1, 'a']"}
	symbols  = []string{"+", "-", "*", "/", "%", "<", "<=", "==", "!=", "&&", "||", "in", "?", ":", ".", ",", "(", ")", "[", "]", "!", ".?", "[?"}
	wraps    = []string{
		"size(_)", "string(_)", "int(_)", "dyn(_)", "type(_)", "[_]", "{'k': _}", "!(_)", "-(_)", "(_).size()", "(_).value()", "optional.of(_)",
		"(_) == 1", "(_) + 'a'", "(_) ? 1 : 'a'", "true ? (_) : null", "[_].map(x, x)", "(_).map(x, x)", "(_).all(x, x)", "(_)[0]", "(_)['a']",
		"(_).a", "has((_).a)", "(_).?a", "(_).orValue(1)", "(_) in [1, 2]", "1 in (_)", "(_) && true", "(_).startsWith('a')", "quantity(_)",
		"[1].exists(x, (_))", "(_).exists_one(x, x == 1)", "[_, 1]", "[_, 'a']", "{(_): 1}", "(_).filter(x, true)", "cidr(_)", "url(_)",
		"(_).transformList(i, v, v)", "(_).transformMap(k, v, v)", "(_).sortBy(x, x)", "(_).optMap(x, x)", "[(_)].first()", "(_).min()",
		"sets.contains((_), [1])", "bool(_)", "(_).matches('[')", "duration(_)", "timestamp(_)", "'%s %d'.format([_, 1])", "(_).join(',')",
		"[?(_)]", "{?'a': (_)}", "(_).or(optional.none())", "(_).flatten()", "(_).includes(1)", "(_).indexOf('a')", "string((_) == null)",
	}
)

func (s *Source) changed(text string) string {
	parts := tokens.FindAllString(text, -1)
	if len(parts) == 0 {
		return "true"
	}
	at := s.IntN(len(parts))
	switch s.IntN(12) {
	case 0:
		parts = append(parts[:at], parts[at+1:]...)
	case 1:
		other := s.IntN(len(parts))
		parts[at], parts[other] = parts[other], parts[at]
	case 2:
		parts = append(parts[:at], append([]string{parts[at], " "}, parts[at:]...)...)
	case 3, 4:
		s.replace(parts, isName, names)
	case 5, 6:
		s.replace(parts, isLiteral, literals)
	case 7:
		s.replace(parts, isSymbol, symbols)
	case 8:
		return text + s.one([]string{" + ", " == ", " && ", " || ", " in ", " < ", " - "}) + s.piece()
	case 9:
		s.replace(parts, isName, []string{"(" + s.piece() + ")"})
	default:
		return strings.ReplaceAll(s.one(wraps), "_", text)
	}
	return strings.Join(parts, "")
}

func (s *Source) replace(parts []string, fits func(string) bool, by []string) {
	var found []int
	for index, part := range parts {
		if fits(part) {
			found = append(found, index)
		}
	}
	if len(found) > 0 {
		parts[found[s.IntN(len(found))]] = s.one(by)
	}
}

func (s *Source) piece() string {
	if s.IntN(2) == 0 {
		return s.one(literals)
	}
	return s.one(s.words)
}

func (s *Source) one(of []string) string { return of[s.IntN(len(of))] }

func isName(part string) bool {
	return part[0] == '_' || part[0] >= 'A' && part[0] <= 'z' && part[0] != '[' && part[0] != ']'
}
func isLiteral(part string) bool {
	return part[0] == '\'' || part[0] == '"' || part[0] >= '0' && part[0] <= '9'
}
func isSymbol(part string) bool {
	return !isName(part) && !isLiteral(part) && strings.TrimSpace(part) != ""
}

func sortedKeys(of map[string]any) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func clone(policy map[string]any) map[string]any {
	text, err := json.Marshal(policy)
	if err != nil {
		panic(err)
	}
	made := map[string]any{}
	if err := json.Unmarshal(text, &made); err != nil {
		panic(err)
	}
	return made
}
