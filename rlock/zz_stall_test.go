package rlock_test

import (
	"fmt"
	"time"
)

func init() {
	go func() {
		last := time.Now()
		for {
			time.Sleep(5 * time.Millisecond)
			now := time.Now()
			if g := now.Sub(last); g > 30*time.Millisecond {
				fmt.Printf("STALL %v at %v\n", g, now.Format("05.000"))
			}
			last = now
		}
	}()
}
