package volume

import (
	"context"
	"fmt"
	"slices"
	"sync"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Cloud holds disks and assigns their ids. The zero value is an empty cloud.
// All methods may be called concurrently; the hooks must be set before use.
type Cloud struct {
	// Named makes the external name the id, instead of assigning one.
	Named bool

	// Before, if set, is called before each call of a client with its name
	// (Connect, Observe, Create, Update, Delete). Its error is the answer.
	Before func(ctx context.Context, call string, mg resource.Managed) error

	// After, if set, is called when the effect of a call has happened. Its
	// error is the answer.
	After func(ctx context.Context, call string, mg resource.Managed) error

	// Swallow, if set, is an error of Before that makes the call succeed
	// without an effect.
	Swallow error

	// Hidden, if set, says which disks do not show.
	Hidden func(id string) bool

	mu    sync.Mutex
	disks map[string]Disk
	last  int
	calls []string
}

// A Disk is an external resource.
type Disk struct {
	ID        string
	SizeGiB   int64
	UsedBytes int64
}

// Connect returns a client of the cloud.
func (c *Cloud) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	if err := c.enter(ctx, "Connect", mg); err != nil {
		return nil, err
	}

	return &client{c}, nil
}

// Disks returns what exists, sorted by id.
func (c *Cloud) Disks() []Disk {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Disk
	for _, d := range c.disks {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Disk) int {
		if a.ID < b.ID {
			return -1
		}

		return 1
	})

	return all
}

// Put makes a disk behind everybody's back, or changes it.
func (c *Cloud) Put(d Disk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disks == nil {
		c.disks = map[string]Disk{}
	}
	c.disks[d.ID] = d
}

// Remove a disk behind everybody's back.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.disks, id)
}

// Calls returns the names of the calls so far.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return slices.Clone(c.calls)
}

// Forget the calls so far.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Count returns how often a call was made.
func (c *Cloud) Count(call string) int {
	n := 0
	for _, name := range c.Calls() {
		if name == call {
			n++
		}
	}

	return n
}

func (c *Cloud) enter(ctx context.Context, call string, mg resource.Managed) error {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	c.mu.Unlock()
	if c.Before != nil {
		if err := c.Before(ctx, call, mg); err != nil {
			return err
		}
	}

	return ctx.Err()
}

func (c *Cloud) leave(ctx context.Context, call string, mg resource.Managed) error {
	if c.After == nil {
		return nil
	}

	return c.After(ctx, call, mg)
}

type client struct{ cloud *Cloud }

func (c *client) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if err := c.cloud.enter(ctx, "Observe", mg); err != nil {
		return managed.ExternalObservation{}, err
	}
	v, ok := mg.(*Volume)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("not a Volume but a %T", mg)
	}
	id := meta.GetExternalName(mg)
	c.cloud.mu.Lock()
	d, exists := c.cloud.disks[id]
	c.cloud.mu.Unlock()
	if !exists || c.cloud.Hidden != nil && c.cloud.Hidden(id) {
		return managed.ExternalObservation{}, c.cloud.leave(ctx, "Observe", mg)
	}
	v.Status.ID, v.Status.SizeGiB, v.Status.UsedBytes = d.ID, d.SizeGiB, d.UsedBytes
	v.SetConditions(commonv1.Available())

	return managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: d.SizeGiB == v.Spec.SizeGiB,
		Diff:             fmt.Sprintf("sizeGiB: have %d, want %d", d.SizeGiB, v.Spec.SizeGiB),
	}, c.cloud.leave(ctx, "Observe", mg)
}

func (c *client) Create(ctx context.Context, mg resource.Managed) error {
	if err := c.cloud.enter(ctx, "Create", mg); err != nil {
		return err
	}
	v, ok := mg.(*Volume)
	if !ok {
		return errors.Errorf("not a Volume but a %T", mg)
	}
	c.cloud.mu.Lock()
	id := meta.GetExternalName(mg)
	if !c.cloud.Named {
		c.cloud.last++
		id = fmt.Sprintf("vol-%d", c.cloud.last)
	}
	c.cloud.mu.Unlock()
	c.cloud.Put(Disk{ID: id, SizeGiB: v.Spec.SizeGiB})
	meta.SetExternalName(mg, id)

	return c.cloud.leave(ctx, "Create", mg)
}

func (c *client) Update(ctx context.Context, mg resource.Managed) error {
	if err := c.cloud.enter(ctx, "Update", mg); err != nil {
		return err
	}
	v, ok := mg.(*Volume)
	if !ok {
		return errors.Errorf("not a Volume but a %T", mg)
	}
	c.cloud.mu.Lock()
	d := c.cloud.disks[meta.GetExternalName(mg)]
	d.SizeGiB = v.Spec.SizeGiB
	c.cloud.disks[d.ID] = d
	c.cloud.mu.Unlock()

	return c.cloud.leave(ctx, "Update", mg)
}

func (c *client) Delete(ctx context.Context, mg resource.Managed) error {
	if err := c.cloud.enter(ctx, "Delete", mg); err != nil {
		if c.cloud.Swallow != nil && errors.Is(err, c.cloud.Swallow) {
			return nil
		}

		return err
	}
	c.cloud.mu.Lock()
	delete(c.cloud.disks, meta.GetExternalName(mg))
	c.cloud.mu.Unlock()

	return c.cloud.leave(ctx, "Delete", mg)
}
