package store

// Queue is what a store needs to know of a lock whose waiters have a queue in it.
type Queue struct {
	Times     QueueTimes
	Client    string // channel of a client, but for the client: <Client><client id>
	Strangers string // channel on which those listen who do not know of the queue
}

// QueueTimes are the times of such a queue, in ms.
type QueueTimes struct {
	Life    int64 // a client that is not heard of for so long is taken for dead
	Step    int64 // the queue's clock goes on by that from one call to the next at most
	Unused  int64 // the queue's keys expire so long after the last call
	Grant   int64 // an invitation stands so long
	Restore int64 // a queue that was lost has so long to come back
	Run     int64 // the lock goes from one to the next so long without being free
	Pause   int64 // and then stays free so long, if anybody else listens
}
