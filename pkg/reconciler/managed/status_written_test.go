package managed

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A statusClient answers writes of the status with what it stores of them.
type statusClient struct {
	client.Client

	answer func(o *fake.Managed) error
	sent   []string
	bodies []string
	within []time.Duration
}

func (c *statusClient) Status() client.SubResourceWriter { return statusWriter{of: c} }

type statusWriter struct {
	client.SubResourceWriter

	of *statusClient
}

func (w statusWriter) Patch(ctx context.Context, o client.Object, patch client.Patch,
	_ ...client.SubResourcePatchOption) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	var body struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	until, _ := ctx.Deadline()
	w.of.bodies = append(w.of.bodies, string(data))
	w.of.sent, w.of.within = append(w.of.sent,
		body.Metadata["uid"]+"@"+body.Metadata["resourceVersion"]), append(w.of.within, time.Until(until))

	return w.of.answer(o.(*fake.Managed))
}

// newWriting returns a pass with a status change, of the version 7 of its object.
func newWriting(answer func(o *fake.Managed) error, o ...ReconcilerOption) (*pass, *statusClient, *liveCluster) {
	p := endingPass(o...)
	c, live := &statusClient{answer: answer}, &liveCluster{}
	p.r.client, p.r.cluster = c, live
	p.mg.SetResourceVersion("7")
	p.read.SetResourceVersion("7")
	live.shows = clone(p.read)
	p.setCondition(commonv1.Available())

	return p, c, live
}

// stores answers as the API server does that stores what it is sent.
func stores(o *fake.Managed) error {
	o.SetResourceVersion("8")

	return nil
}

// TestAStatusIsWritten verifies that the status is written once, with the known resource version as a precondition,
// and within ten seconds of its own.
func TestAStatusIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		p, c, live := newWriting(stores, WithMetricsRegisterer(registry))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.writeStatus(over); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"uid-1@7"}, c.sent); diff != "" || live.asked != 0 {
			t.Errorf("%d reads; written, -want, +got:\n%s", live.asked, diff)
		}
		if c.within[0] != 10*time.Second {
			t.Errorf("the write has %s", c.within[0])
		}
		if p.mg.GetResourceVersion() != "8" || p.newest.GetResourceVersion() != "8" || p.state.Version != "8" ||
			!p.state.VolatileWritten.Equal(noon) {
			t.Errorf("known are the versions %s, %s and %s, written %s", p.mg.GetResourceVersion(),
				p.newest.GetResourceVersion(), p.state.Version, p.state.VolatileWritten)
		}
		if got := sample(t, registry, "moorage_managed_writes_total", "what")["status"]; got != 1 {
			t.Errorf("%v writes of a status are counted", got)
		}
	})
}

// TestAConditionThatHasNoGenerationIsGivenOne verifies that a condition without a generation that the client sets
// again is stored with the observed one.
func TestAConditionThatHasNoGenerationIsGivenOne(t *testing.T) {
	p, c, _ := newWriting(stores)
	left := commonv1.Available()
	p.read.SetConditions(left)
	p.mg, p.observedOnce = clone(p.read), true
	if err := p.writeStatus(t.Context()); err != nil || len(c.bodies) != 1 ||
		!strings.Contains(c.bodies[0], `"observedGeneration":3`) {
		t.Errorf("error %v, written %q", err, c.bodies)
	}
}

// TestAStatusAfterTheLease verifies that a process after its lease leaves the status, and that an unchanged status
// is no failure then.
func TestAStatusAfterTheLease(t *testing.T) {
	for _, tells := range []bool{true, false} {
		p, c, _ := newWriting(stores, WithLeaseDeadline(func() time.Time { return noon }))
		if !tells {
			p.mg = clone(p.read)
		}
		if err := p.writeStatus(t.Context()); errors.Is(err, errFenced) != tells || (err != nil) != tells ||
			len(c.sent) > 0 {
			t.Errorf("it has something to tell, %t: %v, written %q", tells, err, c.sent)
		}
	}
}

