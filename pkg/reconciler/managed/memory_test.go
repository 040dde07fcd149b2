package managed

import (
	"fmt"
	"testing"
	"unsafe"
)

func TestWritesAreRememberedForAWhile(t *testing.T) {
	o := &memo{}
	for i := range 3 * writesRemembered {
		o.writes(map[string]any{"key": fmt.Sprint(i), "other": "same"})
	}
	o.writes(map[string]any{"removed": nil})
	newest := 3*writesRemembered - 1
	if !o.ours("key", fmt.Sprint(newest)) || !o.ours("key", fmt.Sprint(newest-writesRemembered+1)) {
		t.Error("a write of late is forgotten")
	}
	if len(o.wrote["key"]) != writesRemembered || len(o.wrote["other"]) != 1 {
		t.Errorf("memory grows: %v", o.wrote)
	}
	if o.ours("key", "0") || o.ours("key", fmt.Sprint(newest)) {
		t.Error("what somebody else has changed since and set back is not our write")
	}
	if !o.ours("removed", "") || o.ours("never", "") {
		t.Error("a removal is a write, and nothing is none")
	}
}

// There is one for each object, whether anything happens to it or not. With the UID that is kept beside it, it
// fills 160 bytes, which the allocator hands out at once.
func TestMemoIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(memo{}); size > 144 {
		t.Errorf("a memo takes %d bytes; what few objects need belongs to troubles", size)
	}
}

// Between passes an object with which all is well takes next to nothing.
func TestMemoRests(t *testing.T) {
	o := (&memo{}).wake()
	o.Backoffs = 3
	o.writes(map[string]any{"key": "value"})
	o.rest()
	if o.troubles == nil || !o.ours("key", "value") {
		t.Error("what a pass that wrote has learned is forgotten")
	}

	if o.wake(); o.Backoffs != 3 {
		t.Errorf("a trouble is forgotten: %d", o.Backoffs)
	}
	o.Backoffs = 0
	o.rest()
	if o.troubles != nil || o.wrote != nil {
		t.Errorf("kept between passes: %v, %v", o.troubles, o.wrote)
	}
	if o.wake(); o.troubles == nil || o.Backoffs != 0 {
		t.Error("the next pass cannot note a trouble, or finds that of another object")
	}
}

// A pass over an object with which all is well makes no garbage of what it may have to note.
func TestMemoWakesWithoutGarbage(t *testing.T) {
	o := &memo{}
	if got := testing.AllocsPerRun(100, func() { o.wake().rest() }); got != 0 {
		t.Errorf("%v allocations in a pass", got)
	}
}
