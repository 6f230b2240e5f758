// Package textlog is a log that a test reads while others write to it.
package textlog

import (
	"log/slog"
	"strings"
	"sync"
)

// Log keeps what was written to it. The zero Log is ready, and safe for concurrent use.
type Log struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

// Write implements [io.Writer].
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String is all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count is how often it has a text.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }

// Logger returns a logger that writes a line of text for each record.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
