// Package redisson tests the locks against Redisson itself: a Java process and this one contend for the
// same names on the same server.
//
// What Redisson writes and expects is imitated in other packages, from its source; here nobody has to
// have read it rightly. java/ is a Maven project with one class that does what the tests tell it, built
// once a run; Maven fetches Redisson from Maven Central the first time. Where there is no JDK (17 or newer)
// or no Maven the tests are skipped with a sentence that says so, and fail where CI is set in the
// environment; scripts/setup-java.sh installs both.
//
// Where a test is about messages, leases and polls are an hour long on both sides, so that nothing but
// a message can wake a waiter.
package redisson