// TestAStatusIsWrittenAfterAConflict verifies that after a conflict the changes are applied to the present status,
// unless another pass has reported since.
func TestAStatusIsWrittenAfterAConflict(t *testing.T) {
	for name, tc := range map[string]struct {
		since commonv1.Condition
		sent  []string
		fails bool
	}{
		"of something else": {commonv1.Condition{Type: "Backup", Status: "True", Reason: "Done"},
			[]string{"uid-1@7", "uid-1@9"}, false},
		"of what a pass tells":  {commonv1.ReconcileError(errors.New("boom")), []string{"uid-1@7"}, true},
		"of whether it's ready": {commonv1.Unavailable(), []string{"uid-1@7"}, true},
	} {
		first := true
		p, c, live := newWriting(func(o *fake.Managed) error {
			if first {
				first = false

				return kerrors.NewConflict(schema.GroupResource{Resource: "things"}, "data", errors.New("stale"))
			}

			return stores(o)
		})
		live.shows.SetResourceVersion("9")
		live.shows.SetConditions(tc.since)
		err := p.writeStatus(t.Context())
		if diff := cmp.Diff(tc.sent, c.sent); diff != "" || live.asked != 1 || kerrors.IsConflict(err) != tc.fails ||
			(err != nil) != tc.fails {
			t.Errorf("%s: error %v, %d reads; written, -want, +got:\n%s", name, err, live.asked, diff)
		}
		if last := c.bodies[len(c.bodies)-1]; !tc.fails && !strings.Contains(last, `"`+string(tc.since.Type)+`"`) {
			t.Errorf("%s: the other's condition is taken away by %s", name, last)
		}
	}
	p, c, _ := newWriting(stores)
	p.newest = clone(p.read)
	p.newest.SetConditions(commonv1.Unavailable())
	if err := p.writeStatus(t.Context()); !kerrors.IsConflict(err) || len(c.sent) != 0 {
		t.Errorf("another pass has told since: error %v, written %q", err, c.sent)
	}
}

// TestAStatusIsNotStored verifies that a pruned status is remembered until one is stored, and logged once.
func TestAStatusIsNotStored(t *testing.T) {
	stored := false
	var lines []string
	p, c, _ := newWriting(func(o *fake.Managed) error {
		if stored {
			return stores(o)
		}
		*o = *bearing(nil)
		o.SetResourceVersion("7")

		return nil
	}, WithLogger(logging.NewLogrLogger(funcr.New(func(_, args string) { lines = append(lines, args) },
		funcr.Options{}))))
	lines = nil // of the beginning
	if err := p.writeStatus(t.Context()); err != nil || p.state.Dropped == (objectstate.Dropped{}) {
		t.Errorf("error %v, noted %+v", err, p.state.Dropped)
	}
	for _, step := range []struct {
		tells  commonv1.Condition
		sent   int
		stored bool
	}{{commonv1.Available(), 1, false}, {commonv1.ReconcileSuccess(), 2, true}} {
		q := passOver(p.r, p.read, clone(p.read), p.state)
		q.generation = 3
		q.setCondition(step.tells)
		stored = step.stored
		if err := q.writeStatus(t.Context()); err != nil || len(c.sent) != step.sent ||
			(p.state.Dropped == objectstate.Dropped{}) != stored {
			t.Errorf("%s: error %v, written %q, noted %+v", step.tells.Type, err, c.sent, p.state.Dropped)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"fields"="status.conditions"`) {
		t.Errorf("said %q", lines)
	}
}

// An opaque object has a status whose type is none that can be taken apart.
type opaqueStatus struct {
	fake.Managed

	Status int
}

func (o *opaqueStatus) DeepCopyObject() runtime.Object { c := *o; return &c }

// TestWhoseStatusIsTheSame verifies that the comparison of two statuses ignores all other fields.
func TestWhoseStatusIsTheSame(t *testing.T) {
	one, labelled, ready := bearing(nil), bearing(nil), bearing(nil)
	labelled.SetLabels(map[string]string{"a": "b"})
	ready.SetConditions(commonv1.Available())
	if !sameStatus(one, bearing(nil)) || sameStatus(one, ready) {
		t.Error("the status of two objects is the same only if it is")
	}
	if !sameStatus(one, labelled) {
		t.Error("labels are no status")
	}
	a, b := &opaqueStatus{Status: 1}, &opaqueStatus{Status: 1}
	if !sameStatus(a, b) || sameStatus(a, &opaqueStatus{Status: 2}) || sameStatus(a, one) {
		t.Error("what cannot be taken apart is the same only if all of it is")
	}
	if b.SetLabels(map[string]string{"a": "b"}); sameStatus(a, b) {
		t.Error("what cannot be taken apart differs, and is called the same for sure")
	}
}

// TestStatusChangedByObservedGeneration verifies that another observed generation means that another pass has
// reported.
func TestStatusChangedByObservedGeneration(t *testing.T) {
	p := endingPass()
	p.read = &generational{observed: 2}
	for observed, want := range map[int64]bool{2: false, 3: true} {
		if got := p.statusChanged(&generational{observed: observed}); got != want {
			t.Errorf("generation %d of 2 was observed: overtaken %t", observed, got)
		}
	}
	if p.statusChanged(bearing(nil)) {
		t.Error("who tells of none is overtaken")
	}
}

// TestNothingToTellNeedsNoLease verifies that an unchanged status needs no lease.
func TestNothingToTellNeedsNoLease(t *testing.T) {
	p, c, _ := newWriting(stores, WithLeaseDeadline(func() time.Time { return noon.Add(-time.Second) }))
	p.mg = clone(p.read)
	if err := p.writeStatus(t.Context()); err != nil || len(c.sent) > 0 {
		t.Errorf("it ended with %v after %d writes", err, len(c.sent))
	}
}
