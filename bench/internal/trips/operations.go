// Package trips counts the round trips that a caller waits for, by operation and library.
//
// It takes no time: clients and servers are a few milliseconds apart, and the relay between them counts how many
// round trips lie one after the other behind what has come back by the time the call returns. What was sent on the
// side, as a count that follows behind, is waited for by nobody and has not come back by then.
package trips

import (
	"context"
	"slices"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// Operation is what is counted.
type Operation struct {
	Title string
	Least string // possible, for anybody

	kind  string            // for Redisson; none: it cannot
	by    map[string]string // the contender of each column; none: it cannot
	nodes int
	names []string
	pass  passage
	deep  bool
	try   bool
}

// passage is how something is handed over, if it is.
type passage int

const (
	inside passage = iota + 1 // a process
	across                    // from one to another
)

// Columns are the libraries.
var Columns = []string{contender.Ours, contender.Bsm, contender.Redsync, contender.Rueidis, contender.Redisson}

// Operations are the rows.
func Operations() []Operation {
	all := map[string]string{}
	for _, name := range Columns[:4] {
		all[name] = name
	}
	ours := func(name string) map[string]string { return map[string]string{contender.Ours: name} }
	one := []string{"one"}
	return []Operation{
		{Title: "a free lock, and its release", Least: "1 + 1", kind: "lock", by: all, names: one},
		{
			Title: "a nested level, and its end", Least: "0 + 0", kind: "lock", by: ours(contender.Ours),
			names: one, deep: true,
		},
		{Title: "`TryLock` that is refused", Least: "1", kind: "lock", by: all, names: one, try: true},
		{Title: "handed over inside a process", Least: "0", kind: "lock", by: all, names: one, pass: inside},
		{Title: "from process to process", Least: "1", kind: "lock", by: all, names: one, pass: across},
		{
			Title: "fair, from process to process", Least: "1", kind: "fair", by: ours(contender.OursFair),
			names: one, pass: across,
		},
		{Title: "a read lock, and its release", Least: "1 + 1", kind: "read", by: ours(contender.OursRead), names: one},
		{
			Title: "a semaphore's permit, and its release", Least: "1 + 1", kind: "permit",
			by: ours(contender.OursPermit), names: one,
		},
		{
			Title: "multilock of three, and its release", Least: "1 + 1", kind: "multi",
			by:    map[string]string{contender.Ours: contender.OursMulti, contender.Bsm: contender.Bsm},
			names: []string{"one", "two", "three"},
		},
		{
			Title: "redlock of three, and its release", Least: "1 + 1", nodes: 3,
			by:    map[string]string{contender.Ours: contender.OursRed, contender.Redsync: contender.Redsync},
			names: one,
		},
	}
}

// hands makes as many hands as the operation needs: the first three of one process, the fourth of another one.
func (o Operation) hands(ctx context.Context, b *bench) ([]hand, error) {
	if b.java != nil {
		return o.javaHands(ctx, b)
	}
	target := contender.Target{Addrs: b.relay.Addrs(), Meter: &b.meter}
	var made []hand
	for _, handles := range []int{3, 1} {
		client, err := contender.Open(o.by[b.column], target)
		if err != nil {
			return nil, err
		}
		b.closers = append(b.closers, client.Close)
		if o.deep {
			made = append(made, levels{contender.Nest(client, o.names[0], 2)})
			continue
		}
		for range handles {
			lock := client.Lock(o.names...)
			if o.by[b.column] == contender.OursPermit {
				if err := contender.SetPermits(ctx, lock, 2); err != nil {
					return nil, err
				}
			}
			made = append(made, goes{lock})
		}
	}
	return made, nil
}

func (o Operation) javaHands(ctx context.Context, b *bench) ([]hand, error) {
	name := "java:" + o.kind
	if o.kind == "permit" {
		if _, err := b.java.Do(ctx, "setup", "permits", name, "2"); err != nil {
			return nil, err
		}
	}
	if len(o.names) > 1 {
		name = "java:one,java:two,java:three"
	}
	var made []hand
	for i, client := range []string{"0", "0", "0", "1"} {
		thread := string(rune('a' + i))
		made = append(made, java{b.java, thread, []string{client, o.kind, name}})
	}
	if o.deep {
		made = slices.Repeat(made[:1], len(made))
	}
	return made, nil
}
