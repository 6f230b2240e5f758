package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// liveness makes every worker do operations that must all succeed, because no fault is left.
func (r *run) liveness() error {
	if err := untilAnswered(r.cfg.Lease, r.live, r.cfg.Log); err != nil {
		return err
	}
	return r.emptied()
}

// untilAnswered does the operations, and does them again if some failed while the store was silent to the run itself
// for longer than a lease: a client may give up then, so nothing is known of the clients. A store that is silent every
// time fails the run.
//
// Three etcd servers on a busy machine were seen to be silent for as long. A server repeats a read that waits for the
// others every half second, and holds up all else for a second when the answers to those come together
// (https://github.com/etcd-io/etcd/issues/6891).
func untilAnswered(
	lease time.Duration, live func() (failed []string, silent time.Duration, err error), log func(string, ...any),
) error {
	const times = 3
	for n := 1; ; n++ {
		failed, silent, err := live()
		if err != nil {
			return fmt.Errorf("%w; the store was silent to the run itself for %v at most", err, silent)
		}
		if len(failed) == 0 {
			return nil
		}
		if silent <= lease || n == times {
			return fmt.Errorf("%d calls, while the store was silent to the run itself for %v at most: %s",
				len(failed), silent, strings.Join(failed[:min(len(failed), 10)], "\n"))
		}
		log("liveness: once more, because %d calls failed while the store was silent to the run itself for %v",
			len(failed), silent)
	}
}

// live makes every worker do its operations once. It returns those that failed, and for how long the store did not
// answer the run itself, at most.
func (r *run) live() (failed []string, silent time.Duration, err error) {
	from := stamp.Now()
	lost, unavailable := r.record.count("live:"+outcomeLost), r.record.count("live:"+outcomeUnavailable)
	if err := r.sayAll(fmt.Sprintf("%s %d", sayLive, liveEach)); err != nil {
		return nil, 0, err
	}
	if silent, err = r.pausedAsking(2 * r.cfg.bound()); err != nil {
		return nil, silent, err
	}
	calls := r.record.returned()
	if failed = Failures(calls, from); len(failed) > 0 {
		return failed, silent, nil
	}
	calls = slices.DeleteFunc(calls, func(c Call) bool { return c.Called < from })
	if want := liveEach * workers * len(r.seats); len(calls) != want {
		return nil, silent, fmt.Errorf("%d calls instead of %d", len(calls), want)
	}
	var slowest Call
	r.report.LongestLive, slowest = LongestWait(calls, from)
	if r.report.LongestLive > r.cfg.bound() {
		return nil, silent, fmt.Errorf("%+v took %v", slowest, r.report.LongestLive)
	}
	// A machine that stops a process for most of a lease takes its hold, without a fault of ours or the store's.
	lost, unavailable = r.record.count("live:"+outcomeLost)-lost, r.record.count("live:"+outcomeUnavailable)-unavailable
	if unavailable > 0 || lost > len(calls)/100 {
		return nil, silent, fmt.Errorf("of %d unlocks %d told a loss, and %d failed", len(calls), lost, unavailable)
	}
	return nil, silent, nil
}

// pausedAsking waits as paused does, and asks the store itself meanwhile, straight and not through a client's path. It
// returns for how long the store did not answer, at most: that is what tells a call that failed because of the store
// from a call that failed because of its client. What comes later than a client waits for it is no answer.
func (r *run) pausedAsking(limit time.Duration) (silent time.Duration, err error) {
	const pause = 50 * time.Millisecond
	done, answered := make(chan error, 1), time.Now()
	go func() { done <- r.paused(limit) }()
	for {
		select {
		case err = <-done:
			return max(silent, time.Since(answered)).Round(time.Millisecond), err
		case <-time.After(pause):
		}
		asked := time.Now()
		_, failed := r.ground.held() // an error serves nobody
		if now := time.Now(); failed == nil && now.Sub(asked) <= r.cfg.Lease/6 {
			silent, answered = max(silent, now.Sub(answered)), now
		}
	}
}
