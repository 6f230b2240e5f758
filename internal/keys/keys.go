package keys

import "strings"

// slots is the number of slots of a Redis Cluster.
const slots = 16384

// Prefix returns the key or channel that belongs to the object name and starts with prefix: prefix:{name},
// or prefix:name if the name contains an opening brace.
func Prefix(prefix, name string) string {
	if braced(name) {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// Own returns the key of something that belongs to the object name and that Redisson does not know. Unlike
// Prefix it returns different keys for different names: state must not be shared between n and {n}.
func Own(what, name string) string {
	if braced(name) {
		return "holdfast_" + what + "::" + name
	}
	return Prefix("holdfast_"+what, name)
}

// Token returns the key of a lock's fencing token, where Redisson's fenced lock has it.
func Token(lock string) string { return Prefix("redisson_lock_token", lock) }

// Channel returns the channel on which Redisson's plain lock publishes its releases.
func Channel(lock string) string { return Prefix("redisson_lock__channel", lock) }

// Owner returns the key that tells who a client is.
func Owner(client string) string { return "holdfast_owner:" + client }

// Wanted returns the channel on which a client hears that others wait for what it may not need. The scripts know it
// too.
func Wanted(client string) string { return "holdfast_wanted:" + client }

// Suffix returns the key or channel that belongs to the object name and ends with suffix: {name}:suffix,
// or name:suffix if the name contains an opening brace.
func Suffix(name, suffix string) string {
	if braced(name) {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

func braced(name string) bool { return strings.IndexByte(name, '{') >= 0 }

// Slot returns the slot of a cluster in which a key lies.
func Slot(key string) int { return int(crc16(tag(key)) % slots) }

// SameSlot reports whether all keys lie in the slot of the first, so that one script may use them on a
// cluster.
func SameSlot(key string, others ...string) bool {
	slot := Slot(key)
	for _, other := range others {
		if Slot(other) != slot {
			return false
		}
	}
	return true
}

// tag returns the part of the key that Redis hashes: the text between the first opening brace and the next
// closing one, or the whole key if there is no such text or it is empty. A closing brace before it does
// not count; Redisson itself gets that wrong.
func tag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return key
	}
	inner, _, found := strings.Cut(rest, "}")
	if !found || inner == "" {
		return key
	}
	return inner
}
