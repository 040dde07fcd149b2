package volume

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Cloud holds disks and assigns their ids. The zero value is an empty cloud. Its methods may be called concurrently.
// Set its fields before use; Relist changes PageSize and Page later.
type Cloud struct {
	// Named makes Create use the external name as the id. By default the cloud assigns the id.
	Named bool

	// Tokens makes Create return the existing disk if the disk was created with the same token.
	Tokens bool

	// Window is the time after its creation in which a search may not find a disk. If it is set, clients can search for
	// the disk of a creation attempt. The default is no search.
	Window time.Duration

	// Account is the identity that clients return.
	Account string

	// Before, if set, is called before each call of a client, with the name of the call: Connect, Observe, Create, Update,
	// Delete, Recover or List. If it returns an error, the call has no effect and returns that error.
	Before func(ctx context.Context, call string, mg resource.Managed) error

	// After, if set, is called after a call has had its effect. The call returns its error.
	After func(ctx context.Context, call string, mg resource.Managed) error

	// Swallow, if set, is an error for Before to return. The call then has no effect and returns no error.
	Swallow error

	// Hidden, if set, returns whether clients do not find the disk.
	Hidden func(id string) bool

	// PageSize is the number of disks in a page of a list. The default is 100.
	PageSize int

	// Page, if set, may change a page of a list. If it returns an error, the call returns that error.
	Page func(token string, page *managed.ExternalListPage) error

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
	Source    string // the id of the disk that a snapshot was taken of
	Tier      string
	Token     string // of the attempt that created it
	Password  string // only readers of the Secret may see it
}

// A thing is a managed resource whose external resource is a disk.
type thing interface {
	resource.Managed

	want(have Disk) Disk // have, with the fields of the spec
	show(have Disk)      // copies the disk to the status
}

// Connect returns a client of the cloud.
func (c *Cloud) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	if err := c.enter(ctx, "Connect", mg); err != nil {
		return nil, err
	}

	if c.Window > 0 {
		return &searcher{session{c}, c.Window}, nil
	}

	return &session{c}, nil
}

// Disks returns all disks, sorted by id.
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

// Put creates or changes a disk directly, without a client.
func (c *Cloud) Put(d Disk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disks == nil {
		c.disks = map[string]Disk{}
	}
	c.disks[d.ID] = d
}

// Remove removes a disk directly, without a client.
func (c *Cloud) Remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.disks, id)
}

// Calls returns the names of the calls since the last Forget, in order.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return slices.Clone(c.calls)
}

// Forget removes the recorded calls.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Count returns the number of recorded calls with that name.
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

// byToken returns the disk that was created with a token.
func (c *Cloud) byToken(token string) (Disk, bool) {
	for _, d := range c.Disks() {
		if d.Token == token && token != "" {
			return d, true
		}
	}

	return Disk{}, false
}

type session struct{ cloud *Cloud }

// Identity returns the Account of the cloud.
func (c *session) Identity() string { return c.cloud.Account }

// A searcher is a session that can search for the disk of a creation attempt.
type searcher struct {
	session

	window time.Duration
}

// RecoverCreation searches for the disk that was created with a token.
func (s *searcher) RecoverCreation(ctx context.Context, mg resource.Managed, token string) (bool, error) {
	if err := s.cloud.enter(ctx, "Recover", mg); err != nil {
		return false, err
	}
	d, found := s.cloud.byToken(token)
	if !found || s.cloud.Hidden != nil && s.cloud.Hidden(d.ID) {
		return false, s.cloud.leave(ctx, "Recover", mg)
	}
	meta.SetExternalName(mg, d.ID)

	return true, s.cloud.leave(ctx, "Recover", mg)
}

// RecoveryWindow returns the Window of the cloud.
func (s *searcher) RecoveryWindow() time.Duration { return s.window }

