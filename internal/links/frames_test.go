package links_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/frames"
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
		for _, c := range []redis.UniversalClient{l.Traffic, l.Renewal} {
			proxy.On(faultproxy.Command("echo"), faultproxy.Answer([]byte(header+"\r\n")))
			err := c.Do(t.Context(), "ECHO", "a").Err()
			var refused *frames.Error
			require.ErrorAs(t, err, &refused, "%.40q", header)
			require.NoError(t, c.Do(t.Context(), "ECHO", "a").Err(), "the next connection")
		}
	}
}

// The largest reply that a lock waits for passes: the map of a cluster whose slots are all apart, with two replicas each
// and the names of hosts.
func TestTheLargestMapOfAClusterPasses(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	const slots = 16384
	var reply bytes.Buffer
	fmt.Fprintf(&reply, "*%d\r\n", slots)
	for slot := range slots {
		fmt.Fprintf(&reply, "*5\r\n:%d\r\n:%d\r\n", slot, slot)
		for range 3 {
			fmt.Fprintf(&reply, "*4\r\n$15\r\n255.255.255.255\r\n:65535\r\n$40\r\n%040d\r\n*2\r\n$8\r\nhostname\r\n$63\r\n%063d\r\n",
				slot, slot)
		}
	}
	proxy.On(faultproxy.Command("cluster"), faultproxy.Answer(reply.Bytes()))
	node := l.Traffic.(*redis.Client)
	all, err := node.ClusterSlots(t.Context()).Result()
	require.NoError(t, err)
	require.Len(t, all, slots)
	require.Len(t, all[slots-1].Nodes, 3)
}
