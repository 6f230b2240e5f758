package checkup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// needed are the commands that a reentrant lock on a single server needs, with arguments.
func (c *check) needed(sharded bool) [][]any {
	publish, subscribe, unsubscribe := "publish", "subscribe", "unsubscribe"
	if sharded {
		publish, subscribe, unsubscribe = "spublish", "ssubscribe", "sunsubscribe"
	}
	return [][]any{
		{"eval", "return 0", 1, c.Key}, {"evalsha", strings.Repeat("0", 40), 1, c.Key}, {"time"},
		{"hgetall", c.Key}, {"hmget", c.Key, "f"}, {"hlen", c.Key}, {"hset", c.Key, "f", "v"}, {"hdel", c.Key, "f"},
		{"pexpire", c.Key, 1}, {"pttl", c.Key}, {"persist", c.Token}, {"get", c.Token}, {"set", c.Token, 1},
		{"incr", c.Token}, {publish, c.Channel, "0"}, {subscribe, c.Channel}, {unsubscribe, c.Channel},
		{"pubsub", "numsub", c.Channel},
	}
}

// rights asks what the user may do, by name. A server before Redis 7, and most that somebody else runs, does not say;
// what a lock needs is then tried by the trial lock alone.
func (c *check) rights(ctx context.Context) {
	sharded, err := c.Sharded(c.Within(ctx))
	if err != nil {
		c.say("", "rights", Failure, "it is unknown how messages are published: %v", err)
		return
	}
	user, err := c.Redis.Do(c.Within(ctx), "acl", "whoami").Text()
	if err != nil {
		c.say("", "rights", OK, "unknown, because the server refuses ACL WHOAMI: the trial lock shows whether "+
			"they suffice")
		return
	}
	var missing []string
	for _, command := range c.needed(sharded) {
		args := append([]any{"acl", "dryrun", user}, command...)
		said, err := c.Redis.Do(c.Within(ctx), args...).Text()
		if err != nil {
			c.say("", "rights", OK, "of user %s unknown, because the server refuses ACL DRYRUN: the trial lock "+
				"shows whether "+
				"they suffice", user)
			return
		}
		if said != "OK" {
			missing = append(missing, strings.ToUpper(command[0].(string)))
		}
	}
	if len(missing) > 0 {
		c.say("", "rights", Failure, "user %s may not run %s on the lock %q: grant the rights that "+
			"docs/acl.md lists, or use another name", user, strings.Join(missing, ", "), c.Key)
		return
	}
	c.say("", "rights", OK, "user %s may run every command that a lock needs", user)
}

// messages sends itself a message, as a release does.
func (c *check) messages(ctx context.Context) {
	sharded, err := c.Sharded(c.Within(ctx))
	if err != nil {
		return // which rights has told
	}
	prefix, subscribe, publish := "", c.Redis.Subscribe, c.Redis.Publish
	if sharded {
		prefix, subscribe, publish = "S", c.Redis.SSubscribe, c.Redis.SPublish
	}
	took, failed := c.message(ctx, c.Channel, subscribe, publish)
	if failed == nil {
		c.say("", "messages", OK, "by %sPUBLISH; one arrived after %v", prefix, rounded(took))
		return
	}
	c.say("", "messages", Warning, "%s%s does not work (%s): locks work, but waiters notice a release only when "+
		"they poll, every ClientOptions.MaxPoll", prefix, failed.command, failed.why)
}

// wants sends itself a message as a client does that wants a lock which another one may keep, or that breaks it.
func (c *check) wants(ctx context.Context) {
	took, failed := c.message(ctx, c.Wanted, c.Redis.Subscribe, c.Redis.Publish)
	if failed == nil {
		c.say("", "wants", OK, "a message to the holder of a lock arrived after %v", rounded(took))
		return
	}
	remedy := ""
	if failed.denied {
		remedy = fmt.Sprintf(": grant the rights +%s and %q", strings.ToLower(failed.command), "&"+c.Wanted+"*")
	}
	c.say("", "wants", Warning, "messages to the holder of a lock do not work, by %s (%s): locks work, but Keep keeps "+
		"nothing, Yields hears of no other process, and a holder learns of a break with its next renewal%s",
		failed.command, failed.why, remedy)
}

// unheard says why a message did not arrive.
type unheard struct {
	command string // that failed; of a message that did not arrive, the one that sent it
	why     string
	denied  bool // the user lacks a right
}

// message publishes on a channel that it listens to. Failed is not nil if the message does not arrive.
func (c *check) message(
	ctx context.Context, channel string, subscribe func(ctx context.Context, channels ...string) *redis.PubSub,
	publish func(ctx context.Context, channel string, message any) *redis.IntCmd,
) (took time.Duration, failed *unheard) {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	sub := subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	command := "SUBSCRIBE"
	_, err := sub.ReceiveTimeout(ctx, c.Limit)
	if err == nil {
		command = "PUBLISH"
		began := time.Now()
		if err = publish(c.Within(ctx), channel, "0").Err(); err == nil {
			if _, err = sub.ReceiveTimeout(ctx, c.Limit); err == nil {
				return time.Since(began), nil
			}
		}
	}
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return 0, &unheard{command, refused.Error(), redis.IsPermissionError(refused)}
	}
	return 0, &unheard{command, "no message arrived", false}
}
