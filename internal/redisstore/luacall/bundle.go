package luacall

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

var (
	acquireManyScript       = newScript("acquire_many")
	releaseManyScript       = newScript("release_many")
	permitAcquireManyScript = newScript("permit_acquire_many")
	permitReleaseManyScript = newScript("permit_release_many")
)

// MaxBundle is the maximum number of calls in one script: nothing else runs in Redis meanwhile.
const MaxBundle = 32

// Bundle is one command in place of several calls of [Acquire] or of [Release], or of one permit of a semaphore each,
// by [PermitAcquire] or by [PermitRelease], that were about to be sent to one server at the same time: each of them
// then costs Redis less. They stay independent of one another, and each has its own answer. A bundle is used by one
// goroutine.
type Bundle struct {
	script *script
	args   []any // of EVALSHA
	calls  []onceInts
	cmd    onceInts

	refusal error // the server's, for the whole bundle
}

// Bundles bundles the commands that can be bundled, at least two of a kind, and returns the others as rest. The
// server must accept keys of any slots in one script.
func Bundles(ctx context.Context, cmds []redis.Cmder) (bundles []*Bundle, rest []redis.Cmder) {
	acquires, releases := make([]onceInts, 0, len(cmds)), make([]onceInts, 0, len(cmds))
	var taken, given []onceInts // permits
	for _, cmd := range cmds {
		call, ok := cmd.(onceInts)
		switch {
		case !ok:
			rest = append(rest, cmd)
		case isAcquire(call.Args()):
			acquires = append(acquires, call)
		case isRelease(call.Args()):
			releases = append(releases, call)
		case isPermit(call.Args(), &permitAcquireScript):
			taken = append(taken, call)
		case isPermit(call.Args(), &permitReleaseScript):
			given = append(given, call)
		default:
			rest = append(rest, cmd)
		}
	}
	bundles, rest = bundle(ctx, releases, releaseMany, bundles, rest) // first: they make locks free
	for _, calls := range bySemaphore(given) {
		bundles, rest = bundle(ctx, calls, permitReleaseMany, bundles, rest)
	}
	bundles, rest = bundle(ctx, acquires, acquireMany, bundles, rest)
	for _, calls := range bySemaphore(taken) {
		bundles, rest = bundle(ctx, calls, permitAcquireMany, bundles, rest)
	}
	return bundles, rest
}

func bundle(
	ctx context.Context, calls []onceInts, join func([]onceInts) *Bundle, bundles []*Bundle, rest []redis.Cmder,
) ([]*Bundle, []redis.Cmder) {
	for len(calls) > 1 {
		part := calls[:min(len(calls), MaxBundle)]
		calls = calls[len(part):]
		b := join(part)
		b.cmd = newOnceInts(ctx, b.args)
		bundles = append(bundles, b)
	}
	for _, call := range calls {
		rest = append(rest, call)
	}
	return bundles, rest
}

// Cmd is the command to send.
func (b *Bundle) Cmd() redis.Cmder { return b.cmd }

// Unknown reports whether the server did not know the script. Cmd then is a new command that contains the
// script.
func (b *Bundle) Unknown(ctx context.Context) bool {
	if !Unknown(b.cmd.Err()) {
		return false
	}
	full := &Call[struct{}]{script: b.script, args: b.args}
	b.cmd = newOnceInts(ctx, full.full())
	return true
}

// Deal gives each call its answer, and returns the calls that must be sent by themselves. If the server
// answered with an error these are all calls: the scripts catch the failures of single calls, so none was
// carried out. Failure is the error of the pipeline; it applies if there is neither answer nor error.
func (b *Bundle) Deal(failure error) (again []redis.Cmder) {
	values, err := b.cmd.Result()
	size := b.numbers()
	switch {
	case errors.Is(err, redis.Nil):
		err = errNull
	case err == nil && values == nil:
		err = failure
	}
	if err == nil && len(values) != len(b.calls)*size {
		err = wrongLength(values, len(b.calls)*size)
	}
	var refused redis.Error
	apartAll := err != nil && errors.As(err, &refused)
	if apartAll {
		b.refusal = err
	}
	for i, call := range b.calls {
		switch {
		case apartAll:
			again = append(again, call)
		case err != nil:
			call.SetErr(err)
		case Status(values[i*size]) == Apart:
			again = append(again, call)
		default:
			call.SetVal(values[i*size : (i+1)*size : (i+1)*size])
		}
	}
	return again
}

