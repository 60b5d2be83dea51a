// Package policies makes random policies and requests. What is made depends on a seed and a number alone.
package policies

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kind is the type of an expression, as far as making one needs it.
type kind int

const (
	truth kind = iota
	number
	text
	list
	dictionary
	anything
)

// variable is a name that an expression may use.
type variable struct {
	name string
	kind kind
}

// maker writes expressions.
type maker struct {
	*rand.Rand
	known []variable
	// names counts what macros bind.
	names int
	// hasNamespace is false where there is no namespace.
	hasNamespace bool
}

func (m *maker) one(choices ...string) string { return choices[m.IntN(len(choices))] }

func (m *maker) make(kind kind, depth int) string {
	if m.IntN(5) == 0 {
		if name := m.bound(kind); name != "" {
			return name
		}
	}
	switch kind {
	case truth:
		return m.truth(depth)
	case number:
		return m.number(depth)
	case text:
		return m.text(depth)
	case list:
		return m.list(depth)
	case dictionary:
		return m.dictionary(depth)
	default:
		return m.anything(depth)
	}
}

// bound is a name of a kind, if there is one.
func (m *maker) bound(kind kind) string {
	var fitting []string
	for _, variable := range m.known {
		if variable.kind == kind {
			fitting = append(fitting, variable.name)
		}
	}
	if len(fitting) == 0 {
		return ""
	}
	return m.one(fitting...)
}

// with makes an expression in which a name is bound; `%s` stands for the name, `%e` for what is made.
func (m *maker) with(pattern string, of kind, body kind, depth int) string {
	m.names++
	name := fmt.Sprintf("x%d", m.names)
	m.known = append(m.known, variable{name, of})
	made := m.make(body, depth-1)
	m.known = m.known[:len(m.known)-1]
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "%s", name), "%e", made)
}

func (m *maker) truth(depth int) string {
	if depth <= 0 {
		return m.one("true", "false", "has("+m.path(true)+")", m.path(true)+" == "+m.literal(), "request.operation == 'CREATE'",
			"oldObject == null", m.path(false)+".orValue(true)", "request.dryRun", "object.flag")
	}
	next := depth - 1
	if m.IntN(1000) == 0 {
		return m.costly(next)
	}
	switch m.IntN(20) {
	case 0, 1:
		return "(" + m.make(truth, next) + " && " + m.make(truth, next) + ")"
	case 2, 3:
		return "(" + m.make(truth, next) + " || " + m.make(truth, next) + ")"
	case 4:
		return "!(" + m.make(truth, next) + ")"
	case 5:
		return "(" + m.make(truth, next) + " ? " + m.make(truth, next) + " : " + m.make(truth, next) + ")"
	case 6:
		return m.make(number, next) + m.one(" < ", " <= ", " > ", " >= ", " == ", " != ") + m.make(number, next)
	case 7:
		return m.make(text, next) + m.one(" < ", " >= ", " == ", " != ") + m.make(text, next)
	case 8:
		return m.path(true) + m.one(" < ", " == ", " != ", " >= ") + m.make(anything, next)
	case 9:
		return m.make(anything, next) + m.one(" == ", " != ") + m.path(true)
	case 10:
		return "(" + m.make(anything, next) + " in " + m.one(m.path(true), "dyn("+m.make(list, next)+")", "dyn("+m.make(dictionary, next)+")") + ")"
	case 11, 12:
		return m.with("dyn("+m.make(list, next)+")."+m.one("all", "exists", "exists_one")+"(%s, %e)", anything, truth, depth)
	case 13:
		return m.with(m.path(true)+"."+m.one("all", "exists")+"(%s, %e)", anything, truth, depth)
	case 14:
		return m.make(text, next) + "." + m.one("startsWith", "endsWith", "contains") + "(" + m.make(text, 0) + ")"
	case 15:
		return m.make(text, next) + ".matches('" + m.pattern() + "')"
	case 16:
		return m.one("sets.contains", "sets.intersects", "sets.equivalent") + "(dyn(" + m.make(list, next) + "), dyn(" + m.make(list, 0) + "))"
	case 17:
		return m.path(false) + m.one(".hasValue()", ".or(optional.of(dyn("+m.make(anything, 0)+"))) == "+m.path(false))
	case 18:
		return m.with("dyn("+m.make(dictionary, next)+")."+m.one("all(%s, %e)", "exists(%s, %e)", "all(%s, v%s, v%s != 7 || %e)", "exists(%s, v%s, v%s == 1 || %e)"), anything, truth, depth)
	default:
		return "type(" + m.make(anything, next) + ") == " + m.one("int", "string", "bool", "list", "map", "double", "type(null)", "type("+m.path(true)+")")
	}
}

