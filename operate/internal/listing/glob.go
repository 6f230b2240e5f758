package listing

import "strings"

// Literal returns the only name that a pattern matches, if there is but one.
func Literal(pattern string) (name string, only bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*' || c == '?' || c == '[':
			return "", false
		case c == '\\' && i+1 < len(pattern):
			i++
			fallthrough
		default:
			b.WriteByte(pattern[i])
		}
	}
	return b.String(), true
}

// Quote returns the pattern that matches only name.
func Quote(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(name)
}

// around is the pattern of everything that contains what pattern matches, for Redis to sort out most of what is not
// wanted. It may match more: "*" where text around the pattern would change what it means.
func around(pattern string) string {
	open, closed := strings.LastIndexByte(pattern, '['), strings.LastIndexByte(pattern, ']')
	if strings.IndexByte(pattern, '\\') >= 0 || open > closed {
		return "*"
	}
	return "*" + pattern + "*"
}

// Match reports whether a pattern of Redis matches a name: * for any bytes, ? for one, [a-c] or [^a-c] for one of some,
// and a backslash before a byte that stands for itself.
func Match(pattern, name string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			rest := strings.TrimLeft(pattern, "*")
			if rest == "" {
				return true
			}
			for i := range len(name) + 1 {
				if Match(rest, name[i:]) {
					return true
				}
			}
			return false
		case '?':
			if name == "" {
				return false
			}
			pattern, name = pattern[1:], name[1:]
		case '[':
			if name == "" {
				return false
			}
			ok, rest := class(pattern[1:], name[0])
			if !ok {
				return false
			}
			pattern, name = rest, name[1:]
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if name == "" || name[0] != pattern[0] {
				return false
			}
			pattern, name = pattern[1:], name[1:]
		}
	}
	return name == ""
}

// class matches one byte against the inside of brackets, and returns what follows them. Brackets that are not closed
// end with the pattern.
func class(pattern string, c byte) (ok bool, rest string) {
	not := strings.HasPrefix(pattern, "^")
	pattern = strings.TrimPrefix(pattern, "^")
	for pattern != "" && pattern[0] != ']' {
		switch {
		case pattern[0] == '\\' && len(pattern) > 1:
			ok = ok || pattern[1] == c
			pattern = pattern[2:]
		case len(pattern) > 2 && pattern[1] == '-':
			low, high := min(pattern[0], pattern[2]), max(pattern[0], pattern[2])
			ok = ok || low <= c && c <= high
			pattern = pattern[3:]
		default:
			ok = ok || pattern[0] == c
			pattern = pattern[1:]
		}
	}
	return ok != not, strings.TrimPrefix(pattern, "]")
}
