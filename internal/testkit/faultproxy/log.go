package faultproxy

import "bytes"

const maxLog = 1 << 16

// log remembers the latest requests. Its owner guards it.
type log struct {
	requests []Request
	next     int // index of the next one once the log is full
	dropped  int
}

func (l *log) add(request Request) {
	if request.command == "eval" || request.command == "eval_ro" {
		// The script is the bulk of the request, and its SHA1 identifies it as well. All arguments share the
		// request's memory, so the others are copied to free it.
		args := make([][]byte, len(request.Args))
		for i, arg := range request.Args {
			if i != 1 {
				args[i] = bytes.Clone(arg)
			}
		}
		request.Args = args
	}
	if len(l.requests) < maxLog {
		l.requests = append(l.requests, request)
		return
	}
	l.requests[l.next] = request
	l.next = (l.next + 1) % maxLog
	l.dropped++
}

func (l *log) full() bool { return l.dropped > 0 }
