// Package postgres tests what package pglock does when servers of PostgreSQL fail over, with thousands of holds, and in
// processes that are killed. Faults whose tests take seconds are tested beside package pglock itself.
package postgres
