package crdgate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

func gvk(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: kind}
}

// A fakeWorld serves the given kinds, and records the calls.
type fakeWorld struct {
	mu      sync.Mutex
	by      map[string]string
	unknown bool
	slow    bool // kinds cannot be listed yet
	changed func()
	story   []string
}

func (w *fakeWorld) watch(ctx context.Context, changed func()) error {
	w.mu.Lock()
	w.changed = changed
	w.mu.Unlock()
	changed()
	<-ctx.Done()

	return nil
}

func (w *fakeWorld) track(schema.GroupVersionKind) {}

func (w *fakeWorld) served(k schema.GroupVersionKind) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.by[k.Kind], !w.unknown
}

func (w *fakeWorld) waitUntilListable(ctx context.Context, _ schema.GroupVersionKind) error {
	if w.slow {
		<-ctx.Done()
	}

	return ctx.Err()
}

func (w *fakeWorld) removeInformers(_ context.Context, k schema.GroupVersionKind) error {
	w.tell("forget " + k.Kind)

	return nil
}

func (w *fakeWorld) tell(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, what)
}

// put makes something serve a kind, or nothing, and returns when all is quiet.
func (w *fakeWorld) put(kind, by string) {
	synctest.Wait()
	w.mu.Lock()
	w.by[kind] = by
	w.mu.Unlock()
	w.changed()
	synctest.Wait()
}

func (w *fakeWorld) take() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	story := w.story
	w.story = nil

	return story
}

// runs returns a function that records when it starts and stops.
func (w *fakeWorld) runs(name string) StartFunc {
	return func(ctx context.Context) error {
		w.tell("start " + name)
		<-ctx.Done()
		w.tell("stop " + name)

		return ctx.Err()
	}
}

// A bench is a gate that runs in a bubble.
type bench struct {
	*fakeWorld
	gate *Gate
	logs *strings.Builder
}

func startGate(t *testing.T, w *fakeWorld) *bench {
	t.Helper()
	b := &bench{fakeWorld: w, logs: &strings.Builder{}}
	if w.by == nil {
		w.by = map[string]string{}
	}
	var mu sync.Mutex
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(b.logs, args)
	}, funcr.Options{})
	b.gate = newGate(w, options{logger: logging.NewLogrLogger(logger), leading: true})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.gate.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Start(...) = %v", err)
		}
	})
	synctest.Wait()

	return b
}

func (b *bench) want(t *testing.T, reason string, story ...string) {
	t.Helper()
	if diff := cmp.Diff(story, b.take()); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
}

// later returns after a time, in the bubble of a test.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestGateFollowsAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, b.runs("bucket"))
		b.want(t, "nothing runs while the kind is not served")
		if !b.gate.Absent(gvk("Bucket")) {
			t.Error("a kind that is not served is absent")
		}
		b.put("Bucket", "u1")
		b.want(t, "it starts when the kind comes", "start bucket")
		if b.gate.Absent(gvk("Bucket")) {
			t.Error("a kind that is served is not absent")
		}
		b.put("Bucket", "u1")
		b.want(t, "no news is no news")
		if b.gate.Absent(gvk("Database")) {
			t.Error("nothing is known of a kind that was not added")
		}
		b.put("Bucket", "")
		b.want(t, "informers go after whoever uses them", "stop bucket", "forget Bucket")
		b.put("Bucket", "u1")
		b.want(t, "it comes back", "start bucket")
		b.put("Bucket", "u2")
		b.want(t, "a definition made anew is another one", "stop bucket", "forget Bucket", "start bucket")
	})
}

func TestGateNeedsEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket"), gvk("Database")}, b.runs("both"))
		b.want(t, "one of two is not enough")
		b.put("Database", "u2")
		b.want(t, "now both are served", "start both")
		b.put("Bucket", "")
		b.want(t, "one goes; the other stays in the cache", "stop both", "forget Bucket")
		b.put("Bucket", "u3")
		b.want(t, "both again", "start both")
	})
}

func TestGateStartsAfterTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}})
		release := make(chan struct{})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, b.runs("quick"))
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, func(ctx context.Context) error {
			<-ctx.Done()
			<-release
			b.tell("stop slow")

			return nil
		})
		b.want(t, "both run", "start quick")
		b.put("Bucket", "")
		if b.gate.Absent(gvk("Bucket")) {
			t.Error("a kind that somebody still uses is not absent")
		}
		b.put("Bucket", "u2")
		b.want(t, "nobody starts on informers that another still uses", "stop quick")
		close(release)
		b.want(t, "then all start", "stop slow", "forget Bucket", "start quick")
	})
}

func TestGateStartsNothingOnWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}, unknown: true})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket"), gvk("Database")}, b.runs("bucket"))
		b.want(t, "the definitions are not there yet")
		if b.gate.Absent(gvk("Database")) {
			t.Error("a kind is not absent before that is known")
		}
		b.mu.Lock()
		b.unknown = false
		b.mu.Unlock()
		b.put("Database", "u2")
		b.want(t, "they are", "start bucket")
		b.mu.Lock()
		b.unknown = true
		b.mu.Unlock()
		b.put("Bucket", "")
		b.want(t, "what is not known any more stays")
	})
}

func TestGateKeepsWhatDiscoveryFoundFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": byDiscovery}})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, b.runs("bucket"))
		b.want(t, "discovery is enough", "start bucket")
		b.put("Bucket", "u1")
		b.want(t, "its definition is seen a little later: the same kind")
		b.put("Bucket", "")
		b.want(t, "and the definition holds from then on", "stop bucket", "forget Bucket")
	})
}

func TestGateTriesAgain(t *testing.T) {
	for name, fail := range map[string]func() error{
		"Error": func() error { return errors.New("no luck, password=hunter2") },
		"Panic": func() error { panic("no luck, password=hunter2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}})
				began, last := []time.Duration{}, time.Now()
				b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, func(context.Context) error {
					began, last = append(began, time.Since(last)), time.Now()

					return fail()
				})
				later(3 * time.Minute)
				if diff := cmp.Diff([]time.Duration{0, 1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9}, began); diff != "" {
					t.Errorf("back-off: -want, +got:\n%s", diff)
				}
				if logs := b.logs.String(); !strings.Contains(logs, "no luck") || strings.Contains(logs, "hunter2") {
					t.Errorf("logs tell too little or too much:\n%s", logs)
				}
				b.put("Bucket", "")
				b.put("Bucket", "u2")
				if len(began) != 9 {
					t.Errorf("a kind that came back has no back-off: %d starts, want 9", len(began))
				}
			})
		})
	}
}

func TestGateForgivesWhatRanLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}})
		began := []time.Time{}
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, func(context.Context) error {
			began = append(began, time.Now())
			<-time.After(retryMax)

			return errors.New("in the end")
		})
		later(10 * time.Minute)
		for i := 1; i < len(began); i++ {
			if wait := began[i].Sub(began[i-1]) - retryMax; wait != retryBase {
				t.Errorf("start %d came after %v, want %v", i, wait, retryBase)
			}
		}
		if len(began) < 9 {
			t.Errorf("%d starts in ten minutes, want 9 or more", len(began))
		}
	})
}

func TestGateLetsWhatIsDoneRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, func(context.Context) error {
			b.tell("done")

			return nil
		})
		later(time.Hour)
		b.want(t, "once", "done")
		b.put("Bucket", "u2")
		b.want(t, "and once more for the new definition", "forget Bucket", "done")
	})
}

func TestGateStopsWhatIsStillWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{by: map[string]string{"Bucket": "u1"}, slow: true})
		b.gate.Add([]schema.GroupVersionKind{gvk("Bucket")}, b.runs("bucket"))
		b.put("Bucket", "")
		b.want(t, "it was never listed, so nothing began", "forget Bucket")
	})
}

func TestGateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeWorld{by: map[string]string{"Bucket": "u1"}}
		g := newGate(w, options{logger: logging.NewNopLogger()})
		g.Add([]schema.GroupVersionKind{gvk("Bucket")}, func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(5 * time.Second)
			w.tell("stopped")

			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Start(ctx) }()
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Start(...) = %v", err)
		}
		if !slices.Contains(w.take(), "stopped") {
			t.Error("Start returned before what it started did")
		}
		if g.Start(t.Context()) == nil {
			t.Error("a second Start succeeded")
		}
	})
}

// TestGateUnderChange: a gate that is poked from everywhere ends up with the truth.
func TestGateUnderChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startGate(t, &fakeWorld{})
		var mu sync.Mutex
		running := map[string]int{}
		for i := range 20 {
			name := fmt.Sprintf("K%d", i%7)
			b.gate.Add([]schema.GroupVersionKind{gvk(name), gvk("Bucket")}, func(ctx context.Context) error {
				mu.Lock()
				running[name]++
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				running[name]--
				mu.Unlock()

				return nil
			})
		}
		for i := range 200 {
			b.mu.Lock()
			b.by[fmt.Sprintf("K%d", i%7)] = fmt.Sprintf("u%d", i%3)
			b.by["Bucket"] = []string{"", "a", "b"}[i%3]
			b.mu.Unlock()
			b.changed()
		}
		b.put("Bucket", "c")
		b.put("K3", "")
		total := 0
		for name, n := range running {
			if total += n; name == "K3" && n != 0 {
				t.Errorf("%d run without their kind", n)
			}
		}
		if total != 17 {
			t.Errorf("%d run, want 17", total)
		}
	})
}
