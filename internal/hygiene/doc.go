// Package hygiene is for what a reviewer should not have to look at: its tests read this repository and fail where it
// grew too long, undocumented, heavy or wrong.
//
// It holds tests only. Each of their messages says what to do.
package hygiene
