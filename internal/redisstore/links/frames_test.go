package links_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/frames"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

// A header that says more than a reply can have is an error of that connection: go-redis allocates what it says, which
// panics, or ends the process (defect F5).
func TestAHeaderThatGoesTooFarEndsItsConnection(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	for _, header := range []string{
		"$9223372036854775807", "$100000000000", "*9223372036854775807", "*100000000000", "%9223372036854775807",
		"~9223372036854775807", ">9223372036854775807", "=9223372036854775807", "!9223372036854775807",
		"*1\r\n*1\r\n*100000000000", "*2\r\n:1\r\n$9223372036854775806", strings.TrimSuffix(strings.Repeat("*1\r\n", 100), "\r\n"),
	} {
		proxy.On(faultproxy.Command("echo"), faultproxy.Answer([]byte(header+"\r\n")))
		err := l.Traffic.Do(t.Context(), "ECHO", "a").Err()
		var refused *frames.Error
		require.ErrorAs(t, err, &refused, "%.40q", header)
		require.NoError(t, l.Traffic.Do(t.Context(), "ECHO", "a").Err(), "the next connection")
	}
}

// The largest replies that there are to what a lock or an operator asks pass.
func TestTheLargestRepliesPass(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	node := l.Traffic.(*redis.Client)
	answer := func(command string, reply []byte) {
		proxy.On(faultproxy.Command(command), faultproxy.Answer(reply))
	}

	// The map of a cluster whose slots are all apart, with two replicas each and the names of hosts.
	const slots = 16384
	var reply bytes.Buffer
	fmt.Fprintf(&reply, "*%d\r\n", slots)
	for slot := range slots {
		fmt.Fprintf(&reply, "*5\r\n:%d\r\n:%d\r\n", slot, slot)
		for range 3 {
			fmt.Fprintf(&reply, "*4\r\n$15\r\n255.255.255.255\r\n:65535\r\n$40\r\n%040d\r\n", slot)
			fmt.Fprintf(&reply, "*2\r\n$8\r\nhostname\r\n$63\r\n%063d\r\n", slot)
		}
	}
	answer("cluster", reply.Bytes())
	slotsOf := redis.NewClusterSlotsCmd(t.Context(), "cluster", "slots") // as go-redis's cluster client asks
	_ = node.Process(t.Context(), slotsOf)
	all, err := slotsOf.Result()
	require.NoError(t, err)
	require.Len(t, all, slots)
	require.Len(t, all[slots-1].Nodes, 3)

	// A listing of channels, and a long INFO.
	const channels = 250_000
	answer("pubsub", fmt.Appendf(nil, "*%d\r\n%s", channels, strings.Repeat(fmt.Sprintf("$85\r\n%085d\r\n", 1), channels)))
	heard, err := node.PubSubChannels(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Len(t, heard, channels)
	answer("info", fmt.Appendf(nil, "$%d\r\n%s\r\n", 8<<20, strings.Repeat("x", 8<<20)))
	info, err := node.Info(t.Context()).Result()
	require.NoError(t, err)
	require.Len(t, info, 8<<20)

	// A look at 10,000 permits, whose names are as long as ours, and at waiters of a fair lock.
	const permits = 10_000
	one := fmt.Sprintf("$60\r\n%060d\r\n$13\r\n1700000000000\r\n", 1)
	answer("eval", fmt.Appendf(nil, "*3\r\n:1\r\n:1\r\n*%d\r\n%s", 2*permits, strings.Repeat(one, permits)))
	look, err := node.Eval(t.Context(), "return 1", nil).Slice()
	require.NoError(t, err)
	require.Len(t, look[2], 2*permits)
}
