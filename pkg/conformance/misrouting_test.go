package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// atPage makes a call, or calls instead if a page of the status replaces its response.
func atPage(status page, p *diskClient, call, instead func() error) error {
	p.mu.Lock()
	now := p.page
	p.mu.Unlock()
	if now == status {
		return instead()
	}

	return call()
}

func well() error { return nil }

// observesAt returns a client whose Observe calls instead while a page of the status is served.
func observesAt(status page, instead func() error) wreck {
	return wreck{observe: func(ctx context.Context, p *diskClient,
		v *volume.Volume) (o managed.ExternalObservation, err error) {
		err = atPage(status, p, func() (err error) { o, err = p.Observe(ctx, v); return err }, instead)

		return o, err
	}}
}

// negativeCache returns a client that caches, for all connections, which disks were not found.
func negativeCache() wreck {
	missing := map[string]bool{}

	return wreck{
		observe: func(ctx context.Context, p *diskClient, v *volume.Volume) (managed.ExternalObservation, error) {
			id := meta.GetExternalName(v)
			if missing[id] && id != "" {
				return managed.ExternalObservation{}, nil
			}
			o, err := p.Observe(ctx, v)
			missing[id] = err == nil && !o.ResourceExists

			return o, err
		},
		create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			err := p.Create(ctx, v)
			delete(missing, meta.GetExternalName(v))

			return err
		},
	}
}

// misled are defects of clients in handling responses that are not from the external system, or are false.
var misled = map[string]defect{
	"NotFoundOnPages": {
		reason: "every 404 is taken for absence", class: Opaque, property: "unknown-is-not-absent",
		says:  "while a page with the status 404 answers in the place of the external system, Observe of vol says",
		wreck: observesAt(404, well),
	},
	"NotFoundWithoutRights": {
		reason: "what may not be seen is said not to exist", class: Named, property: "unknown-is-not-absent",
		says:  "status 403",
		wreck: observesAt(403, well),
	},
	"NotFoundBehindGateway": {
		reason: "what cannot be reached is said not to exist", class: Token, property: "unknown-is-not-absent",
		says:  "status 502",
		wreck: observesAt(502, well),
	},
	"PanicsOnPages": {
		reason: "what is no JSON is read all the same", class: Named, property: "calls-return",
		says:  "Observe of vol does not return: it panics: no field id",
		wreck: observesAt(502, func() error { panic("no field id") }),
	},
	"CreatesOnPages": {
		reason: "Create looks at no status", class: Opaque, property: "refused-is-told",
		says: "status 404 answers in the place of the external system, Create of another object returns no error",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return atPage(404, p, func() error { return p.Create(ctx, v) }, well)
		}},
	},
	"PassesOverRefusedUpdates": {
		reason: "that an update is invalid is passed over", class: Named, property: "refused-is-told",
		says: "status 422 answers in the place of the external system, Update of vol",
		wreck: wreck{update: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return atPage(422, p, func() error { return p.Update(ctx, v) }, well)
		}},
	},
	"PassesOverLargeUpdates": {
		reason: "that an update is too large is passed over", class: Named, property: "refused-is-told",
		says: "status 413 answers in the place of the external system, Update of vol",
		wreck: wreck{update: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return atPage(413, p, func() error { return p.Update(ctx, v) }, well)
		}},
	},
	"PassesOverRefusedDeletions": {
		reason: "that it may not delete is passed over", class: Token, property: "refused-is-told",
		says: "status 403 answers in the place of the external system, Delete of vol",
		wreck: wreck{remove: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return atPage(403, p, func() error { return p.Delete(ctx, v) }, well)
		}},
	},
	"NegativeCache": {
		reason: "a second look does not ask again, and another is created", class: Opaque, property: "at-most-one",
		says:  "there are 2 resources for vol",
		wreck: negativeCache(),
	},
	"PanicsAfter": {
		reason: "it panics when all is done", class: Token, property: "calls-return",
		says: "Create of vol does not return: it panics: no volume; until then it had created disk-1",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			_ = p.Create(ctx, v)
			panic("no volume")
		}},
	},
	"PanicsBefore": {
		reason: "it panics at once", class: Token, property: "calls-return",
		says:  "no volume; until then it had changed nothing outside",
		wreck: wreck{remove: func(context.Context, *diskClient, *volume.Volume) error { panic("no volume") }},
	},
}

