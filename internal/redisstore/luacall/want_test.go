package luacall_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever asks for a lock that may be idle in its process has that process told, and learns that it was; the holder of
// any other id is left alone (defect G43).
func TestTheProcessThatKeepsALockIsTold(t *testing.T) {
	fairly(t, func(t *testing.T, p *fairPlace) {
		const client = "6f1d2c1e-eeee-4b6e-8b6f-000000000005"
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		channel := "holdfast_wanted:" + client
		sub := p.rdb.Subscribe(ctx, channel)
		defer func() { _ = sub.Close() }()
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		both := setOf(p.place, 2)
		for name, ask := range map[string]func() (told bool){
			"acquire":           func() bool { return run(p.place, p.acquire(bob)).Recalled },
			"acquire all":       func() bool { return run(p.place, both.acquire(bob)).Recalled },
			"a fair lock":       func() bool { return p.ask(carol, 0).Recalled },
			"a fair lock's try": func() bool { return p.try(dave).Recalled },
		} {
			for _, id := range []string{client + ":1", client + ":K2"} {
				kept := id == client+":K2"
				require.NoError(t, p.rdb.Del(ctx, p.lock).Err())
				require.NoError(t, p.rdb.HSet(ctx, p.lock, id, "1").Err())
				require.NoError(t, p.rdb.PExpire(ctx, p.lock, time.Minute).Err())
				require.Equal(t, kept, ask(), "%s, %s", name, id)
				require.NoError(t, p.rdb.Publish(ctx, channel, "end").Err())
				for _, want := range map[bool][]string{true: {id + " " + p.lock, "end"}, false: {"end"}}[kept] {
					message, err := sub.ReceiveMessage(ctx)
					require.NoError(t, err)
					require.Equal(t, want, message.Payload)
				}
			}
		}
	})
}
