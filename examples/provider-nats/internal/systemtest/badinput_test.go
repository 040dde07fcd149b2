package systemtest

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// badPoll is the poll interval of the provider while input is wrong.
const badPoll = 500 * time.Millisecond

// A mistake is a wrong input of users, administrators or others, and its correction.
type mistake struct {
	reason string

	server string // the ProviderConfig names this one from its beginning

	spoil func(w *world)                      // before the object exists
	make  func(w *world) resource.Managed     // default: a Stream named bad
	stage func(w *world, mg resource.Managed) // afterwards
	mend  func(w *world, mg resource.Managed) // correct it

	synced string   // status and reason of the condition
	words  []string // of its message, or of a warning if it is True
	shared bool     // the ProviderConfig warns, once for all its users

	wrong []string // streams in NATS until it is corrected
	right []string // and afterwards
}

// TestBadInput: each mistake ends in a condition that says what to do. Nothing is created or lost, and
// retries back off.
func TestBadInput(t *testing.T) {
	runProvider(t, badPoll)

	pulse := newWorld(t)
	beat := &v1alpha1.Stream{ObjectMeta: pulse.meta("pulse")}
	pulse.create(beat)
	pulse.awaitReady(beat)

	for name, tc := range mistakes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorldAt(t, tc.server)
			mg := tc.happen(w)
			before, version := w.snapshot(), mg.GetResourceVersion()

			// Another object lives on for four polls.
			n := logged.count(pulse.ns, beat.Name)
			wait.Until(t, "passes over another object", func() bool { return logged.count(pulse.ns, beat.Name) >= n+4 })

			tc.check(w, mg)

			if mg.GetResourceVersion() != version {
				t.Errorf("\n%s\nthe object is written again and again", tc.reason)
			}

			if diff := cmp.Diff(before, w.snapshot()); diff != "" {
				t.Errorf("\n%s\nstreams in NATS: -before, +after:\n%s", tc.reason, diff)
			}

			tc.recover(w, mg, before)
		})
	}
}

// happen makes the mistake and returns the object when it reports the mistake.
func (tc mistake) happen(w *world) resource.Managed {
	w.Helper()

	var mg resource.Managed = &v1alpha1.Stream{ObjectMeta: w.meta("bad")}
	if tc.make != nil {
		mg = tc.make(w)
	}

	if tc.spoil != nil {
		tc.spoil(w)
	}

	w.awaitProtection()
	w.create(mg)

	if tc.stage != nil {
		tc.stage(w, mg)
	}

	w.awaitSynced(mg, tc.synced)
	wait.Until(w.T, "a warning", func() bool { return len(w.warnings(tc.warns(w, mg))) > 0 })

	return mg
}

// warns returns the object of the warning.
func (tc mistake) warns(w *world, mg resource.Managed) client.Object {
	w.Helper()

	if !tc.shared {
		return mg
	}

	if warnings := w.warnings(mg); len(warnings) > 0 {
		w.Errorf("\n%s\nthe object repeats the warning of its ProviderConfig: %v", tc.reason, warnings)
	}

	return w.config()
}

// awaitProtection waits until the ProviderConfig may be used, or is gone: before that its users wait, which
// is no mistake.
func (w *world) awaitProtection() {
	w.Helper()

	pc := w.providerConfig("")
	wait.Until(w.T, "the ProviderConfig is protected, or gone", func() bool {
		err := kube.Get(w.Context(), client.ObjectKeyFromObject(pc), pc)

		return apierrors.IsNotFound(err) || err == nil && pc.DeletionTimestamp == nil && len(pc.Finalizers) > 0
	})
}

