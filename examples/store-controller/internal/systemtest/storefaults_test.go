package systemtest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// A fault is a failure of one call of a store.
type fault string

const (
	failBefore fault = "it fails, and nothing was done"
	failAfter  fault = "it fails, and it was done"
	hangBefore fault = "it does not end, and nothing was done"
	hangAfter  fault = "it does not end, and it was done"
	meddled    fault = "somebody else writes before it"
	severed    fault = "watches end with it"
	outage     fault = "nothing works for a minute"
)

var faults = []fault{failBefore, failAfter, hangBefore, hangAfter, meddled, severed, outage}

var errStore = errors.New("the store has failed")

// hang is the duration of a call without a response: the timeout of natskv.
const hang = 5 * time.Second

type sealed = *kube.Envelope[*volume.Volume]

// A tap is a store that records the calls of a provider, and injects faults.
type tap struct {
	*memory.Store[sealed]

	wrong  func(n int) fault // of call n, counted from 0; "" is none
	meddle func()

	mu    sync.Mutex
	calls []string
	until time.Time // the end of an outage
}

// begin records a call, and returns its fault.
func (s *tap) begin(call string) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.wrong(len(s.calls))
	s.calls = append(s.calls, call)
	switch {
	case f == outage:
		s.until = time.Now().Add(time.Minute)
		s.Store.Break()

		return failBefore
	case time.Now().Before(s.until):
		return failBefore
	default:
		return f
	}
}

// made returns the calls until now.
func (s *tap) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.calls)
}

// through makes a call, with its fault.
func through[R any](ctx context.Context, s *tap, call string, do func() (R, error)) (R, error) {
	var none R
	switch s.begin(call) {
	case failBefore:
		return none, errStore
	case failAfter:
		_, _ = do()

		return none, errStore
	case hangBefore:
		return none, unanswered(ctx)
	case hangAfter:
		_, _ = do()

		return none, unanswered(ctx)
	case meddled:
		s.meddle()
	case severed:
		s.Store.Break()
	default: // no fault, or the start of an outage
	}

	return do()
}

func unanswered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	<-ctx.Done()

	return ctx.Err()
}

func (s *tap) State(ctx context.Context) (store.State, error) {
	return through(ctx, s, "state", func() (store.State, error) { return s.Store.State(ctx) })
}

func (s *tap) Get(ctx context.Context, key string) (sealed, error) {
	return through(ctx, s, "get", func() (sealed, error) { return s.Store.Get(ctx, key) })
}

func (s *tap) Create(ctx context.Context, e sealed) (sealed, error) {
	return through(ctx, s, "create", func() (sealed, error) { return s.Store.Create(ctx, e) })
}

func (s *tap) Update(ctx context.Context, e sealed) (sealed, error) {
	return through(ctx, s, "update", func() (sealed, error) { return s.Store.Update(ctx, e) })
}

func (s *tap) UpdateStatus(ctx context.Context, e sealed) (sealed, error) {
	return through(ctx, s, "update status", func() (sealed, error) { return s.Store.UpdateStatus(ctx, e) })
}

func (s *tap) Delete(ctx context.Context, key string, o ...store.DeleteOption) error {
	_, err := through(ctx, s, "delete", func() (any, error) { return nil, s.Store.Delete(ctx, key, o...) })

	return err
}

func (s *tap) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[sealed], error) {
	return through(ctx, s, "watch", func() (store.Watcher[sealed], error) { return s.Store.Watch(ctx, o...) })
}

func (s *tap) List(ctx context.Context, o ...store.ListOption) iter.Seq2[sealed, error] {
	all, err := through(ctx, s, "list", func() (iter.Seq2[sealed, error], error) { return s.Store.List(ctx, o...), nil })
	if err != nil {
		return func(yield func(sealed, error) bool) { yield(nil, err) }
	}

	return all
}

// A life is the lifecycle of one volume, whose object is in a store with faults.
type life struct {
	*testing.T

	tap   *tap
	api   client.Client // of the user, without faults
	cloud *volume.Cloud
}

