package checkup

import (
	"context"
	"errors"
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
	kind, subscribe, publish := "PUBLISH", c.Redis.Subscribe, c.Redis.Publish
	if sharded {
		kind, subscribe, publish = "SPUBLISH", c.Redis.SSubscribe, c.Redis.SPublish
	}
	took, why := c.message(ctx, c.Channel, subscribe, publish)
	if why == "" {
		c.say("", "messages", OK, "by %s; one arrived after %v", kind, rounded(took))
		return
	}
	c.say("", "messages", Warning, "%s does not work (%s): locks work, but waiters notice a release only when "+
		"they poll, every ClientOptions.MaxPoll", kind, why)
}

// wants sends itself a message as a client does that wants a lock which another one may keep, or that breaks it.
func (c *check) wants(ctx context.Context) {
	took, why := c.message(ctx, c.Wanted, c.Redis.Subscribe, c.Redis.Publish)
	if why == "" {
		c.say("", "wants", OK, "a message to the holder of a lock arrived after %v", rounded(took))
		return
	}
	c.say("", "wants", Warning, "messages to the holder of a lock do not work (%s): locks work, but Keep keeps "+
		"nothing, Yields hears of no other process, and a holder learns of a break with its next renewal: grant the "+
		"right %q", why, "&"+c.Wanted+"*")
}

// message publishes on a channel that it listens to. Why is not empty if the message does not arrive.
func (c *check) message(
	ctx context.Context, channel string, subscribe func(ctx context.Context, channels ...string) *redis.PubSub,
	publish func(ctx context.Context, channel string, message any) *redis.IntCmd,
) (took time.Duration, why string) {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	sub := subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	_, err := sub.ReceiveTimeout(ctx, c.Limit)
	if err == nil {
		began := time.Now()
		if err = publish(c.Within(ctx), channel, "0").Err(); err == nil {
			if _, err = sub.ReceiveTimeout(ctx, c.Limit); err == nil {
				return time.Since(began), ""
			}
		}
	}
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return 0, refused.Error()
	}
	return 0, "no message arrived"
}