func (c *session) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if err := c.cloud.enter(ctx, "Observe", mg); err != nil {
		return managed.ExternalObservation{}, err
	}
	id := meta.GetExternalName(mg)
	c.cloud.mu.Lock()
	d, exists := c.cloud.disks[id]
	c.cloud.mu.Unlock()
	if !exists || c.cloud.Hidden != nil && c.cloud.Hidden(id) {
		return managed.ExternalObservation{}, c.cloud.leave(ctx, "Observe", mg)
	}
	o, err := c.ObserveListed(ctx, mg, d)
	if err != nil {
		return o, err
	}

	return o, c.cloud.leave(ctx, "Observe", mg)
}

// Relist sets PageSize and Page. Clients may list meanwhile.
func (c *Cloud) Relist(size int, edit func(token string, p *managed.ExternalListPage) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.PageSize, c.Page = size, edit
}

// ListPage returns a page of the disks, sorted by id. The token is the last id of the previous page.
func (c *session) ListPage(ctx context.Context, token string) (page managed.ExternalListPage, err error) {
	if err := c.cloud.enter(ctx, "List", nil); err != nil {
		return page, err
	}
	c.cloud.mu.Lock()
	size, edit := c.cloud.PageSize, c.cloud.Page
	c.cloud.mu.Unlock()
	if size == 0 {
		size = 100
	}
	for _, d := range c.cloud.Disks() {
		if d.ID <= token || c.cloud.Hidden != nil && c.cloud.Hidden(d.ID) {
			continue
		}
		if len(page.Items) == size {
			page.Continue = page.Items[size-1].ExternalName

			break
		}
		page.Items = append(page.Items, managed.ListedResource{ExternalName: d.ID, Resource: d})
	}
	if edit != nil {
		err = edit(token, &page)
	}

	return page, err
}

// ObserveListed returns the observation of an object from its disk.
func (c *session) ObserveListed(_ context.Context, mg resource.Managed,
	listed any) (managed.ExternalObservation, error) {
	v, ok := mg.(thing)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("not a disk but a %T", mg)
	}
	d, ok := listed.(Disk)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("a %T was listed", listed)
	}
	v.show(d)
	v.SetConditions(commonv1.Available())
	want := v.want(d)
	o := managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: d == want,
		Diff:             fmt.Sprintf("sizeGiB: have %d, want %d", d.SizeGiB, want.SizeGiB),
	}
	if d.Password != "" {
		o.ConnectionDetails = managed.ConnectionDetails{"id": []byte(d.ID), "password": []byte(d.Password)}
	}
	if s, ok := mg.(*Snapshot); ok {
		o.ResourceLateInitialized = s.fill(d)
	}

	return o, nil
}

func (c *session) Create(ctx context.Context, mg resource.Managed) error {
	if err := c.cloud.enter(ctx, "Create", mg); err != nil {
		return err
	}
	v, ok := mg.(thing)
	if !ok {
		return errors.Errorf("not a disk but a %T", mg)
	}
	d := Disk{ID: meta.GetExternalName(mg), Token: managed.CreationToken(ctx)}
	made, again := c.cloud.byToken(d.Token)
	switch {
	case c.cloud.Tokens && again:
		d = made
	case !c.cloud.Named:
		c.cloud.mu.Lock()
		c.cloud.last++
		d.ID = fmt.Sprintf("vol-%d", c.cloud.last)
		c.cloud.mu.Unlock()
	}
	c.cloud.Put(v.want(d))
	meta.SetExternalName(mg, d.ID)

	return c.cloud.leave(ctx, "Create", mg)
}

func (c *session) Update(ctx context.Context, mg resource.Managed) error {
	if err := c.cloud.enter(ctx, "Update", mg); err != nil {
		return err
	}
	v, ok := mg.(thing)
	if !ok {
		return errors.Errorf("not a disk but a %T", mg)
	}
	c.cloud.mu.Lock()
	d := v.want(c.cloud.disks[meta.GetExternalName(mg)])
	c.cloud.disks[d.ID] = d
	c.cloud.mu.Unlock()

	return c.cloud.leave(ctx, "Update", mg)
}

func (c *session) Delete(ctx context.Context, mg resource.Managed) error {
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
