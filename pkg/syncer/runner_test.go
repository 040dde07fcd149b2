package syncer_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var errBoom = errors.New("boom")

// agent is an item with every step but a syncer's. It notes what it is asked to do.
type agent struct {
	name  string
	told  *journal
	fails string
}

func (a agent) Name() string                                       { return a.name }
func (a agent) Init(*synccontext.RegisterContext) error            { return a.do("init") }
func (a agent) RegisterIndices(*synccontext.RegisterContext) error { return a.do("indices") }
func (a agent) Register(*synccontext.RegisterContext) error        { return a.do("register") }

func (a agent) do(step string) error {
	a.told.note("%s: %s", a.name, step)
	if step == a.fails {
		return errBoom
	}
	return nil
}

// runs is a Runner of two processes.
type runs struct {
	*world

	told          *journal
	host, virtual *process
	runner        *syncer.Runner
	ended         chan error
}

func newRuns(t *testing.T) *runs {
	w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
	r := &runs{world: w, told: &journal{}, ended: make(chan error, 1)}
	r.host, r.virtual = newProcess("host", w.reg.PhysicalManager, r.told), newProcess("virtual", w.reg.VirtualManager, r.told)
	for _, p := range []*process{r.host, r.virtual} {
		var once sync.Once
		p.cache.fills = func(ctx context.Context) bool {
			for !p.running() && ctx.Err() == nil {
				<-time.After(time.Second)
			}
			once.Do(func() { r.told.note("%s is filled", p.side) }) // controllers wait for it as well
			return ctx.Err() == nil
		}
	}
	w.reg.PhysicalManager, w.reg.VirtualManager = r.host, r.virtual
	r.runner = syncer.NewRunner(w.reg)
	return r
}

func (r *runs) register(items ...syncer.Base) {
	r.Helper()
	for _, item := range items {
		r.Must(r.runner.Register(item))
	}
}

func (r *runs) start(ctx context.Context) {
	go func() { r.ended <- r.runner.Start(ctx) }()
	synctest.Wait()
}

func (r *runs) ready() bool {
	select {
	case <-r.runner.Ready():
		return true
	default:
		return false
	}
}

func (r *runs) wantSteps(reason string, want ...string) {
	r.Helper()
	if diff := cmp.Diff(want, r.told.all()); diff != "" {
		r.Errorf("%s\nsteps: -want, +got:\n%s", reason, diff)
	}
}

func typedItem(name string) syncer.Base {
	return syncer.FromTyped(&corev1.ConfigMap{}, twofold{named{name: name}})
}

// TestRunner: items are initialized, have their indices registered, and are registered as everything that they are once both managers run and their
// caches are filled. It runs until the context ends, and then has stopped both managers.
func TestRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		ctx, stop := context.WithCancel(t.Context())
		r.register(agent{name: "one", told: r.told}, typedItem("two"), agent{name: "three", told: r.told}, r.syncer)
		r.start(ctx)
		<-time.After(time.Minute)
		synctest.Wait()
		r.wantSteps("All of one step come before the next step.",
			"one: init", "three: init", "one: indices", "three: indices", "host is filled", "virtual is filled",
			"one: register", "virtual runs two-fake with 1 workers", "virtual runs two with 1 workers", "three: register", "virtual runs configmaps with 1 workers")
		if !r.ready() || len(r.ended) > 0 {
			t.Error("it is not ready, or has ended")
		}
		r.virtual.cache.shows(virtualMap("a"))
		synctest.Wait()
		if r.world.host(imageOf("a").Name) == nil {
			t.Error("the controller that was registered does nothing")
		}
		before := r.told.all()
		for range 2 { // and the first refusal leaves nothing locked
			if err := r.runner.Register(agent{name: "late"}); !errors.Is(err, syncer.ErrStarted) || !strings.Contains(err.Error(), `"late"`) {
				t.Errorf("registered late: got error %v", err)
			}
			if err := r.runner.Start(ctx); !errors.Is(err, syncer.ErrStarted) {
				t.Errorf("started again: got error %v", err)
			}
		}
		r.wantSteps("What is refused initializes nothing.", before...)
		stop()
		if err := <-r.ended; err != nil || r.host.running() || r.virtual.running() {
			t.Errorf("got error %v, or a manager still runs", err)
		}
		synctest.Wait()
	})
}

