// Package pipeline lets commands that many goroutines send at the same time share round trips, and lets a caller
// leave when its context ends.
//
// A command that is alone is sent unchanged, at once, on the goroutine of its caller. While some are under way to
// a node, further ones gather, and the first exchange that ends sends all of them in one pipeline. So no command
// waits for others, and the more there are, the fewer writes and reads they take: at a thousand commands at once,
// client and server would otherwise spend most of their time on system calls.
//
// # Why it is safe
//
// Each command has its own reply and its own error. If the connection breaks in the middle, every command without
// a reply gets the error, and its sender treats it as one that may have been carried out. Nothing that may have
// been carried out is sent again. A command whose context ended before its pipeline was made is not sent. Each
// command times out by itself: a pipeline has as much time as its command that has most, and no less than the
// round trip takes, so a command with little time does not take down the others, or the connection. Each node has
// its own pipelines, so a node that hangs delays no other node's commands.
//
// # How many at a time
//
// Pipelines get shorter when they take long, down to single commands, so that a slow server does not get more
// than it can answer in time. The measure is the round trip of the node itself, taken from commands that are
// alone, at least one every few seconds. Only the time beyond that counts, in relation to the time limit of a
// command. So a distant node gets pipelines as long as those of a near one, or longer, and a stall has no effect
// after it ends.
//
// Commands to a node nearby gather until one of a few exchanges ends. To a distant node that would cost a caller up to
// a whole round trip, so it gets more exchanges at a time, and what gathers is the burst: answers that come
// together wake their callers together, and whoever of them sends again does so within microseconds. The first takes
// a place for all and lets the scheduler run the others before anything is sent. When nobody comes any more, the
// burst is shared out among the places that are free.
//
// # Bundles
//
// On a server that is no cluster, one script carries out the acquisitions that share a pipeline, and another one
// the releases (see [luacall.Bundles]). That costs Redis, whose single thread serves everybody, about half. Each is
// as independent of the others as before. A call whose answer a script cannot give in numbers, above all an
// error, is sent again by itself; nothing was done for it before. If a server refuses a bundle as a whole but
// carries out the single calls, for instance because it wants the keys of a script in one slot, it gets no more
// bundles.
//
// # Leaving
//
// A caller whose context ends while its command gathers gets [store.ErrUnsent]. A caller whose command is in a
// pipeline under way just leaves, because the pipeline is shared. A command that is alone is left through its
// connection, which is given up (see [links.Wires]). In both cases the caller gets [store.Left], by which it
// learns when the command was carried out or never will be, or its deadline has passed. Until then the command
// keeps its place among those under way. That bounds how many connections are given up, and how much piles up
// before a node that hangs: a few per node and time limit, however many callers come and go.
package pipeline
