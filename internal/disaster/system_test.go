package disaster_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A class is a way in which a create is safe to repeat. Its name is the namespace of its objects.
type class struct {
	name    string
	cloud   func() *volume.Cloud
	options []managed.ReconcilerOption
}

func classes() []class {
	return []class{
		{"named", func() *volume.Cloud { return &volume.Cloud{Named: true} }, []managed.ReconcilerOption{
			managed.WithDeterministicExternalName(true), managed.WithInitializers(managed.NameAsExternalName{}),
		}},
		{"token", func() *volume.Cloud { return &volume.Cloud{Tokens: true} },
			[]managed.ReconcilerOption{managed.WithCreationTokens()}},
		{"findable", func() *volume.Cloud { return &volume.Cloud{Window: time.Second} }, nil},
		{"opaque", func() *volume.Cloud { return &volume.Cloud{} }, nil},
	}
}

// assigned are the classes whose names the external system chooses.
func assigned() []string { return []string{"token", "findable", "opaque"} }

// A system is an external system of one class. Its disks bear the stamps of their owners.
type system struct {
	class
	cloud *volume.Cloud

	mu    sync.Mutex
	marks map[string]managed.Stamp // by disk

	// changes counts the calls by cluster that change something.
	changes map[types.UID]int

	// Create of an object whose name begins with slow is answered when released is closed.
	begun    int // of these
	released chan struct{}
}

// slow is the prefix of the names of objects whose Create is not answered before it is released.
const slow = "slow-"

func newSystem(c class) *system {
	return &system{
		class: c, cloud: c.cloud(), marks: map[string]managed.Stamp{},
		changes: map[types.UID]int{}, released: make(chan struct{}),
	}
}

// changed returns how many calls of a cluster changed something.
func (s *system) changed(by types.UID) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.changes[by]
}

// await returns when slow creations are answered.
func (s *system) await(ctx context.Context) {
	s.mu.Lock()
	s.begun++
	s.mu.Unlock()
	select {
	case <-s.released:
	case <-ctx.Done():
	}
}

// creating returns how many slow creations have begun.
func (s *system) creating() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.begun
}

// owned returns the disks of each stamp.
func (s *system) owned() map[managed.Stamp][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	owned := map[managed.Stamp][]string{}
	for _, d := range s.cloud.Disks() {
		owned[s.marks[d.ID]] = append(owned[s.marks[d.ID]], d.ID)
	}

	return owned
}

// A backup is the content of a system at one time.
type backup struct {
	disks []volume.Disk
	marks map[string]managed.Stamp
}

func (s *system) backup() backup {
	s.mu.Lock()
	defer s.mu.Unlock()

	return backup{s.cloud.Disks(), maps.Clone(s.marks)}
}

// restore replaces the content of a system by a backup.
func (s *system) restore(b backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.cloud.Disks() {
		if !slices.ContainsFunc(b.disks, func(old volume.Disk) bool { return old.ID == d.ID }) {
			s.cloud.Remove(d.ID)
		}
	}
	for _, d := range b.disks {
		s.cloud.Put(d)
	}
	s.marks = maps.Clone(b.marks)
}

// connecter connects the objects of a cluster.
func (s *system) connecter(cluster types.UID) managed.ExternalConnecter {
	return managed.ExternalConnectorFn(func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
		inner, err := s.cloud.Connect(ctx, mg)
		if err != nil {
			return nil, err
		}

		return &session{inner, s, cluster, stampOf(cluster, mg)}, nil
	})
}

// stampOf returns the stamp of an object of a cluster.
func stampOf(cluster types.UID, mg resource.Managed) managed.Stamp {
	return managed.NewStamp(cluster, schema.GroupKind{Group: volume.Kind.Group, Kind: volume.Kind.Kind}, mg)
}

// A session is a client that stores stamps, as docs/backup.md requires.
type session struct {
	managed.ExternalClient

	system  *system
	cluster types.UID
	own     managed.Stamp
}

// Unwrap returns the client of the cloud, which may be able to look creations up.
func (c *session) Unwrap() any { return c.ExternalClient }

func (c *session) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := c.ExternalClient.Observe(ctx, mg)
	if err != nil || !o.ResourceExists {
		return o, err
	}
	o.ConnectionDetails = managed.ConnectionDetails{"id": []byte(meta.GetExternalName(mg))}
	c.system.mu.Lock()
	found := c.system.marks[meta.GetExternalName(mg)]
	c.system.mu.Unlock()
	if o.Owner = c.own.Owner(string(found)); o.Owner == managed.OwnerOther {
		o.OwnerStamp, o.ResourceUpToDate = found, false
	}

	return o, nil
}

func (c *session) Create(ctx context.Context, mg resource.Managed) error {
	c.note()
	err := c.ExternalClient.Create(ctx, mg)
	if err != nil {
		return err
	}
	c.mark(mg)
	if strings.HasPrefix(mg.GetName(), slow) {
		c.system.await(ctx)
	}

	return nil
}

func (c *session) Update(ctx context.Context, mg resource.Managed) error {
	c.note()
	err := c.ExternalClient.Update(ctx, mg)
	if err == nil {
		c.mark(mg)
	}

	return err
}

func (c *session) Delete(ctx context.Context, mg resource.Managed) error {
	c.note()

	return c.ExternalClient.Delete(ctx, mg)
}

func (c *session) note() {
	c.system.mu.Lock()
	defer c.system.mu.Unlock()
	c.system.changes[c.cluster]++
}

func (c *session) mark(mg resource.Managed) {
	c.system.mu.Lock()
	defer c.system.mu.Unlock()
	c.system.marks[meta.GetExternalName(mg)] = c.own
}
