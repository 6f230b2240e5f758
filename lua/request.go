package lua

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Request is how a script knows that it was carried out before. It is for what has no place for an id in
// Redisson's layout. The set of a name's requests lies in the name's slot.
//
// A request is remembered until no copy of it can come any more, whether it changed something or not: a
// copy of one that was refused would be carried out otherwise, when what was in its way is gone.
type Request struct {
	Key      string // of the set
	ID       string // of this request only
	NotAfter int64  // server time in µs, after which nothing must happen any more
	Until    int64  // server time in µs, until which it may be sent again under its id; not-after if later

	// Settled are earlier requests of the name that were answered, so that they are not sent again.
	Settled []Settled
}

// Settled is a request that was answered. It has to be remembered until the not-after of its last copy only.
type Settled = store.Settled

func (r Request) check() error {
	errs := []error{checkKey("requests", r.Key), checkID(r.ID)}
	for _, s := range r.Settled {
		errs = append(errs, checkID(s.ID))
	}
	return errors.Join(errs...)
}

// with are the arguments of a script: its keys, what all requests have, the script's own, and what is
// settled.
func (r Request) with(keys []any, own ...any) []any {
	args := make([]any, 0, len(keys)+3+len(own)+2*len(r.Settled))
	args = append(append(args, keys...), r.ID, r.NotAfter, max(r.Until, r.NotAfter))
	args = append(args, own...)
	for _, s := range r.Settled {
		args = append(args, s.NotAfter/1000+1, s.ID)
	}
	return args
}
