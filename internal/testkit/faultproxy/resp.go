package faultproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxDepth bounds the nesting of replies: a deeper one is corrupt.
const maxDepth = 32

var errMalformed = errors.New("malformed RESP")

// value is one reply, push or message, as received.
type value struct {
	raw   []byte
	kind  byte      // the byte that gives its type, after any attributes
	words [2][]byte // the first two elements, if it is an aggregate of strings
	marks [2]span   // their positions in raw
}

type span struct{ from, to int }

// readValue reads one value, with any attributes before it.
func readValue(r *bufio.Reader) (*value, error) {
	v := &value{}
	if err := v.read(r, 0, 0); err != nil {
		return nil, err
	}
	for i, m := range v.marks {
		v.words[i] = v.raw[m.from:m.to]
	}
	return v, nil
}

func (v *value) read(r *bufio.Reader, depth, index int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: nested too deeply", errMalformed)
	}
	line, err := v.line(r)
	if err != nil {
		return err
	}
	kind := line[0]
	if depth == 0 {
		v.kind = kind
	}
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		v.mark(depth, index, len(v.raw)-len(line), len(v.raw)-2)
		return nil
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-1]))
	if err != nil {
		return fmt.Errorf("%w: %q", errMalformed, line)
	}
	switch kind {
	case '$', '!', '=':
		return v.bulk(r, n, depth, index)
	case '*', '~', '>':
		return v.elements(r, n, depth)
	case '%':
		return v.elements(r, 2*n, depth)
	case '|':
		// Attributes belong to the value that follows.
		if err := v.elements(r, 2*n, depth+1); err != nil {
			return err
		}
		return v.read(r, depth, index)
	}
	return fmt.Errorf("%w: %q", errMalformed, line)
}

// line appends a line to raw and returns it without its final newline.
func (v *value) line(r *bufio.Reader) ([]byte, error) {
	from := len(v.raw)
	for {
		part, err := r.ReadSlice('\n')
		v.raw = append(v.raw, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	line := v.raw[from : len(v.raw)-1]
	if len(line) < 2 || line[len(line)-1] != '\r' {
		return nil, fmt.Errorf("%w: %q", errMalformed, line)
	}
	return line, nil
}

func (v *value) bulk(r *bufio.Reader, n, depth, index int) error {
	if n < 0 { // null
		return nil
	}
	from := len(v.raw)
	// In pieces: a corrupt length must not allocate that much memory.
	for left := n + 2; left > 0; {
		at := len(v.raw)
		v.raw = append(v.raw, make([]byte, min(left, 1<<16))...)
		if _, err := io.ReadFull(r, v.raw[at:]); err != nil {
			return err
		}
		left -= len(v.raw) - at
	}
	v.mark(depth, index, from, from+n)
	return nil
}

func (v *value) elements(r *bufio.Reader, n, depth int) error {
	for i := range max(n, 0) {
		if err := v.read(r, depth+1, i); err != nil {
			return err
		}
	}
	return nil
}

func (v *value) mark(depth, index, from, to int) {
	if depth == 1 && index < len(v.marks) {
		v.marks[index] = span{from, to}
	}
}

// word returns the first element of an aggregate in lower case: the kind of a push.
func (v *value) word() string {
	if v.kind != '>' && v.kind != '*' {
		return ""
	}
	return string(bytes.ToLower(v.words[0]))
}

// readRequest reads one request and returns its bytes and its arguments, which share memory.
func readRequest(r *bufio.Reader) (raw []byte, args [][]byte, err error) {
	v := &value{}
	line, err := v.line(r)
	if err != nil {
		return nil, nil, err
	}
	if line[0] != '*' { // an inline command, as people type it
		return v.raw, bytes.Fields(v.raw), nil
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-1]))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %q", errMalformed, line)
	}
	spans := make([]span, 0, max(n, 0))
	for range n {
		if line, err = v.line(r); err != nil {
			return nil, nil, err
		}
		size, err := strconv.Atoi(string(line[1 : len(line)-1]))
		if err != nil || line[0] != '$' || size < 0 {
			return nil, nil, fmt.Errorf("%w: %q", errMalformed, line)
		}
		if err := v.bulk(r, size, 0, 0); err != nil {
			return nil, nil, err
		}
		spans = append(spans, span{len(v.raw) - size - 2, len(v.raw) - 2})
	}
	// Only now does raw no longer move.
	args = make([][]byte, len(spans))
	for i, s := range spans {
		args[i] = v.raw[s.from:s.to:s.to]
	}
	return v.raw, args, nil
}
