package httplock_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/adapters/httplock"
	"github.com/holdfast-go/holdfast/rlock"
)

// One request at a time works on an order, on whichever server; the others wait for two seconds at most.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	locked := httplock.Middleware(func(r *http.Request) rlock.Locker {
		return rlock.New(client, "order:"+r.PathValue("id"), rlock.MaxWait(2*time.Second))
	})
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}", locked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// r.Context() carries the hold, and ends when it is lost.
		fmt.Fprint(w, "charged ", r.PathValue("id"))
	})))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/orders/1001", nil))
	fmt.Println(answer.Code, answer.Body)
	// Output: 200 charged 1001
}
