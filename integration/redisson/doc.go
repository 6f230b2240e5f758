// Package redisson tests the locks against Redisson itself: a Java process and this one contend for the same names on
// the same server. Other packages imitate what Redisson writes and expects, from its source; here no such reading is
// trusted. java/ is a Maven project with two programs: Contender follows the tests' commands, and HistoryClient takes
// part in histories. Package program builds them once a run. Maven fetches Redisson from Maven Central the first time.
// Without a JDK (17 or newer) or Maven the tests are skipped with a sentence that says so, and fail where CI is set in
// the environment; scripts/setup-java.sh installs both.
//
// Where a test is about messages, leases and polls are an hour long on both sides, so that only a message can wake a
// waiter.
package redisson
