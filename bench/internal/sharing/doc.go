// Package sharing has no code, only tests: what happens where holdfast and another library lock one Redis key, as
// docs/migration.md tells it. Each library takes the key while the other one holds it.
package sharing
