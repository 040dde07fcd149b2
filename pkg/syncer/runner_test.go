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

// A stepItem is an item with every step except that of a syncer. It records its steps.
type stepItem struct {
	name     string
	steps    *stepLog
	failStep string
}

func (a stepItem) Name() string                                       { return a.name }
func (a stepItem) Init(*synccontext.RegisterContext) error            { return a.do("init") }
func (a stepItem) RegisterIndices(*synccontext.RegisterContext) error { return a.do("indices") }
func (a stepItem) Register(*synccontext.RegisterContext) error        { return a.do("register") }

func (a stepItem) do(step string) error {
	a.steps.add("%s: %s", a.name, step)
	if step == a.failStep {
		return errBoom
	}
	return nil
}

// A runnerTest is a Runner with fake managers.
type runnerTest struct {
	*world

	steps         *stepLog
	host, virtual *fakeManager
	runner        *syncer.Runner
	ended         chan error
}

func newRunnerTest(t *testing.T) *runnerTest {
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
	r := &runnerTest{world: w, steps: &stepLog{}, ended: make(chan error, 1)}
	r.host, r.virtual = newFakeManager("host", w.reg.PhysicalManager, r.steps), newFakeManager(
		"virtual", w.reg.VirtualManager, r.steps)
	for _, p := range []*fakeManager{r.host, r.virtual} {
		var once sync.Once
		p.cache.sync = func(ctx context.Context) bool {
			for !p.running() && ctx.Err() == nil {
				<-time.After(time.Second)
			}
			once.Do(func() { r.steps.add("%s is filled", p.side) }) // controllers wait for it as well
			return ctx.Err() == nil
		}
	}
	w.reg.PhysicalManager, w.reg.VirtualManager = r.host, r.virtual
	r.runner = syncer.NewRunner(w.reg)
	return r
}

func (r *runnerTest) register(items ...syncer.Base) {
	r.Helper()
	for _, item := range items {
		r.Must(r.runner.Register(item))
	}
}

func (r *runnerTest) start(ctx context.Context) {
	go func() { r.ended <- r.runner.Start(ctx) }()
	synctest.Wait()
}

func (r *runnerTest) ready() bool {
	select {
	case <-r.runner.Ready():
		return true
	default:
		return false
	}
}

func (r *runnerTest) wantSteps(reason string, want ...string) {
	r.Helper()
	if diff := cmp.Diff(want, r.steps.all()); diff != "" {
		r.Errorf("%s\nsteps: -want, +got:\n%s", reason, diff)
	}
}

func typedItem(name string) syncer.Base {
	return syncer.FromTyped(&corev1.ConfigMap{}, fakeAndTypedSyncer{namedSyncer{name: name}})
}

// TestRunner verifies the order of the steps and that the Runner stops both managers when
// the context ends.
func TestRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunnerTest(t)
		ctx, stop := context.WithCancel(t.Context())
		r.register(stepItem{name: "one", steps: r.steps}, typedItem("two"), stepItem{name: "three", steps: r.steps}, r.syncer)
		r.start(ctx)
		<-time.After(time.Minute)
		synctest.Wait()
		r.wantSteps("All items complete a step before the next step.",
			"one: init", "three: init", "one: indices", "three: indices", "host is filled", "virtual is filled",
			"one: register", "virtual runs two-fake with 1 workers", "virtual runs two with 1 workers",
			"three: register", "virtual runs configmaps with 1 workers")
		if !r.ready() || len(r.ended) > 0 {
			t.Error("not ready, or ended")
		}
		r.virtual.cache.deliver(virtualMap("a"))
		synctest.Wait()
		if r.world.host(imageOf("a").Name) == nil {
			t.Error("the registered controller does not run")
		}
		before := r.steps.all()
		for range 2 { // and the first refusal leaves nothing locked
			if err := r.runner.Register(stepItem{name: "late"}); !errors.Is(err, syncer.ErrStarted) ||
				!strings.Contains(err.Error(), `"late"`) {
				t.Errorf("registered late: got error %v", err)
			}
			if err := r.runner.Start(ctx); !errors.Is(err, syncer.ErrStarted) {
				t.Errorf("started again: got error %v", err)
			}
		}
		r.wantSteps("No step runs for a rejected call.", before...)
		stop()
		if err := <-r.ended; err != nil || r.host.running() || r.virtual.running() {
			t.Errorf("got error %v, or a manager still runs", err)
		}
		synctest.Wait()
	})
}

