package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate/internal/checkup"
	"github.com/holdfast-go/holdfast/rlock"
)

// Check finds out whether a Redis suits locks, and the client the Redis: version, round trip and lease, clock, scripts,
// eviction of keys and of clients, persistence, replicas and what the client waits for of them (MinReplicas, Fsync),
// cluster, rights by name, messages, and a trial lock with all its requests. On a cluster it asks every primary.
//
// Name is the name of the trial lock, which no other program may use; "" makes one up. Choose one that the user may
// use, if its rights are for some keys only. Check deletes what it wrote, and changes nothing else. What a server
// refuses to answer, as managed ones do with CONFIG, is a finding that says so.
func Check(ctx context.Context, client *rlock.Client, name string) []lock.Finding {
	if name == "" {
		name = "holdfast:check:" + uuid.NewString()
	}
	checked, err := checked(client, name)
	if err != nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: err.Error()}}
	}
	var all []lock.Finding
	for _, f := range checkup.Run(ctx, checked) {
		all = append(all, lock.Finding{Name: f.Name, Server: f.Server, Level: lock.Level(f.Level), Text: f.Text})
		if f.Name == "connection" && f.Level == checkup.Failure {
			return all
		}
	}
	return append(all, trial(ctx, client, name, checked))
}

// checked is what a check of the client works with; its trial lock has that name.
func checked(client *rlock.Client, name string) (*checkup.Client, error) {
	at, err := placeOf(client)
	if err != nil {
		return nil, err
	}
	key, err := at.Key(name)
	if err != nil {
		return nil, err
	}
	return &checkup.Client{
		Redis: at.Conns.Traffic, Within: at.within, Sharded: at.Conns.Sharded, Lease: at.Lease,
		Limit: request.CommandLimit(at.Lease), MinReplicas: at.Confirm.Replicas, Fsync: at.Confirm.Fsync,
		Slowness: at.Conns.Slowness(), Key: key, Token: keys.Token(key), Channel: keys.Channel(key),
		Wanted: keys.Wanted(""),
	}, nil
}

// trial takes a lock, re-enters it with a longer lease, looks at it, moves it, and releases it.
func trial(ctx context.Context, client *rlock.Client, name string, checked *checkup.Client) lock.Finding {
	began := time.Now()
	if err := try(ctx, client, name, max(checked.Lease, 10*time.Second)); err != nil {
		return lock.Finding{Name: "trial", Level: lock.LevelFailure, Text: fmt.Sprintf("a trial lock failed: %v", err)}
	}
	text := fmt.Sprintf("a trial lock was taken, looked at, moved and released in %v",
		time.Since(began).Round(time.Millisecond))
	if err := checked.Redis.Del(checked.Within(ctx), checked.Token).Err(); err != nil {
		text += fmt.Sprintf("; its token, %q, cannot be deleted (%v), and expires", checked.Token, err)
	}
	return lock.Finding{Name: "trial", Level: lock.LevelOK, Text: text}
}

// try tries a lease that gives each request as much time as those of the client's locks have.
func try(ctx context.Context, c *rlock.Client, name string, lease time.Duration) (err error) {
	lock := rlock.New(c, name, rlock.FixedLease(lease))
	held, unlock, err := lock.TryLock(ctx)
	if err != nil {
		return err
	}
	_, err = lock.Inspect(held)
	if err != nil {
		return errors.Join(err, unlock())
	}
	token, err := lock.Export(held)
	if err != nil {
		return errors.Join(err, unlock())
	}
	_, unlock, err = lock.Import(ctx, token)
	if err != nil {
		return err
	}
	return unlock()
}
