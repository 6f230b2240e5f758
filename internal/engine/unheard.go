package engine

import "github.com/holdfast-go/holdfast/lua"

// noteUnheard has it logged, once, that releases are not published. What was released is free all the same, but
// who waits in another process finds that out only by looking, every MaxPoll.
func (e *Engine) noteUnheard(p Protocol, reply lua.ReleaseReply) {
	if reply.Receivers >= 0 || e.unheard.Swap(true) {
		return
	}
	right := "+publish"
	if e.sharded() {
		right = "+spublish"
	}
	e.news.warn("redis refused to publish a release, so other processes that wait learn of it late; the user "+
		"lacks a right", "rights", right+" &"+p.Channel(), "lock", p.Name())
}
