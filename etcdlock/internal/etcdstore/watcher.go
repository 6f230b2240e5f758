package etcdstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher sees when keys are deleted: those that waiters wait for, and those of holds. All of a client's watches are on
// one stream, which stays open from the first of them to Close, because the client's library logs in for each stream
// that it opens.
//
// A watch begins at the revision after that at which its key was seen. So it misses nothing, however late the server
// hears of it. Where the stream breaks, the next one has all watches again, from the same revisions.
type watcher struct {
	store   *Store
	running sync.WaitGroup

	mu      sync.Mutex // guards what follows
	begun   bool
	closed  bool
	last    int64 // number of a watch
	watches map[int64]*watched
	end     context.CancelFunc // of the present stream; nil: there is none
	out     []*pb.WatchRequest // that wait to be sent on it
	created []int64            // watches whose creation was not answered, in the order in which they are sent
	more    chan struct{}      // has an element if out may have
}

// watched is a key that is watched until it is deleted.
type watched struct {
	key  string
	from int64
	told func(at int64) // called once, with the revision of a deletion, or with 0: whether there was one cannot be seen
}

func (w *watcher) init(s *Store) {
	w.store, w.watches, w.more = s, make(map[int64]*watched), make(chan struct{}, 1)
}

// watch has told called when a key is deleted at a revision or later. It is called by a goroutine that must not wait,
// and perhaps before watch returns, or after drop.
func (w *watcher) watch(key string, from int64, told func(at int64)) (number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0
	}
	if !w.begun {
		w.begun = true
		w.running.Go(w.run)
	}
	w.last++
	w.watches[w.last] = &watched{key, from, told}
	w.createLocked(w.last)
	return w.last
}

// drop ends a watch.
func (w *watcher) drop(number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches[number] == nil {
		return
	}
	delete(w.watches, number)
	unsent := slices.IndexFunc(w.out, func(r *pb.WatchRequest) bool {
		return r.GetCreateRequest().GetWatchId() == number
	})
	if unsent < 0 {
		w.cancelLocked(number)
		return
	}
	w.out = slices.Delete(w.out, unsent, unsent+1)
	w.created = slices.DeleteFunc(w.created, func(n int64) bool { return n == number })
}

func (w *watcher) createLocked(number int64) {
	one := w.watches[number]
	w.created = append(w.created, number)
	w.sendLocked(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte(one.key), StartRevision: one.from, WatchId: number,
		Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT},
	}}})
}

func (w *watcher) cancelLocked(number int64) {
	w.sendLocked(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
		CancelRequest: &pb.WatchCancelRequest{WatchId: number},
	}})
}

func (w *watcher) sendLocked(r *pb.WatchRequest) {
	if w.end == nil { // the next stream begins with all watches
		return
	}
	w.out = append(w.out, r)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// restart has another stream take the place of the present one, whose server may stand still.
func (w *watcher) restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end()
	}
}

func (w *watcher) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.running.Wait()
}

const (
	leastPause = 10 * time.Millisecond // before a stream follows one that broke
	mostPause  = time.Second
)

// run has a stream open until the store hangs up.
func (w *watcher) run() {
	pause := leastPause
	for w.store.life.Err() == nil {
		if w.serve() {
			pause = leastPause
		}
		select {
		case <-time.After(pause):
		case <-w.store.life.Done():
		}
		pause = min(2*pause, mostPause)
	}
}

// serve opens a stream and reads from it until it breaks. It reports whether anything came.
func (w *watcher) serve() (served bool) {
	ctx, end := context.WithCancel(clientv3.WithRequireLeader(w.store.life))
	var sending sync.WaitGroup
	defer sending.Wait()
	defer end()
	w.begin(end)
	defer w.begin(nil)
	on := w.store.routes.take()
	defer w.store.routes.give(on)
	stream, err := pb.NewWatchClient(on.conn).Watch(ctx)
	if err != nil {
		return false
	}
	sending.Go(func() { w.send(ctx, stream) })
	for {
		reply, err := stream.Recv()
		if err != nil || !w.take(reply) {
			return served
		}
		w.store.routes.hears(on)
		served = true
	}
}

// begin has a stream be the present one, which end ends, and on which all watches are to be created; with nil none is.
func (w *watcher) begin(end context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end, w.out, w.created = end, nil, nil
	for _, number := range slices.Sorted(maps.Keys(w.watches)) {
		if end != nil {
			w.createLocked(number)
		}
	}
}

// send sends what is to be sent on a stream, until that ends.
func (w *watcher) send(ctx context.Context, stream pb.Watch_WatchClient) {
	for {
		select {
		case <-w.more:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		out := w.out
		w.out = nil
		w.mu.Unlock()
		for _, r := range out {
			if stream.Send(r) != nil {
				return // what is received says why
			}
		}
	}
}

// take does what a message on the stream says, and reports whether the stream is of use any longer: it is not, if the
// server does not know its user any more, who has to log in again.
func (w *watcher) take(reply *pb.WatchResponse) (ok bool) {
	one, from, at := w.takes(reply)
	switch {
	case one != nil:
		one.told(at)
	case at < 0:
		return false
	}
	if reply.Created && reply.Header.GetRevision() < from { // the server lags behind, or etcd went back
		w.store.compare()
	}
	return true
}

// takes is the watch that is over by a message, the revision at which the key of a new one was seen, and that of the
// deletion; below 0: the stream is of no use.
func (w *watcher) takes(reply *pb.WatchResponse) (one *watched, from, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	number := reply.WatchId
	if reply.Created { // the answers come in the order of the requests, and a refusal may have no number
		if len(w.created) == 0 || number >= 0 && number != w.created[0] {
			return nil, 0, -1
		}
		number, w.created = w.created[0], w.created[1:]
	}
	one = w.watches[number]
	switch {
	case reply.Canceled && unknown(reply.CancelReason):
		return nil, 0, -1
	case one == nil:
		return nil, 0, 0
	case len(reply.Events) > 0:
		w.cancelLocked(number)
		at = reply.Events[len(reply.Events)-1].Kv.ModRevision
	case !reply.Canceled:
		return nil, one.from - 1, 0
	}
	delete(w.watches, number)
	return one, 0, at
}

// unknown reports that a watch was refused because the server does not know any more who has opened the stream.
func unknown(reason string) bool {
	return strings.Contains(reason, rpctypes.ErrorDesc(rpctypes.ErrGRPCInvalidAuthToken)) ||
		strings.Contains(reason, rpctypes.ErrorDesc(rpctypes.ErrGRPCAuthOldRevision))
}
