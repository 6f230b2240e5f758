// Package embedded is a Redis inside the process, for examples and the quickstart where no Redis is at hand. It
// listens on a loopback port, runs Lua, expires keys by the real clock and delivers published messages.
//
// It is a miniredis, not a Redis: it persists nothing, and nobody outside the process should rely on it. A program
// that protects anything uses a real server.
package embedded
