package links

// IdleAfter is how long a connection counts as one that was in use a moment ago.
const IdleAfter = idleAfter