// TestMisled: a client that misinterprets a page, a false absence or its own errors is found soon, by the name of the
// property that it breaks. TestClassesOfClients has correct clients in the same situations.
func TestMisled(t *testing.T) {
	for name, c := range misled {
		t.Run(name, func(t *testing.T) { c.find(t) })
	}
}

// TestRecoversNothingBehindAPage: a client that reports a created resource as not created, because of a page, is found.
func TestRecoversNothingBehindAPage(t *testing.T) {
	d := newDiskService(Findable)
	k := examine(t, d.suite(hasty{&diskClient{d}}))
	if !k.findings.says("unknown-is-not-absent", "RecoverCreation of vol says that nothing was created") {
		t.Errorf("it is not found, but %v", k.findings.list)
	}
}

// A hasty client takes any error of a search for a result without a match.
type hasty struct{ *diskClient }

func (h hasty) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return h, nil
}

func (h hasty) RecoverCreation(ctx context.Context, mg resource.Managed, token string) (bool, error) {
	found, err := (&searcher{h.diskClient}).RecoverCreation(ctx, mg, token)
	if errors.As(err, new(page)) {
		return false, nil
	}

	return found, err
}

func (h hasty) RecoveryWindow() time.Duration { return time.Second }

// A gate is a diskService that blocks requests for one disk.
type gate struct {
	*diskService

	mu    sync.Mutex
	of    string
	held  chan struct{}
	opens chan struct{}
}

// Hold blocks requests for a disk.
func (g *gate) Hold(_ context.Context, id string) (<-chan struct{}, func(context.Context) error, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of, g.held, g.opens = id, make(chan struct{}), make(chan struct{})
	held, opens := g.held, g.opens

	return held, func(context.Context) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.of = ""
		close(opens)

		return nil
	}, nil
}

// pass waits while the disk is held.
func (g *gate) pass(ctx context.Context, id string) error {
	g.mu.Lock()
	held, opens, blocked := g.held, g.opens, id != "" && g.of == id
	if blocked {
		g.held = make(chan struct{}) // for the next call, for which no test waits
	}
	g.mu.Unlock()
	if !blocked {
		return nil
	}
	close(held)
	select {
	case <-opens:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestCallsThatWait: a client that waits while it holds a lock, or that continues to wait after
// its deadline, is found. One that does neither passes.
func TestCallsThatWait(t *testing.T) {
	cases := map[string]struct {
		reason string
		locks  bool
		deaf   bool
		says   string // "" if the client passes
	}{
		"Well": {reason: "each object waits for itself"},
		"Locks": {
			reason: "one lock is held while the system is asked", locks: true,
			says: "Observe of another object does not return",
		},
		"Deaf": {
			reason: "the end of the context is not heard", deaf: true,
			says: "it has to end when its context does",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var all sync.Mutex
			g := &gate{diskService: newDiskService(Named)}
			s := g.suite(&wreck{diskClient: &diskClient{g.diskService},
				observe: func(ctx context.Context, p *diskClient, v *volume.Volume) (managed.ExternalObservation, error) {
					if c.locks {
						all.Lock()
						defer all.Unlock()
					}
					asks := ctx
					if c.deaf {
						asks = context.WithoutCancel(ctx)
					}
					if err := g.pass(asks, meta.GetExternalName(v)); err != nil {
						return managed.ExternalObservation{}, err
					}

					return p.Observe(ctx, v)
				}})
			s.Probe, s.Within = g, time.Nanosecond
			if c.says != "" {
				s.CallTimeout = 250 * time.Millisecond
			}
			k := examine(t, s)
			if c.says == "" && len(k.findings.list) > 0 || c.says != "" && !k.findings.says("calls-return", c.says) {
				t.Errorf("%s: want %q, found %v", c.reason, c.says, k.findings.list)
			}
		})
	}
}

// says reports whether a finding of a property has a text.
func (f *findings) says(property, text string) bool {
	return slices.ContainsFunc(f.list, func(x finding) bool {
		return x.property == property &&
			strings.Contains(x.String(), text)
	})
}
