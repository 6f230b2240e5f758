package zkstore

import (
	"math"
	"strconv"
	"strings"
)

// mark stands in the name of each of our nodes before its number, as in that of Curator's and of go-zookeeper's.
const mark = "-lock-"

// digits is how long a number is at least, with its sign.
const digits = 10

// numberOf is the number with which the name of a contender's node ends. Servers append it: it counts what was made
// below the parent, in ten characters, and may be negative after 2^31 of them: see spent.
//
// A minus sign before the digits belongs to the number where it cannot be the end of what stands before: behind another
// one, or behind an underscore, with which kazoo's names end.
func numberOf(node string) (number int32, ok bool) {
	end := strings.TrimRight(node, "0123456789")
	number10 := node[len(end):]
	negative := strings.HasSuffix(end, "--") || strings.HasSuffix(end, "_-")
	switch {
	case negative && (len(number10) == digits-1 || len(number10) == digits):
		number10 = "-" + number10
	case len(number10) > digits:
		number10 = number10[len(number10)-digits:]
	case len(number10) < digits:
		return 0, false
	}
	n, err := strconv.ParseInt(number10, 10, 64)
	return int32(n), err == nil
}

// before reports that the first of two contenders came before the second. Numbers that are spent come last.
func before(a, b int32) bool { return uint32(a) < uint32(b) }

// spent reports that a number says nothing of who came first. Servers keep no count above 2^31-1, because they take the
// next one, which is negative, for older: from then on they give that number to all, and negative ones to those whose
// requests come while others are under way. Seen with 3.8.0 and 3.9.5; the documentation says that the count goes on.
func spent(number int32) bool { return number < 0 || number == math.MaxInt32 }

// queue is what stands below a lock's node.
type queue struct {
	first  string // "": there is nobody
	before string // the last before a given node; "": none
	found  bool   // the given node is there
	len    int    // contenders
}

// queueOf finds the contenders among the names of children, and where one of them stands; "" is none of them.
func queueOf(names []string, own string) (q queue) {
	mine, _ := numberOf(own)
	var first, last int32
	for _, name := range names {
		n, ok := numberOf(name)
		if !ok {
			continue
		}
		q.len++
		if q.first == "" || before(n, first) {
			q.first, first = name, n
		}
		switch {
		case name == own:
			q.found = true
		case own != "" && before(n, mine) && (q.before == "" || before(last, n)):
			q.before, last = name, n
		}
	}
	return q
}

// idOf is the id whose node has a name; of another program's node it is the name. A node's name is the id, the session,
// the mark, and the number.
func idOf(node string) (id string, ours bool) {
	head, _, marked := cutLast(node, mark)
	id, session, dotted := cutLast(head, ".")
	if !marked || !dotted || id == "" {
		return node, false
	}
	if _, err := strconv.ParseUint(session, 16, 64); err != nil {
		return node, false
	}
	return id, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// prefixOf is the path without the number of a contender's node; "" if it is none.
func prefixOf(path string) string {
	head, _, marked := cutLast(path, mark)
	if !marked {
		return ""
	}
	return head + mark
}
