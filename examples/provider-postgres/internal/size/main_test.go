package main

import (
	"testing"
	"testing/fstest"
)

// TestCount counts lines with a token, of files that are neither tests nor generated.
func TestCount(t *testing.T) {
	const text = "// Package a is a.\npackage a\n\n/* a\ncomment */\nconst b = `one\ntwo` // and three\n"
	folder := fstest.MapFS{}
	for _, name := range []string{"a.go", "b/a.go", "a_test.go", "zz_generated.a.go", "a.txt"} {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if got, err := count(folder); got != 6 || err != nil {
		t.Errorf("got %d, %v, want 3 lines of each of 2 files", got, err)
	}
}
