// Package frames bounds what a server may send, before go-redis reads it.
//
// go-redis allocates what the header of a value says, and follows nested values as deep as they go. A header is a few
// bytes that anybody can write: "$9223372036854775807" panics, "*100000000000" ends the process for want of memory, and
// neither can be recovered from by the caller, since go-redis also reads in goroutines of its own. So a [Bound]
// connection follows the headers, and ends with an error instead of passing on one that goes too far.
//
// A frame is one reply, or one message, with all values inside it. What is bounded is how much one frame may make its
// reader allocate, how deep it nests, and the length of a line. Only headers are looked at: the contents of a string,
// which are nearly all of a long reply, are skipped by their length, and nothing is copied or allocated.
//
// # What it is for, and what not
//
// Whatever a [Scanner] lets through, the reader of go-redis reads in the same frames, without a panic, and with no more
// memory than about twice [MaxFrame]. A server can still lie in a reply of the right form. And the connections that do
// not come from here are not bounded: those of the application's own client, and go-redis's to the Sentinels.
//
// Some frames that RESP allows are refused, because no Redis sends them and go-redis would lose its place in them, so
// that their rest would be taken for the next reply: attributes, types that are streamed, an error inside another
// value, null or an aggregate for the key of a map, and a push without a name, of which go-redis quotes all that it has
// of the connection, for each of as many as come. A connection that timed out inside a frame is at its end for
// the same reason: its reader has dropped what it had of the frame, and would begin in the middle.
package frames
