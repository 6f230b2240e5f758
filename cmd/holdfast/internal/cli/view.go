package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-go/holdfast/internal/legible"
	"github.com/holdfast-go/holdfast/rlock"
)

// name is a name or an id: any bytes. In JSON it is a text that commands take in its place.
type name string

// MarshalText implements [encoding.TextMarshaler].
func (n name) MarshalText() ([]byte, error) { return []byte(legible.Name(string(n))), nil }

// lockView is a lock as the commands tell it, in JSON.
type lockView struct {
	Name       name         `json:"name"`
	Kind       rlock.Kind   `json:"kind"`
	Mode       string       `json:"mode,omitempty"`
	Held       int          `json:"held"`
	Holders    []holderView `json:"holders,omitempty"`
	Truncated  bool         `json:"truncated,omitempty"`      // there are more holders than are listed
	Waiters    *int         `json:"waiters,omitempty"`        // absent: unknown
	Number     *int64       `json:"number,omitempty"`         // of free permits, or a latch's count
	NoCapacity bool         `json:"noCapacity,omitempty"`     // of a semaphore that is waited for
	Fence      int64        `json:"fence,omitempty"`          // the newest fencing token
	Since      *time.Time   `json:"since,omitempty"`          // when the lock was granted; absent: unknown
	Age        float64      `json:"heldForSeconds,omitempty"` // by the clock here
}

type holderView struct {
	ID    name     `json:"id"`
	Owner string   `json:"owner,omitempty"`
	Kept  bool     `json:"kept,omitempty"` // it may be held by nobody, and stay with its client
	Count int      `json:"count"`
	TTL   *float64 `json:"ttlSeconds,omitempty"` // absent: it never expires
}

// age is for how long a lock has been held, if that is known.
func age(e rlock.Entry, now time.Time) (held time.Duration, known bool) {
	if e.Held != 1 || e.Since.IsZero() || e.Mode == "read" {
		return 0, false
	}
	return max(now.Sub(e.Since), 0), true
}

func newView(e rlock.Entry, now time.Time) lockView {
	v := lockView{Name: name(e.Name), Kind: e.Kind, Mode: e.Mode, Held: e.Held, Truncated: e.Truncated, Fence: e.Fence}
	if !e.WaitersUnknown {
		v.Waiters = &e.Waiters
	}
	switch e.Kind {
	case rlock.KindSemaphore, rlock.KindCounting, rlock.KindLatch, rlock.KindNumber:
		if !e.NoCapacity {
			v.Number = &e.Number
		}
		v.NoCapacity = e.NoCapacity
	}
	if held, known := age(e, now); known {
		v.Since, v.Age = &e.Since, held.Seconds()
	}
	for _, h := range e.Holders {
		holder := holderView{ID: name(h.ID), Owner: legible.Sentence(h.Owner), Kept: h.Kept, Count: h.Count}
		if h.TTL >= 0 {
			seconds := h.TTL.Seconds()
			holder.TTL = &seconds
		}
		v.Holders = append(v.Holders, holder)
	}
	return v
}

// kindText is the kind with what there is to add.
func (v *lockView) kindText() string {
	if v.Mode != "" {
		return string(v.Kind) + " " + v.Mode
	}
	return string(v.Kind)
}

// who is the first holder, and how many more there are.
func (v *lockView) who() string {
	switch {
	case v.NoCapacity:
		return "(no capacity)"
	case len(v.Holders) == 0 && v.Number != nil:
		return fmt.Sprintf("(%d left)", *v.Number)
	case len(v.Holders) == 0:
		return "-"
	}
	text := shown(string(v.Holders[0].ID))
	if owner := v.Holders[0].Owner; owner != "" {
		text = shown(owner)
	}
	if v.Holders[0].Kept {
		text += " (kept)"
	}
	if v.Held > 1 {
		text += fmt.Sprintf(" and %d more", v.Held-1)
	}
	return text
}

// heldFor is the time for which it has been held.
func (v *lockView) heldFor() string {
	if v.Since == nil {
		return "-"
	}
	return brief(time.Duration(v.Age * float64(time.Second)))
}

// expires is when the first to end does.
func (v *lockView) expires() string {
	least := -1.0
	for _, h := range v.Holders {
		switch {
		case h.TTL == nil:
			return "never"
		case least < 0 || *h.TTL < least:
			least = *h.TTL
		}
	}
	if least < 0 {
		return "-"
	}
	return brief(time.Duration(least * float64(time.Second)))
}

func (v *lockView) waiting() string {
	if v.Waiters == nil {
		return "?"
	}
	return strconv.Itoa(*v.Waiters)
}

// brief is a time in one or two units.
func brief(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// shown is a name or id as a terminal may print it: what is not plain text is quoted, and commands take it so.
func shown(text string) string {
	if escaped(text) == text && text != "" && !strings.ContainsAny(text, " \t") {
		return text
	}
	return strconv.Quote(text)
}

// escaped is a text of another program as a terminal may print it, in a sentence.
func escaped(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// table writes locks, one to a line.
func table(to io.Writer, locks []lockView) error {
	buffered := bufio.NewWriter(to) // a tabwriter writes each cell by itself
	w := tabwriter.NewWriter(buffered, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tKIND\tHOLDER\tHELD FOR\tEXPIRES\tWAITERS\tFENCE")
	for i := range locks {
		v := &locks[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n",
			shown(string(v.Name)), v.kindText(), v.who(), v.heldFor(), v.expires(), v.waiting(), v.Fence)
	}
	return errors.Join(w.Flush(), buffered.Flush())
}
