// Package hygiene replaces checks of reviewers: its tests read this repository and fail where it grew too long,
// undocumented, heavy or wrong. Start with gates_test.go.
//
// It has tests only. Each of their messages names the remedy.
package hygiene
