// Package pipeline lets calls that many goroutines make at the same time share round trips, and lets a caller leave
// when its context ends.
//
// A pipe has for each node a queue of calls and up to eight workers. A call is appended and wakes a worker, if one is
// idle. A worker takes what is there, up to 128 calls or 64 kB, sends it as one exchange, answers each call, and takes
// again until nothing is there; then it parks. So a call that is alone is sent at once, and while all workers are in
// exchanges others gather: the more there are, the fewer writes and reads they take (databases call that group commit).
// Nothing waits for company, and nothing is timed or measured.
//
// # Why it is safe
//
// A call is in one of five states, and each change of it is one compare-and-swap (see the states of a call). So
//
//   - it is sent once: only the worker that changes it from queued to carried puts it into an exchange, and only what
//     writes that exchange changes it from carried to sent;
//   - one that was left before is never sent: the caller has changed it from queued or carried to left, and gets
//     [store.ErrUnsent], or another error that says so if its time was over. Nothing was written then, and nothing will
//     be. An exchange that waits for a connection has not been written, however long that takes;
//   - one that was written has one outcome: the caller takes the answer, or it leaves and gets [store.Left]. Both, or
//     neither, cannot be, even if its context ends at the moment at which the answer comes.
//
// When a caller has its answer, the pipe uses its call again for another request. It never uses a call again that was
// left, since the worker may still come to it.
//
// A caller that left learns by Left.Settled when the exchange is over, or the time of the call; the server refuses a
// script that comes after its not-after. Until then the call may be carried out, so nobody may rely on the contrary.
// Nothing orders two calls: a release that is sent when a caller leaves can overtake the acquisition that was left, on
// another connection. The clean-up after a call begins when it is settled.
//
// An exchange that fails is an error of its own calls alone: of each that has no reply, as one that may have been
// carried out, whatever another call of the exchange was told. Nothing that may have been carried out is sent again,
// here or in go-redis: its own retries are off (package links), and a script's command forbids them. On a cluster it
// follows MOVED and ASK, by which a node says that it carried nothing out.
//
// # Time
//
// Each call has a limit, after which it is not sent, and its caller does not wait for it. An exchange has a limit of
// its own, that of a command, whatever its calls have: a caller with little time takes down neither the others nor the
// connection. If a connection has to be made, the limits of the calls move (see [links.Together]). Over one that is
// there, and that may have been forgotten on the way, an exchange has half of that time if the node has been quick
// before. Each node has its own workers, so a node that hangs delays no other node's calls. It has at most eight
// exchanges under way, however many callers come and go, for as long as one command may take; what gathers meanwhile is
// never sent if its caller has left.
//
// Workers are started when there is something to do and no other is idle. They last until Join, which nothing outlasts,
// or until their node has been replaced: nodes of a cluster come back under other addresses. The workers of a
// node that serves no key any more end when the next new one comes. What has gathered there is still sent, to where its
// keys are by then.
//
// # Bundles
//
// On a server that is no cluster, one script carries out the acquisitions that share an exchange, and another one the
// releases; single permits of one semaphore have two scripts like these (see [luacall.Bundles]). That costs Redis,
// whose single thread serves everybody, about half, and less for permits, whose number changes once for all of them.
// Each call is as independent of the others as before. A call whose answer a script cannot give in numbers, above all
// an error, is sent again by itself; nothing was done for it before. If a server refuses a bundle as a whole but
// carries out the single calls, for instance because it wants the keys of a script in one slot, it gets no more
// bundles.
//
// # Why not go-redis's own
//
// AutoPipeline of go-redis (v9.23, "experimental") gathers commands too, and its documentation says why a lock cannot
// use it: "A per-command deadline or cancellation is therefore not honored once the command is queued". A caller cannot
// leave. A command that nobody wants any more is sent all the same, and may take the lock. And a caller that stops
// waiting cannot learn whether it was sent, nor when its exchange is over. "A batch that fails on a network error is
// retried as a whole", unless each command in it forbids that. By default it has one exchange under way, and it cannot
// make one script of several calls. What a lock needs is a queue and a state for each call, which are shorter than what
// would guard against the rest.
package pipeline
