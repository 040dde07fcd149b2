package controllerruntime

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

type thing = storetest.Thing

// all is a runtime with every kind of parameter.
type all = ControllerRuntime[*thing, *thing, None, None, None, *thing, None, None, None]

// A custom controller records its calls.
type custom struct {
	rt *all

	mu      sync.Mutex
	calls   []string
	errs    map[string]error
	panics  string
	hold    chan struct{} // SyncHandler waits for it unless it is nil
	running map[string]int
}

func (c *custom) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	c.rt.Run(threadiness, stopCh, errCh)
}

func (c *custom) record(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	if c.panics == call {
		panic(call)
	}
}

func (c *custom) SyncHandler(key string) error {
	c.mu.Lock()
	c.running[key]++
	if c.running[key] > 1 {
		c.calls = append(c.calls, "TWICE "+key)
	}
	err, hold := c.errs[key], c.hold
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[key]--
	}()
	if hold != nil {
		<-hold
	}
	c.record("sync " + key)

	return err
}

// HandleSecondary enqueues the owner, as most controllers do.
func (c *custom) HandleSecondary(obj any) {
	if part, ok := obj.(*thing); ok {
		c.record("secondary " + part.Metadata.Key)
		c.rt.EnqueueKey(part.Spec.Text, OperationSecondary)

		return
	}
	object, key, err := c.rt.DecomposeKubeSecondaryResource(obj)
	if err != nil {
		c.record("bad secondary")

		return
	}
	c.record("secondary " + object.GetName())
	c.rt.EnqueueKey(key, OperationSecondary)
}

func (c *custom) GarbageSecondaries() { c.record("garbage") }
func (c *custom) Clean()              { c.record("clean") }

// A world is a runtime in a synctest bubble.
type world struct {
	*testing.T
	primaries, parts, domains *memory.Store[*thing]
	kube                      *fake.Clientset
	informers                 []cache.SharedIndexInformer
	external                  *external
	resync                    time.Duration
	workers                   int

	c     *custom
	stop  chan struct{}
	errs  chan error
	ended chan struct{}
}

type external struct {
	enqueue func(string)
	err     error
	stopped int
}

func (e *external) Start(_ context.Context, enqueue func(string)) error {
	e.enqueue = enqueue

	return e.err
}

func (e *external) Stop() { e.stopped++ }

func inWorld(t *testing.T, prepare, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, primaries: memory.New[*thing]("things"), parts: memory.New[*thing]("parts"),
			domains: memory.New[*thing]("domains"),
			kube:    fake.NewClientset(), external: &external{}, workers: 1,
			c: &custom{errs: map[string]error{}, running: map[string]int{}}, errs: make(chan error),
		}
		if prepare != nil {
			prepare(w)
		}
		w.build()
		test(w)
	})
}

// build creates a runtime, as a restarted process does.
func (w *world) build() {
	var kube kubernetes.Interface = w.kube
	w.stop, w.ended = make(chan struct{}), make(chan struct{})
	w.c.rt = NewControllerRuntime[*thing, *thing, None, None, None, *thing, None, None, None](
		"things", "thing", kube, w.primaries, w.informers, nil, w.parts, nil, nil, nil, w.domains, nil, nil, nil,
		[]IExternalClient{w.external}, w.resync)
	w.c.rt.runtime.jitter = func() float64 { return 0 }
}

// run starts the runtime, and waits until it is idle.
func (w *world) run() {
	w.c.rt.SetCustomController(w.c)
	go func() {
		defer close(w.ended)
		w.c.Run(w.workers, w.stop, w.errs)
	}()
	w.advance(100 * time.Millisecond)
}

func (w *world) end() {
	close(w.stop)
	<-w.ended
}

func (w *world) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// set changes the custom controller while it runs.
func (w *world) set(change func(c *custom)) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	change(w.c)
}

// expectCalls compares the calls since its last call, sorted: keys have no order.
func (w *world) expectCalls(want ...string) {
	w.Helper()
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	slices.Sort(w.c.calls)
	if diff := cmp.Diff(want, w.c.calls); diff != "" {
		w.Errorf("calls: -want, +got:\n%s", diff)
	}
	w.c.calls = nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(s *memory.Store[*thing], key, text string) {
	w.Helper()
	obj := storetest.NewThing(key, 1)
	obj.Spec.Text = text
	_, err := s.Create(w.Context(), obj)
	w.must(err)
}

var errBoom = errors.New("boom")