// costly is within the limit of what an expression may cost, or beyond it.
func (m *maker) costly(depth int) string {
	size := fmt.Sprintf("lists.range(%d)", 20+m.IntN(330))
	body := m.one("true", "a + b >= 0", "string(a) + 'bc' != 'a'", "[a, b].size() == 2", "'abcabcabc'.matches('c+$')", "dyn("+m.make(anything, depth)+") != a")
	return m.one(size+".all(a, "+size+".all(b, "+body+"))", size+".map(a, a).all(a, "+size+".filter(b, b > a).all(b, "+body+"))",
		"("+size+".all(a, "+size+".exists_one(b, a == b)) || "+m.make(truth, depth)+")")
}

func (m *maker) number(depth int) string {
	if depth <= 0 {
		return m.one("0", "1", "-1", "7", "3", "9223372036854775807", "size(request.userInfo.username)", "int("+m.path(true)+")",
			"int("+m.path(false)+".orValue(3))")
	}
	next := depth - 1
	switch m.IntN(9) {
	case 0, 1:
		return "(" + m.make(number, next) + m.one(" + ", " - ", " * ", " / ", " % ") + m.make(number, next) + ")"
	case 2:
		return "size(" + m.make(m.some(text, list, dictionary), next) + ")"
	case 3:
		return "(" + m.make(truth, next) + " ? " + m.make(number, next) + " : " + m.make(number, next) + ")"
	case 4:
		return m.make(text, next) + m.one(".indexOf(", ".lastIndexOf(") + m.make(text, 0) + ")"
	case 5:
		return "-(" + m.make(number, next) + ")"
	case 6:
		return "int(" + m.one("1.5", "-2.9", "7u", "'12'", "'x'", "'+3'", "1e30", m.make(text, next)) + ")"
	case 7:
		return m.one("[3, 1, 2]", "[1]", m.one("lists.range(3)", "[5, 5]")) + m.one(".min()", ".max()", ".sum()", ".size()", ".indexOf(2)")
	default:
		return m.path(false) + ".optMap(y, 1).orValue(" + m.make(number, next) + ")"
	}
}

func (m *maker) text(depth int) string {
	if depth <= 0 {
		return m.one("''", "'a'", "'b'", "'abc'", "'a-b-c'", "'äöü'", "request.userInfo.username", "request.name", "request.namespace",
			"request.resource.resource", "request.kind.kind", "request.?subResource.orValue('none')", "request.userInfo.extra['k'][0]",
			"request.userInfo.?extra[?'k'][?0].orValue('')", "request.userInfo.extra[?'k'][0].orValue('')", m.path(false)+".orValue('d')", "string("+m.path(true)+")", m.namespace())
	}
	next := depth - 1
	switch m.IntN(12) {
	case 0, 1:
		return "(" + m.make(text, next) + " + " + m.make(text, next) + ")"
	case 2:
		return m.make(text, next) + ".substring(" + m.make(number, 0) + m.one("", ", 2") + ")"
	case 3:
		return m.make(text, next) + m.one(".lowerAscii()", ".upperAscii()", ".trim()", ".charAt(1)", ".charAt(9)")
	case 4:
		return m.make(text, next) + ".replace(" + m.make(text, 0) + ", " + m.make(text, 0) + m.one("", ", 1", ", 0", ", -1") + ")"
	case 5:
		return "string(" + m.one(m.make(number, next), m.make(truth, next), "1.5", "2u", "b'abc'") + ")"
	case 6:
		return m.make(text, next) + ".split(" + m.one("'-'", "''", "'a'") + m.one("", ", 2", ", 0", ", -1", ", 1") + ").join(" + m.one("", "'/'", m.make(text, 0)) + ")"
	case 7:
		return "(" + m.make(truth, next) + " ? " + m.make(text, next) + " : " + m.make(text, next) + ")"
	case 8:
		return m.make(text, next) + ".find('" + m.pattern() + "')"
	case 9:
		return m.make(text, next) + ".findAll('" + m.pattern() + "'" + m.one("", ", 1") + ").join('|')"
	case 10:
		return "[" + m.make(text, next) + ", " + m.make(text, 0) + "][" + m.one("0", "1", "2", m.make(number, 0)) + "]"
	default:
		return "{'a': " + m.make(text, next) + "}" + m.one(".a", "['a']", "['b']", "[?'a'].orValue('')", ".?b.orValue('x')")
	}
}

