package distance

import (
	"fmt"
	"time"
)

// Name is what a distance is called in tables.
func Name(d time.Duration) string {
	if d == 0 {
		return "loopback"
	}
	return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
}
