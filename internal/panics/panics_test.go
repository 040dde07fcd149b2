package panics_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/panics"
)

var errBoom = errors.New("boom")

func TestCall(t *testing.T) {
	var names map[string]string
	cases := map[string]struct {
		fn   func() error
		text string
		is   error
	}{
		"no panic":         {func() error { return nil }, "", nil},
		"an error":         {func() error { return errBoom }, "boom", errBoom},
		"a text":           {func() error { panic("at the disco") }, "panic: at the disco", nil},
		"an error's panic": {func() error { panic(errBoom) }, "panic: boom", errBoom},
		"a nil map":        {func() error { names["a"] = "b"; return nil }, "panic: assignment to entry in nil map", nil},
	}
	for name, tc := range cases {
		err := panics.Call(tc.fn)
		if (err == nil) != (tc.text == "") || err != nil && err.Error() != tc.text || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v, want %q", name, err, tc.text)
		}
		var p *panics.Error
		if errors.As(err, &p) && !strings.Contains(string(p.Stack), "panics_test.go") {
			t.Errorf("%s: the stack does not say where: %s", name, p.Stack)
		}
	}
}

type end struct{}

func (end) EndsProcess() {}

// TestEndsGoOn checks that the end of a process or of a goroutine is not turned into an error.
func TestEndsGoOn(t *testing.T) {
	func() {
		defer func() {
			if r := recover(); r != any(end{}) {
				t.Errorf("recovered %v", r)
			}
		}()
		err := panics.Call(func() error { panic(end{}) })
		t.Errorf("the process went on with %v", err)
	}()
	done := make(chan bool)
	go func() {
		defer close(done)
		_ = panics.Call(func() error { runtime.Goexit(); return nil })
		t.Error("the goroutine went on")
	}()
	<-done
}
