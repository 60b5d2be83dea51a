package main

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// yamlOf writes a value as flow YAML with quoted texts, so that each text arrives as it is. Keys that begin with U+0000 are written as
// they stand behind it.
func yamlOf(value any) string {
	var out strings.Builder
	emit(&out, value)
	return out.String()
}

func emit(out *strings.Builder, value any) {
	switch value := value.(type) {
	case bare:
		out.WriteString(string(value))
	case string:
		quote(out, value)
	case int:
		out.WriteString(strconv.Itoa(value))
	case bool:
		out.WriteString(strconv.FormatBool(value))
	case nil:
		out.WriteString("null")
	case []any:
		out.WriteByte('[')
		for index, item := range value {
			if index > 0 {
				out.WriteString(", ")
			}
			emit(out, item)
		}
		out.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		out.WriteByte('{')
		for index, key := range keys {
			if index > 0 {
				out.WriteString(", ")
			}
			if written, is := strings.CutPrefix(key, "\x00"); is {
				out.WriteString(written)
			} else {
				quote(out, key)
			}
			out.WriteString(": ")
			emit(out, value[key])
		}
		out.WriteByte('}')
	default:
		panic(fmt.Sprintf("%T", value))
	}
}

// document is a map with a line for each of its first keys.
func document(value map[string]any) string {
	var out strings.Builder
	keys := make([]string, 0, len(value))
	for key := range value {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if written, is := strings.CutPrefix(key, "\x00"); is {
			out.WriteString(written)
		} else {
			quote(&out, key)
		}
		out.WriteString(": ")
		emit(&out, value[key])
		out.WriteByte('\n')
	}
	return out.String()
}

func quote(out *strings.Builder, text string) {
	out.WriteByte('"')
	for _, character := range text {
		switch {
		case character == '"' || character == '\\':
			out.WriteByte('\\')
			out.WriteRune(character)
		case character >= 0x20 && character < 0x7f:
			out.WriteRune(character)
		case character < 0x100 && character != 0xe9:
			fmt.Fprintf(out, "\\x%02x", character)
		case character == 0xe9:
			out.WriteRune(character)
		case character < 0x10000:
			fmt.Fprintf(out, "\\u%04x", character)
		default:
			fmt.Fprintf(out, "\\U%08x", character)
		}
	}
	out.WriteByte('"')
}
