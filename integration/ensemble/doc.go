// Package ensemble tests locks of package zklock on three servers of which some fail, stand still, or are cut off,
// while clients use them. A witness judges every run: no two holds are live at the same time, and tokens grow.
package ensemble
