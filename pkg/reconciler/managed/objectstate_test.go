package managed

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"
)

func TestWritesAreRememberedForAWhile(t *testing.T) {
	o := &objectState{}
	for i := range 3 * writesRemembered {
		o.recordWrite(map[string]any{"key": fmt.Sprint(i), "other": "same"})
	}
	o.recordWrite(map[string]any{"removed": nil})
	newest := 3*writesRemembered - 1
	if !o.isOwnEcho("key", fmt.Sprint(newest)) || !o.isOwnEcho("key", fmt.Sprint(newest-writesRemembered+1)) {
		t.Error("a write of late is forgotten")
	}
	if len(o.written.values["key"]) != writesRemembered || len(o.written.values["other"]) != 1 {
		t.Errorf("memory grows: %v", o.written.values)
	}
	if o.isOwnEcho("key", "0") || o.isOwnEcho("key", fmt.Sprint(newest)) {
		t.Error("what somebody else has changed since and set back is not our write")
	}
	if !o.isOwnEcho("removed", "") || o.isOwnEcho("never", "") {
		t.Error("a removal is a write, and nothing is none")
	}
}

// TestObjectStateSize verifies that the state of each object, with its UID, fits into 160 bytes, a size class of
// the allocator.
func TestObjectStateSize(t *testing.T) {
	if size := unsafe.Sizeof(objectState{}); size > 144 {
		t.Errorf("a memo takes %d bytes; what few objects need belongs to troubles", size)
	}
}

// TestObjectStateReleasesMemory verifies that a healthy object takes next to no memory between passes.
func TestObjectStateReleasesMemory(t *testing.T) {
	var unused sync.Pool
	o := (&objectState{}).acquire(&unused)
	o.Backoffs = 3
	o.recordWrite(map[string]any{"key": "value"})
	o.release(&unused)
	if o.coldState == nil || !o.isOwnEcho("key", "value") {
		t.Error("what a pass that wrote has learned is forgotten")
	}

	if o.acquire(&unused); o.Backoffs != 3 {
		t.Errorf("a trouble is forgotten: %d", o.Backoffs)
	}
	o.Backoffs = 0
	o.release(&unused)
	if o.coldState != nil || o.written.values != nil {
		t.Errorf("kept between passes: %v, %v", o.coldState, o.written.values)
	}
	if o.acquire(&unused); o.coldState == nil || o.Backoffs != 0 {
		t.Error("the next pass cannot note a trouble, or finds that of another object")
	}
}

// TestAcquireDoesNotAllocate verifies that a pass over a healthy object allocates no state.
func TestAcquireDoesNotAllocate(t *testing.T) {
	o, unused := &objectState{}, new(sync.Pool)
	if got := testing.AllocsPerRun(100, func() { o.acquire(unused).release(unused) }); got != 0 {
		t.Errorf("%v allocations in a pass", got)
	}
}
