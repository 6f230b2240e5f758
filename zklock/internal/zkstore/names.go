package zkstore

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A lock's name is a path below the root: "/" separates its components. What ZooKeeper refuses in a path is encoded as
// in URLs, "%" among it, and so is the last byte of a component that would look like a contender's node of the lock
// whose name ends before it. An empty component is a "%".
//
// The first component is below the root, which is no lock's, so it may look like anything.

const emptyPart = "%"

// pathOf is the path of the node of a lock's name.
func (s *Store) pathOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = encodePart(part, i == 0)
	}
	if s.root == "/" {
		if parts[0] == "zookeeper" { // which is ZooKeeper's own
			parts[0] = "%7Aookeeper"
		}
		return "/" + strings.Join(parts, "/")
	}
	return s.root + "/" + strings.Join(parts, "/")
}

func encodePart(part string, first bool) string {
	switch part {
	case "":
		return emptyPart
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	var b strings.Builder
	last := len(part)
	if _, looks := numberOf(part); looks && !first {
		last-- // a digit
	}
	for i, r := range part[:last] {
		_, size := utf8.DecodeRuneInString(part[i:])
		if r == '%' || refused(r) || r == utf8.RuneError && size <= 1 {
			encodeBytes(&b, part[i:i+size])
		} else {
			b.WriteString(part[i : i+size])
		}
	}
	encodeBytes(&b, part[last:])
	return b.String()
}

func encodeBytes(b *strings.Builder, bytes string) {
	for i := range len(bytes) {
		fmt.Fprintf(b, "%%%02X", bytes[i])
	}
}

// refused reports that ZooKeeper refuses a path with a character: it takes none that UTF-16 has in two halves, such as
// emoji, nor controls, nor those of private use.
func refused(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// RefusedIn is a character of a path that ZooKeeper refuses, if there is one.
func RefusedIn(path string) (r rune, is bool) {
	for i, r := range path {
		if _, size := utf8.DecodeRuneInString(path[i:]); refused(r) || r == utf8.RuneError && size <= 1 {
			return r, true
		}
	}
	return 0, false
}

// decodePart is the component of a name whose node has that name. It reports false if no name has it.
func decodePart(node string) (part string, ok bool) {
	if node == emptyPart {
		return "", true
	}
	var b strings.Builder
	for {
		before, after, more := strings.Cut(node, "%")
		b.WriteString(before)
		if !more {
			return b.String(), true
		}
		if len(after) < 2 {
			return "", false
		}
		v, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(v))
		node = after[2:]
	}
}
