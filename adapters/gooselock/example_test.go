package gooselock_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/holdfast-go/holdfast/adapters/gooselock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Every process does this when it starts.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to :memory: is a database of its own

	migrations := fstest.MapFS{ // an embed.FS elsewhere
		"00001_orders.sql": {Data: []byte("-- +goose Up\nCREATE TABLE orders (id INTEGER);\n")},
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrations,
		goose.WithLocker(gooselock.New(rlock.New(client, "migrate:shop"))))
	if err != nil {
		log.Fatal(err)
	}
	results, err := provider.Up(context.Background())
	fmt.Println(len(results), err)
	// Output: 1 <nil>
}