// Unfit reports that bundles are useless for this server. It is known once the calls returned by [Bundle.Deal]
// were sent: the server refused the bundle, and none of its calls.
func (b *Bundle) Unfit() bool {
	if !Refused(b.refusal) {
		return false
	}
	for _, call := range b.calls {
		if call.Err() != nil {
			return Crossed(b.refusal)
		}
	}
	return true
}

// numbers is how many numbers one call returns.
func (b *Bundle) numbers() int {
	if b.script == &acquireManyScript || b.script == &permitAcquireManyScript {
		return acquireNumbers
	}
	return releaseNumbers
}

// isAcquire recognises the arguments of an [Acquirer.Call].
func isAcquire(args []any) bool { return len(args) == 9 && args[1] == acquireScript.sha }

// acquireMany joins the arguments of Acquirer.Call.
func acquireMany(calls []onceInts) *Bundle {
	args := make([]any, 0, 3+6*len(calls))
	args = append(args, "evalsha", acquireManyScript.sha, 2*len(calls))
	for _, call := range calls {
		args = append(args, call.Args()[3:5]...)
	}
	for _, call := range calls {
		args = append(args, call.Args()[5:]...)
	}
	return &Bundle{script: &acquireManyScript, args: args, calls: calls}
}

// isRelease recognises the arguments of a [Releaser.Call] on a server that is no cluster, without the time.
func isRelease(args []any) bool {
	return len(args) == 8 && args[1] == releaseScript.sha && args[6] == "PUBLISH" && args[7] == 0
}

// releaseMany joins the arguments of Releaser.Call.
func releaseMany(calls []onceInts) *Bundle {
	args := make([]any, 0, 4+3*len(calls))
	args = append(args, "evalsha", releaseManyScript.sha, len(calls))
	for _, call := range calls {
		args = append(args, call.Args()[3])
	}
	args = append(args, "PUBLISH")
	for _, call := range calls {
		args = append(args, call.Args()[4:6]...)
	}
	return &Bundle{script: &releaseManyScript, args: args, calls: calls}
}

// isPermit recognises the arguments of a call of one permit: of [PermitAcquire] or of [PermitRelease].
func isPermit(args []any, s *script) bool {
	return len(args) >= 10 && args[1] == s.sha && args[6] == int64(1)
}

// semaphore is what such a call says of its semaphore.
type semaphore struct{ free, leases, channel, kind, unused any }

func semaphoreOf(args []any) semaphore {
	last := len(args) - 3
	return semaphore{args[3], args[4], args[last], args[last+1], args[last+2]}
}

// bySemaphore sorts calls of permits by their semaphores, each of which has its calls in order.
func bySemaphore(calls []onceInts) (sorted [][]onceInts) {
	if len(calls) == 0 {
		return nil
	}
	at := make(map[semaphore]int)
	for _, call := range calls {
		of := semaphoreOf(call.Args())
		i, found := at[of]
		if !found {
			i = len(sorted)
			at[of], sorted = i, append(sorted, nil)
		}
		sorted[i] = append(sorted[i], call)
	}
	return sorted
}

// permitAcquireMany joins the arguments of calls of PermitAcquire for one semaphore.
func permitAcquireMany(calls []onceInts) *Bundle {
	s := semaphoreOf(calls[0].Args())
	args := make([]any, 0, 6+3*len(calls))
	args = append(args, "evalsha", permitAcquireManyScript.sha, 2, s.free, s.leases, s.unused)
	for _, call := range calls {
		args = append(args, call.Args()[5])
		args = append(args, call.Args()[7:9]...)
	}
	return &Bundle{script: &permitAcquireManyScript, args: args, calls: calls}
}

// permitReleaseMany joins the arguments of calls of PermitRelease for one semaphore.
func permitReleaseMany(calls []onceInts) *Bundle {
	s := semaphoreOf(calls[0].Args())
	args := make([]any, 0, 8+len(calls))
	args = append(args, "evalsha", permitReleaseManyScript.sha, 2, s.free, s.leases, s.channel, s.kind, s.unused)
	for _, call := range calls {
		args = append(args, call.Args()[5])
	}
	return &Bundle{script: &permitReleaseManyScript, args: args, calls: calls}
}
