package luacall

import "fmt"

var levelsScript = newScript("levels")

// Levels tells how many levels a hold has: to instead of from, if that is what stands. The reply is what stands then;
// 0: the hold does not exist.
func Levels(lock, id string, from, to int64) *Call[int64] {
	if err := check("levels", checkKey("lock", lock), checkID(id), checkLevels(from), checkLevels(to)); err != nil {
		return refuse[int64](err)
	}
	return newCall(&levelsScript, 1, decodeLevels, lock, id, from, to)
}

func decodeLevels(value any) (int64, error) {
	r := reader{values: []any{value}}
	stands := r.int(0)
	if stands < 0 {
		r.fail(&ReplyError{fmt.Sprintf("a hold of %d levels", stands)})
	}
	return stands, r.err
}
