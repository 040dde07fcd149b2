package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Contexts are those that a pass has asked with.
type contexts struct {
	*testing.T

	all, own map[string]context.Context // by what was asked; own: of the last call alone
	created  bool                       // the last call was Create
}

func (c *contexts) note(ctx context.Context, what string, own bool) {
	c.end("when "+what+" begins", c.own)
	c.all[what], c.own, c.created = ctx, map[string]context.Context{}, what == "Create"
	if own {
		c.own[what] = ctx
	}
}

func (c *contexts) end(when string, of map[string]context.Context) {
	for what, ctx := range of {
		if ctx.Err() == nil {
			c.Errorf("the context of %q goes on %s", what, when)
		}
	}
}

// write notes the contexts of writes. How a Create ended, and the status, are written with their own.
func (c *contexts) write(ctx context.Context, note string) error {
	what, _, _ := strings.Cut(note, " {")
	c.note(ctx, what, what == "patch status" || c.created)

	return nil
}

// TestContextsEndWithTheirCalls verifies that the context of each call is canceled after it, and that nothing
// continues after the pass.
func TestContextsEndWithTheirCalls(t *testing.T) {
	c := &contexts{T: t, all: map[string]context.Context{}}
	first := errLost
	w := newWorld(t, managed.WithCreationGracePeriod(0),
		managed.WithInitializers(managed.InitializerFn(func(ctx context.Context, _ resource.Managed) error {
			c.note(ctx, "Initialize", true)
			err := first
			first = nil

			return err
		})))
	w.cloud.Window = 30 * time.Second
	w.cloud.After = lost()
	w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if found := c.all["Recover"]; call == "Observe" && found != nil &&
			found.Err() == nil { // what it finds is stored first
			c.Error("the context of a lookup goes on when it is observed")
		}
		c.note(ctx, call, call != "Connect" && call != "Recover")

		return nil
	}
	w.answer = c.write
	w.create(nil)
	for _, step := range []func(){
		func() {}, func() {}, func() {}, func() { w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 }) }, w.delete,
	} {
		step()
		_, _ = w.try()
		c.end("after the pass", c.all)
		c.own = nil
	}
	for _, call := range []string{"Initialize", "Connect", "Recover", "Observe", "Create", "Update", "Delete",
		"patch", "patch status"} {
		if c.all[call] == nil {
			t.Errorf("%s was not called", call)
		}
	}
}

// TestTheContextOfAHandleEnds verifies that the context of the write of an operation handle is canceled.
func TestTheContextOfAHandleEnds(t *testing.T) {
	c := &contexts{T: t, all: map[string]context.Context{}}
	w, operations := newOperations(t)
	w.create(nil)
	w.pass()
	operations.left = 1
	w.pass()
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	w.answer = c.write
	w.pass()
	if c.end("after the pass", c.all); len(c.all) == 0 {
		t.Error("nothing was written")
	}
}

// TestTheContextOfARecordOfNothingEnds verifies that the context of the write of a fenced creation is canceled.
func TestTheContextOfARecordOfNothingEnds(t *testing.T) {
	asked, writes := 0, 0
	w := newWorld(t, managed.WithFence(func(context.Context) error {
		if asked++; asked > 1 {
			return errLost
		}

		return nil
	}))
	var last context.Context
	w.answer = func(ctx context.Context, note string) error {
		if strings.HasPrefix(note, "patch {") {
			last, writes = ctx, writes+1
		}

		return nil
	}
	w.create(nil)
	_, _ = w.try()
	if writes != 2 || last.Err() == nil || w.cloud.Count("Create") != 0 {
		t.Errorf("%d writes, %d calls of Create, and the context of the last write goes on: %t", writes,
			w.cloud.Count("Create"), last.Err() == nil)
	}
}
