package lua_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lua"
)

// A hold begins with Acquire and ends with Release. A second Acquire under the same id is
// taken for a copy of the first.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	ctx := context.Background()

	acquire := func(id string) *lua.Call[lua.AcquireReply] {
		return lua.Acquire(lua.AcquireArgs{
			Lock: "order:1001", Token: "redisson_lock_token:{order:1001}", ID: id,
			Lease:    30_000,
			NotAfter: time.Now().Add(5 * time.Second).UnixMicro(),
			FenceTTL: 7 * 24 * 60 * 60 * 1000,
		})
	}
	for _, id := range []string{"client-1:1", "client-1:1", "client-2:1"} {
		reply, err := acquire(id).Run(ctx, rdb)
		fmt.Println(id, reply.Status, err)
	}
	released, err := lua.Release(lua.ReleaseArgs{
		Lock: "order:1001", ID: "client-1:1", Channel: "redisson_lock__channel:{order:1001}",
	}).Run(ctx, rdb)
	fmt.Println(released.Status, err)
	// Output:
	// client-1:1 held <nil>
	// client-1:1 already <nil>
	// client-2:1 busy <nil>
	// done <nil>
}

// RunAll sends many calls at once; each gets its own answer.
func ExampleRunAll() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	server.HSet("a", "client-1:1", "1")
	server.SetTTL("a", 30*time.Second)
	_ = server.Set("c", "a string, not a lock")

	var calls []*lua.Call[lua.ReleaseReply]
	for _, name := range []string{"a", "b", "c"} {
		calls = append(calls, lua.Release(lua.ReleaseArgs{
			Lock: name, ID: "client-1:1", Channel: "redisson_lock__channel:{" + name + "}",
		}))
	}
	lua.RunAll(context.Background(), rdb, calls)
	for _, call := range calls {
		fmt.Println(call.Reply.Status, call.Err)
	}
	// Output:
	// done <nil>
	// gone <nil>
	// busy lua: the key holds something else: it is of another type
}
