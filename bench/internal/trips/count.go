package trips

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
)

const (
	// apart is far enough for whatever is not waited for to come after the call has returned.
	apart = 4 * time.Millisecond

	// quiet is how long everybody is left alone before something is counted, so that nothing is under way.
	quiet = 12 * apart

	// brief is the same where a hold that lasts too long is not passed on inside a process any more.
	brief = 4 * apart

	times    = 3 // that each operation is counted; what is in the middle stands in the table
	patience = 30 * time.Second
)

// Never stands for the count of a peer's call that did not return.
const Never = -1

var errNever = fmt.Errorf("it did not return for up to %v", patience)

// Row is an operation with its counts by column: what is taken and what is freed, or what is handed over.
type Row struct {
	Operation string           `json:"operation"`
	Least     string           `json:"least"`
	Counts    map[string][]int `json:"counts"`
}

// Count counts all operations. Without Java there is no column of Redisson.
func Count(ctx context.Context, program *javalib.Program) ([]Row, error) {
	operations := Operations()
	rows := make([]Row, len(operations))
	for i, o := range operations {
		rows[i] = Row{o.Title, o.Least, map[string][]int{}}
	}
	for _, column := range Columns {
		isJava := column == contender.Redisson
		if isJava && program == nil {
			continue
		}
		var java *bench // one JVM for all, which takes long to start
		if isJava {
			var err error
			if java, err = open(column, 1, program); err != nil {
				return nil, err
			}
			defer func() { _ = java.close() }()
		}
		for i, o := range operations {
			if isJava && o.kind == "" || !isJava && o.by[column] == "" {
				continue
			}
			counts, err := one(ctx, o, column, java)
			if column != contender.Ours && errors.Is(err, errNever) {
				counts, err = []int{Never}, nil // a message was lost, which some wait for without end
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", column, o.Title, err)
			}
			rows[i].Counts[column] = counts
		}
	}
	return rows, nil
}

// bench is where one operation of one library is counted.
type bench struct {
	column  string
	relay   *distance.Relay
	java    *javalib.Process // nil: the library is in Go
	meter   wire.Meter
	closers []func() error // the last one first
}

func (b *bench) close() error {
	var errs []error
	for _, c := range slices.Backward(b.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// open starts servers and what is to be between, and for Redisson a JVM.
func open(column string, nodes int, program *javalib.Program) (b *bench, err error) {
	b = &bench{column: column}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	var addrs []string
	for range nodes {
		server, err := redisd.Start()
		if err != nil {
			return b, err
		}
		b.closers, addrs = append(b.closers, server.Close), append(addrs, server.Addr())
	}
	if b.relay, err = distance.Open(apart, addrs); err != nil {
		return b, err
	}
	b.closers = append(b.closers, b.relay.Close)
	if program != nil {
		if b.java, err = program.Start(b.relay.Addrs()[0], 2); err != nil {
			return b, err
		}
		b.closers = append(b.closers, b.java.Close)
	}
	return b, nil
}

// one counts an operation, on a bench of its own if there is none.
func one(ctx context.Context, o Operation, column string, b *bench) (counts []int, err error) {
	// Not a deadline: some shorten their leases to what is left of it.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	guard := time.AfterFunc(patience, func() { cancel(errNever) })
	defer guard.Stop()
	defer func() {
		if err != nil && context.Cause(ctx) == errNever {
			err = errors.Join(err, errNever)
		}
	}()
	if b == nil {
		if b, err = open(column, max(o.nodes, 1), nil); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, b.close()) }()
	}
	hands, err := o.hands(ctx, b)
	if err != nil {
		return nil, err
	}
	var all [][]int
	for range 1 + times { // the first time makes connections and loads scripts
		got, err := o.count(ctx, b.relay, hands)
		if err != nil {
			return nil, err
		}
		all = append(all, got)
	}
	return middle(all[1:]), nil
}

// middle is the median of each count.
func middle(all [][]int) []int {
	var counts []int
	for i := range all[0] {
		var values []int
		for _, one := range all {
			values = append(values, one[i])
		}
		slices.Sort(values)
		counts = append(counts, values[len(values)/2])
	}
	return counts
}

func (o Operation) count(ctx context.Context, r *distance.Relay, hands []hand) ([]int, error) {
	switch {
	case o.pass == inside:
		return within(ctx, r, [3]hand(hands))
	case o.pass == across:
		return passed(ctx, r, hands[0], hands[3])
	case o.try:
		return refused(ctx, r, hands[0], hands[3])
	}
	if o.deep {
		if err := hands[0].take(ctx); err != nil {
			return nil, err
		}
	}
	in, err := trips(r, quiet, func() error { return hands[0].take(ctx) })
	if err != nil {
		return nil, err
	}
	out, err := trips(r, quiet, func() error { return hands[0].free(ctx) })
	if err == nil && o.deep {
		err = hands[0].free(ctx)
	}
	return []int{in, out}, err
}

// trips counts those of one call.
func trips(r *distance.Relay, settling time.Duration, call func() error) (int, error) {
	time.Sleep(settling)
	r.Reset()
	err := call()
	return r.Trips(), err
}

// arrival is one who waited, and what was counted by then.
type arrival struct {
	hand
	trips int
	err   error
}

func wait(ctx context.Context, r *distance.Relay, h hand, came chan<- arrival) {
	err := h.take(ctx)
	came <- arrival{h, r.Trips(), err}
}

// passed counts from the release by one to the return of another one that waits.
func passed(ctx context.Context, r *distance.Relay, from, to hand) ([]int, error) {
	if err := from.take(ctx); err != nil {
		return nil, err
	}
	came := make(chan arrival, 1)
	go wait(ctx, r, to, came)
	// While all is quiet, it gets into its wait.
	if _, err := trips(r, quiet, func() error { return from.free(ctx) }); err != nil {
		return nil, err
	}
	next := <-came
	if next.err != nil {
		return nil, next.err
	}
	return []int{next.trips}, to.free(ctx)
}

// within counts from the release by one who had waited to the return of another one that waits, as it goes on and on
// where many want one name. (Before anybody waits, nothing has been prepared for handing over.)
func within(ctx context.Context, r *distance.Relay, hands [3]hand) ([]int, error) {
	if err := hands[0].take(ctx); err != nil {
		return nil, err
	}
	came := make(chan arrival, 2)
	go wait(ctx, r, hands[1], came)
	go wait(ctx, r, hands[2], came)
	time.Sleep(quiet)
	if err := hands[0].free(ctx); err != nil {
		return nil, err
	}
	first := <-came
	if first.err != nil {
		return nil, first.err
	}
	if _, err := trips(r, brief, func() error { return first.free(ctx) }); err != nil {
		return nil, err
	}
	second := <-came
	if second.err != nil {
		return nil, second.err
	}
	return []int{second.trips}, second.free(ctx)
}

// refused counts a question that is answered with no.
func refused(ctx context.Context, r *distance.Relay, asks, holds hand) ([]int, error) {
	if err := holds.take(ctx); err != nil {
		return nil, err
	}
	got := false
	n, err := trips(r, quiet, func() (err error) {
		got, err = asks.try(ctx)
		return err
	})
	if err == nil && got {
		err = errors.New("got a lock that another holds")
	}
	return []int{n}, errors.Join(err, holds.free(ctx))
}
