// Package lockclass turns names of locks into classes, of which there are few, so that metrics can have them as a
// label. A metric with the bare name as a label has a series for each order, user and file, and takes the memory of
// whatever collects it.
//
//	order:1001                                  order:*
//	user:0b6c7fc8-9f0e-4d3a-8a51-6f7d1c1a2b3c   user:*
//	blob/9f86d081884c7d65                       blob/*
//	report:2026-11-23:v2                        report:*-*-*:v*
//
// The modules prometheus and otel use it, and so can a program's own Observer.
package lockclass

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortestHex is how long a word without any digit has to be for it to be taken as hexadecimal. English has facade and
// decade, but hardly a longer word of a to f alone.
const shortestHex = 8

// Of returns the class of a name. Digits, UUIDs, hexadecimal numbers and words with several numbers in them, as ULIDs
// have, become "*". What then repeats in a list with commas, as a multilock's name is one, is told once. The class is
// valid UTF-8.
func Of(name string) string {
	var class strings.Builder
	class.Grow(len(name))
	for rest := name; rest != ""; {
		word := leadingWord(rest)
		switch {
		case leadsWithUUID(rest, word):
			class.WriteByte('*')
			word = rest[:uuidLength]
		case word == "":
			_, size := utf8.DecodeRuneInString(rest)
			word = rest[:size]
			class.WriteString(word)
		default:
			class.WriteString(collapse(word))
		}
		rest = rest[len(word):]
	}
	return withoutRepeats(strings.ToValidUTF8(class.String(), "*"))
}

// leadingWord returns what the text begins with up to the first sign that is neither alphabetic nor a digit.
func leadingWord(text string) string {
	for at, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return text[:at]
		}
	}
	return text
}

const uuidLength = len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")

// leadsWithUUID says whether the text, whose first word is known, begins with a UUID that is a word of its own.
func leadsWithUUID(text, word string) bool {
	if len(word) != 8 || len(text) < uuidLength {
		return false
	}
	for at := range uuidLength {
		isDash := text[at] == '-'
		if wantDash := at == 8 || at == 13 || at == 18 || at == 23; isDash != wantDash {
			return false
		}
		if !isDash && !isHex(rune(text[at])) {
			return false
		}
	}
	return leadingWord(text[uuidLength:]) == ""
}

// collapse returns a word without what tells one lock of a class from the next.
func collapse(word string) string {
	var first, last, runs int // the numbers in the word: where the first is, and how many there are
	onlyHex, inNumber := true, false
	for at, r := range word {
		number := unicode.IsNumber(r)
		if number && !inNumber {
			first, runs = at, runs+1
		}
		if number {
			last = at + utf8.RuneLen(r)
		}
		inNumber = number
		onlyHex = onlyHex && isHex(r)
	}
	switch {
	case runs == 0 && !(onlyHex && len(word) >= shortestHex):
		return word
	case runs == 1 && !onlyHex:
		return word[:first] + "*" + word[last:]
	}
	return "*"
}

func isHex(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
}

// withoutRepeats drops from a list with commas what equals its predecessor: the number of locks is no class.
func withoutRepeats(list string) string {
	if !strings.Contains(list, ",") {
		return list
	}
	var kept []string
	for part := range strings.SplitSeq(list, ",") {
		if len(kept) == 0 || kept[len(kept)-1] != part {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}
