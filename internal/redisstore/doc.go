// Package redisstore is the store that keeps locks in Redis, Valkey and their like: one Lua script for each request,
// the connections that it is sent on (package links), in pipelines and bundles (package pipeline), and the messages by
// which servers tell of releases (package wake).
//
// # What it adds to the scripts
//
//   - A request of a lock goes to the node of its key, and with MinReplicas over a connection of its own, on which
//     WAIT follows: WAIT knows of the writes of its own connection only.
//   - Renewals of one node share scripts, up to a number of holds each, and a round trip.
//   - Where the server wants the keys of a script in one slot, or is moving one, several locks are served one by one.
//     It shows when a script is refused; what was refused did not run.
//   - Errors say what they mean for their sender (see [store.Fault]). A script that Redis answered with an error wrote
//     nothing: scripts check everything before their first write.
package redisstore
