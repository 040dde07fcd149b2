package device

import (
	"path/filepath"
	"testing"
)

func TestADirectoryIsServedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); err == nil {
		t.Error("two devices would write the same objects")
	}
	unlock()
	if unlock, err = lock(path); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
	unlock()
}
