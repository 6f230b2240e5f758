package lockclass

import (
	"strings"
	"sync"
)

// Other is the class of every name whose own class came too late.
const Other = "other"

// DefaultMost is how many classes there are at most, if nothing else is said.
const DefaultMost = 100

// longest is the length of a class, in bytes, from which on it is Other: it is no class but a text.
const longest = 200

// Limit returns a function that calls of and returns at most most classes besides Other: the first ones that it sees.
// What of returns is made valid UTF-8. A nil function stands for Of, and 0 for DefaultMost. The returned function is
// safe for concurrent use if of is.
func Limit(of func(name string) string, most int) func(name string) string {
	if of == nil {
		of = Of
	}
	if most <= 0 {
		most = DefaultMost
	}
	l := &limit{most: most, known: make(map[string]struct{})}
	return func(name string) string { return l.admit(strings.ToValidUTF8(of(name), "*")) }
}

type limit struct {
	most  int
	mu    sync.RWMutex
	known map[string]struct{}
}

// admit returns the class, or Other if there is no room for it.
func (l *limit) admit(class string) string {
	if len(class) > longest {
		return Other
	}
	l.mu.RLock()
	_, known := l.known[class]
	full := len(l.known) >= l.most
	l.mu.RUnlock()
	if known {
		return class
	}
	if full {
		return Other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[class]; known {
		return class
	}
	if len(l.known) >= l.most {
		return Other
	}
	l.known[strings.Clone(class)] = struct{}{} // the class may be a part of a long name
	return class
}