// live runs a provider through the lifecycle of a volume, and returns the calls of the store.
func live(t *testing.T, named bool, wrong func(n int) fault) []string {
	t.Helper()
	tap := &tap{wrong: wrong}
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New[sealed]("volumes")
		tap.Store = inner
		l := &life{T: t, tap: tap, cloud: &volume.Cloud{Named: named, Tokens: !named}}
		scheme, err := stories.Scheme()
		must(t, err)
		l.api, err = kube.NewClient(scheme, []kube.Kind{kube.Serve(inner)})
		must(t, err)
		l.tap.meddle = func() { _ = l.patch(`{"metadata":{"labels":{"by":"somebody"}}}`) }
		p, m := stories.InStores(t, scheme, l.api, kube.Serve(l.tap))
		class := managed.WithCreationTokens()
		if named {
			class = managed.WithDeterministicExternalName(true)
		}
		must(t, managed.Setup(m, volume.Kind, controller.Options{MaxConcurrentReconciles: 1},
			managed.WithExternalConnecter(l.cloud), managed.WithPollInterval(time.Minute), class))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Start(ctx) }()
		l.run(p.Namespace)
		stop()
		must(t, <-ended)
	})

	return tap.made()
}

func (l *life) patch(body string) error {
	return l.api.Patch(l.Context(), stories.NewVolume("default", "v"), client.RawPatch(types.MergePatchType, []byte(body)))
}

func (l *life) run(namespace string) {
	l.Helper()
	v := stories.NewVolume(namespace, "v")
	must(l.T, l.api.Create(l.Context(), v))
	l.until("a disk of the first size", func() error { return l.sized(1) })
	must(l.T, l.patch(`{"spec":{"sizeGiB":2}}`))
	l.until("a disk of the second size", func() error { return l.sized(2) })
	must(l.T, l.api.Delete(l.Context(), v))
	l.until("nothing left", func() error {
		err := l.api.Get(l.Context(), client.ObjectKeyFromObject(v), v)
		if client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Errorf("the object is there: %+v, %v", v.Status, err)
		}
		if disks := l.cloud.Disks(); len(disks) > 0 {
			return errors.Errorf("there are %v", disks)
		}

		return nil
	})
}

func (l *life) sized(size int64) error {
	v := stories.NewVolume("default", "v")
	if err := l.api.Get(l.Context(), client.ObjectKeyFromObject(v), v); err != nil {
		return err
	}
	disks := l.cloud.Disks()
	ready := v.GetCondition("Ready")
	if len(disks) != 1 || disks[0].SizeGiB != size || v.Status.SizeGiB != size || v.Status.ID != disks[0].ID ||
		ready.Status != "True" || ready.ObservedGeneration != v.Generation {
		return errors.Errorf("there are %+v, and the object is %+v", disks, v.Status)
	}

	return nil
}

// until waits in the time of the bubble.
func (l *life) until(what string, holds func() error) {
	l.Helper()
	var err error
	for range 3600 {
		if err = holds(); err == nil {
			return
		}
		<-time.After(time.Second)
	}
	l.Errorf("not in an hour: %s: %v", what, err)
}

// classes are the kinds of clouds, and whether the provider chooses the names.
var classes = map[string]bool{"Token": false, "Named": true}

// TestEveryCallOfAStore injects each fault into each call of the store in the lifecycle of an object: there is never a
// second disk, the object reaches its desired state, and nothing is left behind.
func TestEveryCallOfAStore(t *testing.T) {
	for name, named := range classes {
		t.Run(name, func(t *testing.T) {
			calm := live(t, named, func(int) fault { return "" })
			t.Logf("%d calls: %v", len(calm), calm)
			if len(calm) < 8 {
				t.Fatalf("%d calls came to the store: the objects are somewhere else", len(calm))
			}
			for _, f := range faults {
				for at := range calm {
					calls := live(t, named, func(n int) fault {
						if n == at {
							return f
						}

						return ""
					})
					if t.Failed() || len(calls) <= at {
						t.Fatalf("of call %d, a %s: %s; there were %d: %v", at+1, calm[at], f, len(calls), calls)
					}
				}
			}
		})
	}
}

// TestRandomCallsOfAStore injects random faults into many calls. The first call, the watch of the cache, has none:
// every manager ends if its cache does not sync for two minutes.
func TestRandomCallsOfAStore(t *testing.T) {
	const long = 60 // calls of a store
	for name, named := range classes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				var went []string
				random := rand.New(rand.NewPCG(seed, 0))
				live(t, named, func(n int) fault {
					if n == 0 || n > long || random.IntN(3) > 0 {
						return ""
					}
					f := faults[random.IntN(len(faults))]
					went = append(went, fmt.Sprint(n, " ", f))

					return f
				})
				if t.Failed() {
					t.Fatalf("seed %d: %v", seed, went)
				}
			}
		})
	}
}