// check checks what can be observed before the correction.
func (tc mistake) check(w *world, mg resource.Managed) {
	w.Helper()
	w.read(mg)

	if got := synced(mg); got != tc.synced {
		w.Errorf("\n%s\nSynced: want %s, got %s", tc.reason, tc.synced, got)
	}

	warnings := w.warnings(tc.warns(w, mg))
	if len(warnings) != 1 || warnings[0].Series != nil {
		w.Fatalf("\n%s\nwant one warning, emitted once, got %v", tc.reason, warnings)
	}

	said := map[string]string{"event": warnings[0].Note}
	if c := mg.GetCondition(commonv1.TypeSynced); !strings.HasPrefix(tc.synced, "True/") {
		said["condition"] = c.Message
	}

	for where, message := range said {
		for _, word := range tc.words {
			if !strings.Contains(message, word) {
				w.Errorf("\n%s\n%s: want %q in %q", tc.reason, where, word, message)
			}
		}
	}

	if diff := cmp.Diff(tc.wrong, w.streams()); diff != "" {
		w.Errorf("\n%s\nstreams: -want, +got:\n%s", tc.reason, diff)
	}

	age := time.Since(mg.GetCreationTimestamp().Time)
	if n, limit := logged.count(w.ns, mg.GetName()), most(tc.synced, age); n > limit {
		w.Errorf("\n%s\n%d passes in %s, want at most %d", tc.reason, n, age, limit)
	}
}

// most returns the limit of passes over an object in a period: a few for the user's changes, and then at
// the pace of the failure.
func most(synced string, age time.Duration) int {
	pace := 10 * badPoll // nothing is expected to change by itself

	switch synced {
	case "False/ReconcileError", "False/ExternalSystemUnavailable", "False/Unauthorized":
		pace = time.Second // the shortest back-off
	case "False/ExternalResourceNotOwned", "True/ReconcileSuccess",
		// New credentials are detected without a call.
		"False/InvalidName", "False/SubjectsOverlap", "False/InvalidConfiguration", "False/ImmutableField":
		pace = badPoll
	}

	return 4 + int(math.Ceil(1.2*float64(age)/float64(pace)))
}

// recover corrects the mistake and deletes the object.
func (tc mistake) recover(w *world, mg resource.Managed, before map[string]streamState) {
	w.Helper()
	tc.mend(w, mg)
	w.awaitReady(mg)

	if diff := cmp.Diff(tc.right, w.streams()); diff != "" {
		w.Errorf("\n%s\nstreams after the correction: -want, +got:\n%s", tc.reason, diff)
	}

	after := w.snapshot()
	for name, was := range before {
		if is := after[name]; is.Created != was.Created || is.Messages != was.Messages {
			w.Errorf("\n%s\n%s lost data by the correction: %+v, now %+v", tc.reason, name, was, is)
		}
	}

	w.delete(mg)
	w.awaitGone(mg)

	if left := w.streams(); len(left) != len(tc.right)-1 {
		w.Errorf("\n%s\nstreams after the end: %v of %v", tc.reason, left, tc.right)
	}
}

// A streamState is the state that a mistake must not change.
type streamState struct {
	Config    jetstream.StreamConfig
	Created   time.Time
	Messages  uint64
	Consumers map[string]consumerState
}

type consumerState struct {
	Config  jetstream.ConsumerConfig
	Created time.Time
}

func (w *world) snapshot() map[string]streamState {
	w.Helper()

	out := map[string]streamState{}

	for _, name := range w.streams() {
		info := w.info(name)
		state := streamState{
			Config: info.Config, Created: info.Created, Messages: info.State.Msgs, Consumers: map[string]consumerState{},
		}

		for name, c := range w.consumersOf(w.Context(), name) {
			state.Consumers[name] = consumerState{Config: c.Config, Created: c.Created}
		}

		out[name] = state
	}

	return out
}

func mistakes() map[string]mistake {
	out := map[string]mistake{}

	for _, table := range []map[string]mistake{objectMistakes(), connectionMistakes(), streamMistakes()} {
		for name, tc := range table {
			tc.wrong, tc.right = sorted(tc.wrong), sorted(tc.right)
			out[name] = tc
		}
	}

	return out
}

func sorted(names []string) []string {
	return append([]string{}, slices.Sorted(slices.Values(names))...)
}
