package faultproxy

import (
	"bytes"
	"crypto/fips140"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync/atomic"
)

// Request is one command that a client sent.
type Request struct {
	Args  [][]byte // the command and its arguments; not to be changed
	Conn  int      // the connection's number, in the order of acceptance, from 1
	Index int      // the request's number on its connection, from 1, the client's greeting included

	command string
	sha     string
}

func newRequest(args [][]byte, conn, index int) Request {
	r := Request{
		Args: args, Conn: conn, Index: index, command: strings.ToLower(string(args[0])),
	}
	if len(args) > 1 {
		switch r.command {
		case "eval", "eval_ro":
			var sum [sha1.Size]byte
			fips140.WithoutEnforcement(func() { sum = sha1.Sum(args[1]) }) // it is a name
			r.sha = hex.EncodeToString(sum[:])
		case "evalsha", "evalsha_ro":
			r.sha = string(bytes.ToLower(args[1]))
		}
	}
	return r
}

// Command returns the command's name in lower case.
func (r Request) Command() string { return r.command }

// IsScript reports whether the request runs a script.
func (r Request) IsScript() bool { return r.sha != "" }

// SHA returns the SHA1 of the script that the request runs, whether it contains the script or names it; it is empty
// for other commands.
func (r Request) SHA() string { return r.sha }

// Match reports whether a rule applies to a request. It is called with the proxy's lock held, so it must not call the
// proxy.
type Match = func(Request) bool

// AnyScript matches every run of a script.
func AnyScript(r Request) bool { return r.IsScript() }

// Script matches every run of one script, by EVALSHA and EVAL alike.
func Script(sha string) Match {
	sha = strings.ToLower(sha)
	return func(r Request) bool { return r.sha == sha }
}

// Command matches a command by name, in any case.
func Command(name string) Match {
	name = strings.ToLower(name)
	return func(r Request) bool { return r.command == name }
}

// And matches requests that all of the given functions match.
func And(matches ...Match) Match {
	return func(r Request) bool {
		for _, match := range matches {
			if !match(r) {
				return false
			}
		}
		return true
	}
}

// Nth matches the k-th request, from 1, that match matches. It counts only the requests that it is asked about:
// requests that an earlier rule took do not count, and each use needs a matcher of its own.
func Nth(k int, match Match) Match {
	var seen atomic.Int64
	return func(r Request) bool { return match(r) && seen.Add(1) == int64(k) }
}
