package simredis

import "sync"

// queue is an unbounded buffer between two goroutines, in place of the network's buffers.
type queue[T any] struct {
	mu     sync.Mutex // guards what follows
	wake   *sync.Cond
	items  []T
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// push never blocks. After close it does nothing.
func (q *queue[T]) push(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.items = append(q.items, item)
		q.wake.Signal()
	}
}

// pop waits for an item. It returns false once the queue is closed and empty.
func (q *queue[T]) pop() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 {
		if q.closed {
			return item, false
		}
		q.wake.Wait()
	}
	item = q.items[0]
	q.items = q.items[1:]
	return item, true
}

func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}
