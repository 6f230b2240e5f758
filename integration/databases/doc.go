// Package databases tests package fence, and the examples that need a database server, against PostgreSQL and MariaDB.
// Each test starts servers of its own, in folders of its own; their packages are installed if they are missing.
package databases
