package wake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A frame that go-redis takes for a message without looking ends its connection, and not the process; the next
// connection serves the waiters (defect F5).
func TestAMalformedMessageEndsItsConnection(t *testing.T) {
	for name, frame := range map[string]string{
		"empty":                    "*0\r\n",
		"a number":                 "*1\r\n:1\r\n",
		"null":                     "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
		"nested":                   "*1\r\n*1\r\n*0\r\n",
		"a subscription cut short": "*1\r\n$9\r\nsubscribe\r\n",
		"one without a number":     "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n$1\r\n1\r\n",
		"a message cut short":      "*2\r\n$7\r\nmessage\r\n$1\r\na\r\n",
		"a message on no channel":  "*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\na\r\n",
		"a message of numbers":     "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n*1\r\n:1\r\n",
		"a pattern's":              "*1\r\n$8\r\npmessage\r\n",
		"a pong cut short":         "*1\r\n$4\r\npong\r\n",
		"of another kind":          "*1\r\n$5\r\nhello\r\n",
		"a map":                    "%1\r\n+a\r\n+b\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			proxy := faultproxy.Start(t, server.Addr())
			hub := newHub(t, options(proxy.Addr()))
			bad := proxy.On(faultproxy.Command("subscribe"), faultproxy.Answer([]byte(frame)))
			channel := redistest.Key(t)
			ticket := hub.Listen(channel)
			bad.Wait(t, 1)
			ready(t, ticket)
			woken(t, ticket, "the confirmation")
			require.Equal(t, 2, proxy.Requests(faultproxy.Command("subscribe")))
			publish(t, server, channel)
			woken(t, ticket, "a message")
			ticket.Leave()
		})
	}
}
