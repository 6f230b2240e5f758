// Package pipeline lets commands that many goroutines send at one time share round trips, and lets each of
// them leave when its context ends.
//
// A command that is alone goes out as it is, at once, on the goroutine of its caller. While some are under
// way to a node, further ones gather, and whoever comes back first sees to it that all of them follow in one
// pipeline. So nobody waits for company, and the more there is to do, the fewer the writes and reads that it
// takes: at a thousand commands at once, both client and server otherwise spend most of their time on system
// calls.
//
// # Why it is safe
//
// Each command keeps its own reply and its own error. If the connection breaks in the middle, every command
// that had no reply yet gets the error, and whoever sent it treats it as before: as one that may have been
// carried out. Nothing that may have been carried out is sent again. A
// command whose context ended before its pipeline was made is not sent. Each command times out by itself: a
// pipeline has as much time as the one of its commands that has most, and no less than the way there and back
// takes, so that nobody who has little time takes the others down, or the connection. Those of other nodes are
// sent apart, so a node that hangs delays nobody else's.
//
// # How many at a time
//
// Pipelines get shorter when they take long, down to single commands, so that a slow server is not given more
// than it can answer in time. How long is reckoned from the round trip of the node itself, which is measured by
// commands that are alone, one every few seconds at least: only what a pipeline takes beyond that counts, in
// relation to the time limit of a command. So a node that is far away gets pipelines that are as long as those
// of one nearby, or longer, and a stall is over when it is over.
//
// # Bundles
//
// On a server that is no cluster, acquisitions that share a pipeline are carried out by one script, and so are
// releases (see [lua.Bundles]): that costs Redis, of which one thread has to serve everybody, about half. Each
// is as independent of the others as before. What a script cannot answer in numbers, an error above all, is
// sent again by itself; nothing was done for it before. A server that refuses a bundle as a whole and carries its
// calls out, as one does that wants the keys of a script in one slot, is sent no more of them.
//
// # Leaving
//
// A caller whose context ends while its command gathers has [store.ErrUnsent]. Out of a pipeline that is under way
// it just goes: the pipeline is everybody's. A command that is alone is left by way of its connection, which
// is given up (see [links.Wires]). In both cases the caller has [store.Left], by which it learns when the command
// was carried out or never will be, or its deadline is over; until then the command keeps its place among those
// under way. That bounds
// how many connections are given up, and how much piles up in front of a node that hangs: a few per node and
// time limit, however many callers come and go.
package pipeline
