package listing

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
)

// settle says what the answers mean.
func (e *looked) settle(now time.Time) {
	if e.token != nil {
		e.Fence, _ = strconv.ParseInt(e.token.Val(), 10, 64)
		e.Since = minted(e.Fence, now)
	}
	if e.heard != nil && e.heard.Err() == nil {
		for _, n := range e.heard.Val() {
			e.Waiters = int(n)
		}
	}
	switch {
	case e.size != nil:
		e.asHash()
	case e.leased != nil && e.leased.Val() > 0,
		e.leased != nil && e.is&ofLeases != 0 && e.is&ofKey == 0 && e.number.Err() == nil:
		e.asPermits(now)
	case e.number != nil && e.number.Err() == nil:
		e.asNumber()
	default:
		e.asWaited()
	}
	if e.fair() {
		e.Kind = Fair
		e.Waiters = int(e.queued[0].Val() + e.queued[1].Val())
	}
}

// minted is when a token was minted, if it came from the server's clock.
func minted(fence int64, now time.Time) time.Time {
	at := time.UnixMicro(fence)
	if at.After(now) || now.Sub(at) > 20*365*24*time.Hour {
		return time.Time{}
	}
	return at
}

func (e *looked) asHash() {
	e.Kind = Lock
	ttl := e.pttl.Val()
	e.Forever = ttl == noExpiry
	for _, f := range e.fields.Val() {
		if f.Key == "mode" {
			e.Kind, e.Mode = ReadWrite, f.Value
			continue
		}
		h := Holder{ID: strings.TrimSuffix(f.Key, ":write"), Count: levels(f.Value), TTL: ttl}
		if hold, reads := e.readers[f.Key]; reads && ttl >= 0 {
			if h.TTL = longest(hold); h.TTL == 0 {
				continue // dead
			}
		}
		e.Holders = append(e.Holders, h)
	}
	if e.mode.Val() {
		e.Kind = ReadWrite
	}
	e.Held = len(e.Holders)
	if e.size.Val() > maxHolders {
		e.Held = int(e.size.Val()) - 1
	}
	slices.SortFunc(e.Holders, func(a, b Holder) int { return strings.Compare(a.ID, b.ID) })
}

// longest is how long the last of a reader's leases lasts: 0 if none is left, negative if one never ends.
func longest(leases []*redis.DurationCmd) (left time.Duration) {
	for _, lease := range leases {
		if lease.Val() == noExpiry {
			return noExpiry
		}
		left = max(left, lease.Val())
	}
	return left
}

// noExpiry is the answer to PTTL for a key that never expires.
const noExpiry time.Duration = -1

// asPermits groups the permits by hold.
func (e *looked) asPermits(now time.Time) {
	e.Kind, e.Since, e.Fence = Permits, time.Time{}, 0
	e.Number, _ = strconv.ParseInt(e.number.Val(), 10, 64)
	holds := make(map[string]Holder)
	for _, z := range e.leases.Val() {
		member, _ := z.Member.(string)
		id := holdOf(member)
		ttl := time.Duration(z.Score-float64(now.UnixMilli())) * time.Millisecond
		if z.Score >= never {
			ttl = noExpiry
		}
		holds[id] = Holder{ID: id, Count: holds[id].Count + 1, TTL: ttl}
	}
	for _, id := range slices.Sorted(maps.Keys(holds)) {
		e.Holders = append(e.Holders, holds[id])
	}
	e.Held = len(e.Holders)
	if more := e.leased.Val() - int64(len(e.leases.Val())); more > 0 {
		e.Held += int(more)
	}
}

// never is the time of expiry of Redisson's permits that have none, in ms.
const never = 922337203685477

// holdOf is the id of the hold that a permit belongs to: before the last slash, or Redisson's 16 bytes in hex.
func holdOf(permit string) string {
	at := strings.LastIndexByte(permit, '/')
	if at < 0 || !holdID.MatchString(permit) {
		return hex.EncodeToString([]byte(permit))
	}
	return permit[:at]
}

// asNumber tells a number: which of them it is, only a channel says.
func (e *looked) asNumber() {
	var err error
	if e.Number, err = strconv.ParseInt(e.number.Val(), 10, 64); err != nil {
		e.is = 0
		return
	}
	e.Fence, e.Since = 0, time.Time{}
	switch {
	case e.is&ofLatchChannel != 0:
		e.Kind = Latch
	case e.is&ofPermitChannel != 0:
		e.Kind = Counting
	default:
		e.Kind = Number
	}
}

// asWaited tells a lock that nobody holds.
func (e *looked) asWaited() {
	switch {
	case e.is&ofRWChannel != 0, e.is&ofGate != 0 && e.is&ofKey == 0:
		e.Kind = ReadWrite
	case e.is&ofPermitChannel != 0:
		e.Kind, e.NoCapacity = Permits, true // nothing is at its key
	case e.is&ofLatchChannel != 0:
		e.Kind = Latch
	case e.is&ofLockChannel != 0:
		e.Kind = Lock
	}
	e.Known = e.Waiters <= 0 && e.Fence != 0
}

// nothing reports that there is nothing to tell.
func (e *looked) nothing() bool {
	return e.Held == 0 && e.Waiters <= 0 && !e.Known && (e.number == nil || e.number.Err() != nil || e.is == 0)
}

// owners asks who the clients are, for those that said so. It may be forbidden.
func (l *lister) owners(ctx context.Context, all []*looked) error {
	asked := make(map[string]*redis.StringCmd)
	err := l.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, e := range all {
			for _, h := range e.Holders {
				if client := clientOf(h.ID); client != "" && asked[client] == nil {
					asked[client] = pipe.Get(ctx, keys.Owner(client))
				}
			}
		}
	})
	if err != nil && !redis.IsPermissionError(err) {
		return err
	}
	for _, e := range all {
		for i := range e.Holders {
			if told := asked[clientOf(e.Holders[i].ID)]; told != nil {
				e.Holders[i].Owner = told.Val()
			}
		}
	}
	return nil
}

// clientOf is the id of the client that a hold belongs to.
func clientOf(id string) string {
	if !holdID.MatchString(id) {
		return ""
	}
	client, _, _ := strings.Cut(id, ":")
	return client
}
