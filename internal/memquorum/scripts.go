package memquorum

import (
	"math"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// lock is a hold. Its times are those of Redis, in ms by the server's clock.
type lock struct {
	id      string
	expires int64
}

// token is the newest of a name. It expires at a time, or never if that is 0.
type token struct{ newest, expires int64 }

const none = -2 * time.Millisecond // how PTTL says that there is nothing

func (s *Server) millisLocked() int64 { return s.nowLocked().UnixMilli() }

func (s *Server) lockLocked(key string) *lock {
	l := s.locks[key]
	if l != nil && s.millisLocked() >= l.expires {
		delete(s.locks, key)
		return nil
	}
	return l
}

// ownLocked is the lock if the hold has it.
func (s *Server) ownLocked(key, id string) *lock {
	if l := s.lockLocked(key); l != nil && l.id == id {
		return l
	}
	return nil
}

func (s *Server) pttlLocked(l *lock) time.Duration {
	if l == nil {
		return none
	}
	return time.Duration(l.expires-s.millisLocked()) * time.Millisecond
}

// tokenLocked is the stored token, 0 if there is none.
func (s *Server) tokenLocked(key string) token {
	t := s.tokens[key]
	if t.expires != 0 && s.millisLocked() >= t.expires {
		delete(s.tokens, key)
		return token{}
	}
	return t
}

// raiseLocked stores a newer token, by the rules of fragment_quorum_fence.lua and fragment_quorum_raise.lua.
func (s *Server) raiseLocked(key string, to, fenceTTL int64) {
	t, now := s.tokenLocked(key), s.nowLocked().UnixMicro()
	ahead := max(0, int64(math.Ceil(float64(t.newest-now)/1000)))
	life := int64(math.Ceil(float64(fenceTTL) * 1.25))
	switch ms := s.millisLocked(); {
	case fenceTTL < 0:
		t.expires = 0
	case t.newest == 0:
		t.expires = ms + life
	case t.expires != 0 && t.expires-ms < fenceTTL+ahead:
		t.expires = ms + life + ahead
	}
	t.newest = to
	s.tokens[key] = t
}

// acquireLocked is quorum_acquire.lua.
func (s *Server) acquireLocked(a luacall.QuorumAcquireArgs) (r luacall.QuorumReply) {
	const most, room = 1023, 64
	now := s.nowLocked().UnixMicro()
	r.Now = now
	if now > a.NotAfter {
		r.Status = luacall.TooLate
		return r
	}
	if a.LeastUptime > 0 && s.uptimeLocked() < a.LeastUptime {
		r.Status = luacall.Young
		return r
	}
	l := s.lockLocked(a.Lock)
	r.PTTL = s.pttlLocked(l)
	switch {
	case l == nil:
		r.Status = luacall.Held
		s.locks[a.Lock] = &lock{id: a.ID, expires: s.millisLocked() + a.Lease}
	case l.id == a.ID:
		r.Status = luacall.Already
	default:
		r.Status = luacall.Busy
		return r
	}
	stored := s.tokenLocked(a.Token).newest
	newer := a.Fence > stored
	if newer && (a.Window < 0 || now <= a.Fence && a.Fence <= now+a.Window) {
		r.Accepted = true
		s.raiseLocked(a.Token, a.Fence, a.FenceTTL)
	}
	step := int64(1)
	if stored+room <= now+a.Window {
		step = room
	}
	r.Fence = max(stored+step, now)
	if r.Accepted || a.Window < 0 && a.Fence > 0 && !newer {
		r.Accepted, r.Fence = true, a.Fence
	}
	if stored*2 > now && r.Fence > stored {
		r.Spare = min(r.Fence-stored-1, most)
	}
	return r
}

// renewLocked is quorum_renew.lua.
func (s *Server) renewLocked(holds []luacall.QuorumHold, fenceTTL int64) (r luacall.QuorumReply) {
	for _, h := range holds {
		l := s.ownLocked(h.Lock, h.ID)
		if l == nil {
			r.Renewals = append(r.Renewals, luacall.RenewGone)
			continue
		}
		l.expires = s.millisLocked() + h.TTL
		if s.tokenLocked(h.Token).newest < h.Fence {
			s.raiseLocked(h.Token, h.Fence, fenceTTL)
		}
		r.Renewals = append(r.Renewals, luacall.Renewed)
	}
	return r
}

// releaseLocked is release.lua, without its message: nobody listens.
func (s *Server) releaseLocked(a luacall.ReleaseArgs) (r luacall.QuorumReply) {
	if a.WantNow {
		r.Now = s.nowLocked().UnixMicro()
	}
	r.Status = luacall.Gone
	if s.ownLocked(a.Lock, a.ID) != nil {
		r.Status = luacall.Done
		delete(s.locks, a.Lock)
	}
	return r
}

// inspectLocked is inspect.lua.
func (s *Server) inspectLocked(key, fence string) (r luacall.QuorumReply) {
	l := s.lockLocked(key)
	r.Seen = luacall.InspectReply{PTTL: s.pttlLocked(l), Fence: s.tokenLocked(fence).newest}
	if l != nil {
		r.Seen.Holders = []luacall.Holder{{ID: l.id, Count: 1}}
	}
	return r
}
