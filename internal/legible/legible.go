// Package legible makes text of what may be any bytes, for readers outside the process: a collector of spans drops the
// batch in which one attribute is not UTF-8, and an encoder of JSON makes the same character of every byte that it does
// not know, so that two names look alike.
package legible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is the name of a lock, or another text that a tool must find again. A text that is not UTF-8, has control
// characters, or begins with a quotation mark is quoted as in Go, so Parse can undo it; all others are as they are.
func Name(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, `"`) && !strings.ContainsFunc(name, unicode.IsControl) {
		return name
	}
	return strconv.Quote(name)
}

// Parse is the name that a text of Name stands for. It takes a name that was quoted without need, too.
func Parse(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	name, err := strconv.Unquote(text)
	if err != nil {
		return "", fmt.Errorf("begins with a quotation mark, so it must be quoted as in Go, as %s", strconv.Quote(text))
	}
	return name, nil
}

// Sentence is a text that nobody has to find again, such as an error. Each byte that is not UTF-8 is written as \xNN.
func Sentence(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var legible strings.Builder
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			_, _ = fmt.Fprintf(&legible, `\x%02x`, text[i])
			continue
		}
		_, _ = legible.WriteRune(r)
	}
	return legible.String()
}