// TestRunnerEnds: whatever ends a Runner, it says so, goes no further, and leaves no manager running.
func TestRunnerEnds(t *testing.T) {
	initialized := []string{"one: init"}
	indexed := append(slices.Clone(initialized), "one: indices")
	filled := append(slices.Clone(indexed), "host is filled", "virtual is filled")
	fake := append(slices.Clone(filled), "virtual runs two-fake with 1 workers")
	both := append(slices.Clone(fake), "virtual runs two with 1 workers")
	cases := map[string]struct {
		reason string
		change func(r *runs, one *agent)
		then   func(r *runs, stop func()) // when it is at rest
		steps  []string
		is     error
		want   string // of the error
		ready  bool
	}{
		"Init":       {reason: "An initializer fails.", change: func(_ *runs, one *agent) { one.fails = "init" }, steps: initialized, is: errBoom, want: `cannot initialize "one": boom`},
		"NotServed":  {reason: "Indices are of kinds that are served.", change: func(r *runs, _ *agent) { r.virtual.mapper = meta.NewDefaultRESTMapper(nil) }, steps: initialized, is: translate.ErrKindNotServed, want: `cannot register fake syncer "two"`},
		"Indices":    {reason: "An index cannot be registered.", change: func(_ *runs, one *agent) { one.fails = "indices" }, steps: indexed, is: errBoom, want: `cannot register the indices of "one": boom`},
		"Fake":       {reason: "A controller cannot be added.", change: func(r *runs, _ *agent) { r.virtual.refuses = "two-fake" }, steps: fake, is: errBoom, want: `cannot start the controller of "two-fake": boom`},
		"Controller": {reason: "Another one cannot.", change: func(r *runs, _ *agent) { r.virtual.refuses = "two" }, steps: both, is: errBoom, want: `cannot start the controller of "two": boom`},
		"Register":   {reason: "An item registers nothing.", change: func(_ *runs, one *agent) { one.fails = "register" }, steps: append(slices.Clone(both), "one: register"), is: errBoom, want: `cannot register "one": boom`},
		"Cache":      {reason: "A cache is not filled.", change: func(r *runs, _ *agent) { r.host.cache.fills = func(context.Context) bool { return false } }, steps: indexed, want: "cannot fill the caches"},
		"Told": {
			reason: "It is told to stop while it waits, which is no error.", steps: indexed,
			change: func(r *runs, _ *agent) {
				r.host.cache.fills = func(ctx context.Context) bool { <-ctx.Done(); return false }
			},
			then: func(_ *runs, stop func()) { stop() },
		},
		"Host":    {reason: "A manager fails: one without the other is of no use.", then: func(r *runs, _ func()) { r.host.ends <- errBoom }, steps: append(slices.Clone(both), "one: register"), is: errBoom, want: "cannot run a manager: boom", ready: true},
		"Virtual": {reason: "So does the other, without an error.", then: func(r *runs, _ func()) { r.virtual.ends <- nil }, steps: append(slices.Clone(both), "one: register"), ready: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, one := newRuns(t), &agent{name: "one"}
				one.told = r.told
				if tc.change != nil {
					tc.change(r, one)
				}
				r.register(typedItem("two"), *one)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				r.start(ctx)
				<-time.After(time.Minute)
				synctest.Wait()
				if tc.then != nil {
					if len(r.ended) > 0 {
						t.Errorf("%s\nit ended before: %v", tc.reason, <-r.ended)
					}
					tc.then(r, stop)
				}
				err := <-r.ended
				if tc.is != nil && !errors.Is(err, tc.is) || (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
				}
				r.wantSteps(tc.reason, tc.steps...)
				if r.host.running() || r.virtual.running() || r.ready() != tc.ready {
					t.Errorf("%s\na manager still runs, or ready is %t", tc.reason, r.ready())
				}
				synctest.Wait()
			})
		})
	}
}
