package managed

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestAWithdrawalIsCounted verifies that reverting an intent counts as a write of the intent.
func TestAWithdrawalIsCounted(t *testing.T) {
	f := polled{registry: prometheus.NewRegistry()}
	w := newStored(bearing(nil), &objectState{}, WithMetricsRegisterer(f.registry))
	w.writes.finalizers = true
	w.intend()
	w.newest = clone(w.mg)
	w.withdraw(t.Context(), nil)
	if intents, results := f.counted(t, "writes_total", "intent"), f.counted(t, "writes_total",
		"result"); len(w.writes.sent) != 1 || intents != 1 || results != 0 {
		t.Errorf("%d writes, %v of an intent and %v of a result", len(w.writes.sent), intents, results)
	}
}

// A timedCluster notes how much time it is given, and may fail.
type timedCluster struct {
	liveCluster

	left time.Duration
	err  error
}

func (c *timedCluster) GetAPIReader() client.Reader { return c }

func (c *timedCluster) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	end, _ := ctx.Deadline()
	c.left = time.Until(end)

	return cmp.Or(c.err, c.liveCluster.Get(ctx, key, o, opts...))
}

// TestWhatWasNotStoredIsGivenFiveSeconds verifies that an unwritten result gets five seconds in a later pass,
// whatever the timeout of that.
func TestWhatWasNotStoredIsGivenFiveSeconds(t *testing.T) {
	w := newStored(marked(early, "", "", ownID),
		remembering(objectstate.Attempts{Unwritten: map[string]string{meta.AnnotationKeyCreateAttempt: ownDone}}))
	c := &timedCluster{liveCluster: *w.liveCluster}
	w.r.cluster = c
	if err := w.writeUnwritten(t.Context()); err != nil || c.left <= 0 || c.left > 5*time.Second {
		t.Errorf("it had %s, and ended with %v", c.left, err)
	}
}
