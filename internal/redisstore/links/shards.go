package links

import "sync"

// shards are the nodes of a cluster that serve keys: of each that was asked for, its name, and a key that it served
// then.
//
// Nodes come back under other addresses, and what is known of each by its name must not grow for as long as a client
// lives. So when a node is new, those go whose key another one serves by now. A node that has lost only that slot goes
// as well, and is new when it is asked for again: what was known of it is learned once more.
type shards struct{ keys sync.Map }

func (s *shards) has(name string) bool {
	_, ok := s.keys.Load(name)
	return ok
}

// add adds a node that serves a key; serving says which node serves any. The new one goes, too, if its time is over.
func (s *shards) add(name, key string, serving func(key string) string) {
	s.keys.Store(name, key)
	s.keys.Range(func(one, of any) bool {
		if serving(of.(string)) != one {
			s.keys.CompareAndDelete(one, of)
		}
		return true
	})
}
