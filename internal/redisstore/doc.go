// Package redisstore is the store that keeps locks in Redis, Valkey and compatible servers: one Lua script per
// request, connections (package links), the pipe that requests share (package pipeline), and the messages by which
// servers announce releases (package wake).
//
// # What it adds to the scripts
//
//   - A request of a lock goes to the node of its key. With MinReplicas or Fsync it goes over its own connection,
//     followed by WAIT or WAITAOF on the same one: these cover only the writes of their own connection.
//   - Renewals of one node share scripts, up to a number of holds each, and a round trip. If the connection is silent
//     for half of their time, and may have been forgotten on the way, they are sent once more by another one.
//   - Where the server wants the keys of a script in one slot, locks are served one by one. While a slot migrates,
//     renewals and releases are sent key by key, and what takes a free name waits until the slot has moved.
//     A refused script shows this; it did not run.
//   - Errors say what they mean for their sender (see [store.Fault]). A script that Redis answered with an error wrote
//     nothing: scripts check everything before their first write.
package redisstore
