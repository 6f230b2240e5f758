// Package metrics is the scheme by which the metrics of locks are named and labelled, and what both of its exporters,
// observe/prometheus and observe/otel, keep in the same way.
//
// A metric has one name, such as "wait.duration". OpenTelemetry has it behind "holdfast.". What Prometheus has follows
// from that by OpenTelemetry's own rule: signs become underscores, seconds are said, and a counter ends in "_total".
// The labels have the same names and values in both. So the same alerts and the same dashboard serve both.
package metrics

import (
	"strings"

	"github.com/holdfast-go/holdfast/lock"
)

// Metric is one metric.
type Metric struct {
	name    string
	Unit    string // "s", or what is counted, in braces
	Help    string
	Labels  []string
	counter bool // which only grows
}

// The labels. The values of each are few: see package lock for stores, kinds, outcomes and reasons, and package
// lockclass for classes.
const (
	Store   = "store"
	Kind    = "kind"
	Class   = "class"
	Outcome = "outcome"
	Reason  = "reason"
	Result  = "result"
	Script  = "script"
)

// The metrics.
var (
	Waits = Metric{name: "wait.duration", Unit: seconds, Labels: of(Outcome),
		Help: "How long calls took to acquire, by how they ended."}
	Failures = Metric{name: "failures", Unit: "{call}", Labels: of(Reason), counter: true,
		Help: "Calls that did not acquire, by reason."}
	Waiting = Metric{name: "waiting", Unit: "{call}", Labels: of(),
		Help: "Calls that are about to acquire, without those that only try."}
	Holds = Metric{name: "hold.duration", Unit: seconds, Labels: of(Outcome),
		Help: "How long holds lasted that are over, by how they ended."}
	Held = Metric{name: "held", Unit: "{hold}", Labels: of(),
		Help: "Holds that are live."}
	OldestHold = Metric{name: "oldest_hold", Unit: seconds, Labels: of(),
		Help: "How long the oldest hold that is live has lasted; 0 without one."}
	Losses = Metric{name: "losses", Unit: "{hold}", Labels: of(Reason), counter: true,
		Help: "Holds that were lost, by reason."}
	Renewals = Metric{name: "renewals", Unit: "{renewal}", Labels: of(Result), counter: true,
		Help: "Renewals of leases, by whether the store confirmed them."}
	Commands = Metric{name: "command.duration", Unit: seconds, Labels: []string{Store, Script, Result},
		Help: "How long the store took to answer a script, as the client saw it."}

	LeastValidity = Metric{name: "least_validity", Unit: seconds, Labels: []string{Store},
		Help: "What is left of the hold whose validity ends first; absent without holds."}
	Kept = Metric{name: "kept", Unit: "{lock}", Labels: []string{Store},
		Help: "Locks that nobody holds and that stay with their clients (option Keep)."}
	RenewalsDue = Metric{name: "renewals.due", Unit: "{hold}", Labels: []string{Store},
		Help: "Holds whose time to renew has come, and whose renewal is not confirmed."}
	ReleasesOwed = Metric{name: "releases.owed", Unit: "{release}", Labels: []string{Store},
		Help: "Releases that the store has not confirmed, and that go on in the background."}
	EventsDropped = Metric{name: "events.dropped", Unit: "{event}", Labels: []string{Store}, counter: true,
		Help: "Events that were dropped because the observer or the logger was too slow."}
)

// All returns every metric. The last five are those of clients that are tracked.
func All() []Metric {
	return []Metric{
		Waits, Failures, Waiting, Holds, Held, OldestHold, Losses, Renewals, Commands,
		LeastValidity, Kept, RenewalsDue, ReleasesOwed, EventsDropped,
	}
}

const seconds = "s"

// of is the labels of a metric that tells locks apart.
func of(more ...string) []string { return append([]string{Store, Kind, Class}, more...) }

// Telemetry is the name in OpenTelemetry.
func (m Metric) Telemetry() string { return "holdfast." + m.name }

// Prometheus is the name in Prometheus.
func (m Metric) Prometheus() string {
	name := "holdfast_" + strings.ReplaceAll(m.name, ".", "_")
	switch {
	case m.Unit == seconds:
		return name + "_seconds"
	case m.counter:
		return name + "_total"
	}
	return name
}

// Buckets are the bounds of the buckets of waits and commands, in seconds: from a command's time to the default lease.
func Buckets() []float64 { return []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30} }

// HoldBuckets are those of holds, which reach to an hour.
func HoldBuckets() []float64 { return append(Buckets(), 120, 600, 3600) }

// The values of [Result].
const (
	OK    = "ok"
	Error = "error"
)

// ResultOf is the value of [Result] for what became of a renewal or a command.
func ResultOf(err error) string {
	if err != nil {
		return Error
	}
	return OK
}

// LossReasons are the reasons of losses. A counter of losses begins at zero for each of them: an alert on its increase
// does not see one that begins with the first loss.
func LossReasons() []string {
	return []string{lock.LossExpired.Label(), lock.LossGone.Label(), lock.LossMaxHold.Label()}
}