// TestRunnerErrors verifies that after any failure the Runner returns an error, takes no
// further step and stops both managers.
func TestRunnerErrors(t *testing.T) {
	initialized := []string{"one: init"}
	indexed := append(slices.Clone(initialized), "one: indices")
	filled := append(slices.Clone(indexed), "host is filled", "virtual is filled")
	fake := append(slices.Clone(filled), "virtual runs two-fake with 1 workers")
	both := append(slices.Clone(fake), "virtual runs two with 1 workers")
	cases := map[string]struct {
		reason string
		change func(r *runnerTest, one *stepItem)
		then   func(r *runnerTest, stop func()) // when it is at rest
		steps  []string
		is     error
		want   string // of the error
		ready  bool
	}{
		"Init": {
			reason: "An Initializer fails.", change: func(_ *runnerTest, one *stepItem) { one.failStep = "init" },
			steps: initialized, is: errBoom, want: `cannot initialize "one": boom`,
		},
		"NotServed": {
			reason: "Kinds are checked before indices are registered.",
			change: func(r *runnerTest, _ *stepItem) { r.virtual.mapper = meta.NewDefaultRESTMapper(nil) }, steps: initialized,
			is: translate.ErrKindNotServed, want: `cannot register fake syncer "two"`,
		},
		"Indices": {
			reason: "The registration of an index fails.",
			change: func(_ *runnerTest, one *stepItem) { one.failStep = "indices" }, steps: indexed, is: errBoom,
			want: `cannot register the indices of "one": boom`,
		},
		"Fake": {
			reason: "The fake syncer's controller cannot be added.",
			change: func(r *runnerTest, _ *stepItem) { r.virtual.failController = "two-fake" }, steps: fake, is: errBoom,
			want: `cannot start the controller of "two-fake": boom`,
		},
		"Controller": {
			reason: "The syncer's controller cannot be added.",
			change: func(r *runnerTest, _ *stepItem) { r.virtual.failController = "two" }, steps: both, is: errBoom,
			want: `cannot start the controller of "two": boom`,
		},
		"Register": {
			reason: "A ControllerStarter fails.", change: func(_ *runnerTest, one *stepItem) { one.failStep = "register" },
			steps: append(slices.Clone(both), "one: register"), is: errBoom, want: `cannot register "one": boom`,
		},
		"Cache": {
			reason: "A cache does not sync.",
			change: func(r *runnerTest, _ *stepItem) { r.host.cache.sync = func(context.Context) bool { return false } },
			steps:  indexed, want: "cannot sync the caches",
		},
		"Told": {
			reason: "The context ends during the start, which is no error.", steps: indexed,
			change: func(r *runnerTest, _ *stepItem) {
				r.host.cache.sync = func(ctx context.Context) bool { <-ctx.Done(); return false }
			},
			then: func(_ *runnerTest, stop func()) { stop() },
		},
		"Host": {
			reason: "The manager of the host fails, and the other one is stopped.",
			then:   func(r *runnerTest, _ func()) { r.host.end <- errBoom }, steps: append(slices.Clone(both), "one: register"),
			is: errBoom, want: "cannot run a manager: boom", ready: true,
		},
		"Virtual": {
			reason: "The manager of the virtual cluster ends without an error.",
			then:   func(r *runnerTest, _ func()) { r.virtual.end <- nil }, steps: append(slices.Clone(both), "one: register"),
			ready: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, one := newRunnerTest(t), &stepItem{name: "one"}
				one.steps = r.steps
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
						t.Errorf("%s\nended early: %v", tc.reason, <-r.ended)
					}
					tc.then(r, stop)
				}
				err := <-r.ended
				if tc.is != nil && !errors.Is(err, tc.is) || (err == nil) != (tc.want == "") || err != nil &&
					!strings.HasPrefix(err.Error(), tc.want) {
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
