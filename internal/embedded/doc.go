// Package embedded is a Redis inside the process, for trying things out where no Redis is at
// hand: examples and the quickstart. It listens on a loopback port, runs Lua, expires keys by the
// real clock and delivers published messages.
//
// It is a miniredis, not a Redis: it keeps nothing, and nobody outside of the process should rely
// on it. Programs that guard anything use a real server.
package embedded
