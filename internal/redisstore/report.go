package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// reporter reports each script when it is answered, whichever way it was sent: alone, in a pipeline, as a bundle, as a
// renewal, before WAIT. It is a hook of the connections, the one place that all of them have in common, and it is there
// only if somebody is told, so it costs nothing otherwise.
//
// An exchange ends once for its hook, also if its caller has left, so each script has one event. What is sent again, to
// another node or in full, is another script that a server answers. That a server does not know a script yet is
// no error: it happens with each server that was started, and nothing is amiss.
type reporter struct {
	clock  *watchdog.Clock
	report func(store.Command) // does not wait
}

// Reporter returns a hook that reports each script which a client of Redis sends.
func Reporter(clock *watchdog.Clock, report func(store.Command)) redis.Hook {
	return &reporter{clock: clock, report: report}
}

// DialHook implements [redis.Hook].
func (t *reporter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (t *reporter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script := luacall.ScriptName(cmd.Args())
		if script == "" { // WAIT, and what a client asks about the server
			return next(ctx, cmd)
		}
		since := t.clock.Now()
		err := next(ctx, cmd)
		t.report(store.Command{Script: script, Calls: 1, Took: t.clock.Now() - since, Err: reported(err)})
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (t *reporter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		since := t.clock.Now()
		failure := next(ctx, cmds)
		t.reportAll(cmds, t.clock.Now()-since)
		return failure
	}
}

// reportAll reports the scripts of a pipeline. They have one time, since their answers are read together, but each has
// its own error: one that is refused says nothing about the others. What is no script, as ASKING before a script that
// follows a slot, does not count as a call.
//
// The arguments and errors are read when the pipeline is over. Until then they belong to go-redis.
func (t *reporter) reportAll(cmds []redis.Cmder, took time.Duration) {
	scripts := make([]string, len(cmds))
	calls := 0
	for i, cmd := range cmds {
		if scripts[i] = luacall.ScriptName(cmd.Args()); scripts[i] != "" {
			calls++
		}
	}
	for i, script := range scripts {
		if script != "" {
			t.report(store.Command{Script: script, Calls: calls, Took: took, Err: reported(cmds[i].Err())})
		}
	}
}

// reported is what an observer is told of an error.
func reported(err error) error {
	if luacall.Unknown(err) {
		return nil
	}
	return meaning(err)
}