func (m *maker) list(depth int) string {
	if depth <= 0 {
		return m.one("[]", "[1, 2, 3]", "['a', 'b']", "[true]", "[dyn(1), dyn('a'), dyn(null)]", "request.userInfo.groups", "request.userInfo.?groups.orValue([])", "[[1], [2, 3]]")
	}
	next := depth - 1
	switch m.IntN(9) {
	case 0:
		return "[dyn(" + m.make(anything, next) + "), dyn(" + m.make(anything, next) + ")]"
	case 1:
		return "(dyn(" + m.make(list, next) + ") + dyn(" + m.make(list, next) + "))"
	case 2, 3:
		return m.with("dyn("+m.make(list, next)+").filter(%s, %e)", anything, truth, depth)
	case 4:
		return m.with("dyn("+m.make(list, next)+").map(%s, dyn(%e))", anything, anything, depth)
	case 5:
		return "[?" + m.path(false) + ", ?" + m.path(false) + "]"
	case 6:
		return m.one("[3, 1, 2].sort()", "[1, 1, 2].distinct()", "[1, 2].reverse()", "[[1], [2, 3]].flatten()", "[1, 2, 3].slice(0, 2)", "[1, 2, 3].slice(2, 9)", "['b', 'a'].sort()")
	case 7:
		return m.with("dyn("+m.make(list, next)+").transformList(i%s, %s, i%s != 1, dyn(%e))", anything, anything, depth)
	default:
		return m.make(text, next) + ".split('-')"
	}
}

func (m *maker) dictionary(depth int) string {
	next := depth - 1
	switch m.IntN(5) {
	case 0:
		return "{}"
	case 1:
		return "{'a': dyn(" + m.make(anything, next) + "), 'b': dyn(" + m.make(anything, next) + ")}"
	case 2:
		return "{1: 'a', 2: 'b'}"
	case 3:
		return "{?'a': " + m.path(false) + ", 'b': dyn(1)}"
	default:
		return "{'a': 1, 'b': 2}"
	}
}

func (m *maker) anything(depth int) string {
	if m.IntN(3) == 0 || depth <= 0 {
		return m.one(m.path(true), m.literal(), m.path(true))
	}
	return "dyn(" + m.make(m.some(truth, number, text, list, dictionary), depth-1) + ")"
}

func (m *maker) some(kinds ...kind) kind { return kinds[m.IntN(len(kinds))] }

func (m *maker) literal() string {
	return m.one("1", "0", "0.0", "0.5", "1.0", "7u", "'a'", "''", "true", "null", "[]", "{}", "2", "3", "'v'", "-1", "[1, 2, 3]", "{'k': 'v'}", "b'a'", "1e3")
}

func (m *maker) pattern() string {
	return m.one("a", "^a", "b$", "[a-c]+", "^[0-9]{1,3}$", "(a|b)-", `\\d+`, `[^\\w]`, "a.c", "^$", "ä", `\\.`, "(x)?", "[[:alpha:]]{2}", `\\bc`)
}

func (m *maker) namespace() string {
	if !m.hasNamespace {
		return "'no'"
	}
	return m.one("namespaceObject.metadata.name", "namespaceObject.metadata.?labels[?'k'].orValue('')", "namespaceObject.metadata.annotations['k']",
		"namespaceObject.metadata.labels.k", "string(size(namespaceObject.spec))")
}

// path is a way into an object. Where it is not certain, it is an optional.
func (m *maker) path(certain bool) string {
	if m.IntN(3) == 0 {
		// One that is often there.
		field := m.one("num", "half", "text", "flag", "list", "labels", "none")
		if certain {
			return m.one("object.", "object.spec.") + field
		}
		return m.one("object.?", "object.spec.?", "object.?spec.?") + field
	}
	made := m.one("object", "object", "object", "oldObject", "object.spec", "object.spec", "(request.operation == 'DELETE' ? oldObject : object)")
	if bound := m.bound(anything); bound != "" && m.IntN(3) == 0 {
		made = bound
	}
	if m.names > 0 && certain && m.IntN(4) == 0 {
		if bound := m.bound(anything); bound != "" {
			return bound
		}
	}
	steps := 1 + m.IntN(3)
	for step := range steps {
		optional := !certain && (step == 0 || m.IntN(2) == 0)
		switch m.IntN(6) {
		case 0:
			made += m.one("[", "[?")[:1]
			if optional {
				made += "?"
			}
			made += m.one("'k'", "'a'", "0", "1", "'list'", "1.0", "'metadata'") + "]"
		default:
			made += "."
			if optional {
				made += "?"
			}
			made += m.one("spec", "a", "b", "c", "labels", "list", "num", "half", "text", "flag", "none", "metadata", "name", "k", "deep")
		}
	}
	// The last step of `has` is a field.
	if certain {
		made += "." + m.one("a", "b", "num", "half", "text", "flag", "none", "list", "labels", "k")
	}
	return made
}
