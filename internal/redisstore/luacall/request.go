package luacall

import "errors"

// Request lets a script recognise that it was carried out before, where Redisson's layout has no place for
// an id. The set of a name's requests lies in the name's slot.
//
// A request is remembered until no copy of it can arrive any more, whether it changed something or not.
// Otherwise a copy of a refused request would be carried out when the obstacle is gone.
type Request struct {
	Key      string // of the set
	ID       string // used only for this request
	NotAfter int64  // server time in µs, after which the call has no effect
	Until    int64  // server time in µs, until which it may be sent again under its id; not-after if later

	// Settled are earlier requests of the name that were answered, so they are not sent again.
	Settled []Settled
}

// Settled is a request that was answered. It must be remembered only until the not-after of its last copy.
type Settled struct {
	ID       string
	NotAfter int64 // server time in µs
}

func (r Request) check() error {
	errs := []error{checkKey("requests", r.Key), checkID(r.ID)}
	for _, s := range r.Settled {
		errs = append(errs, checkID(s.ID))
	}
	return errors.Join(errs...)
}

// with returns the arguments of a script: its keys, those common to all requests, the script's own, and the
// settled requests.
func (r Request) with(keys []any, own ...any) []any {
	args := make([]any, 0, len(keys)+3+len(own)+2*len(r.Settled))
	args = append(append(args, keys...), r.ID, r.NotAfter, max(r.Until, r.NotAfter))
	args = append(args, own...)
	for _, s := range r.Settled {
		args = append(args, s.NotAfter/1000+1, s.ID)
	}
	return args
}
