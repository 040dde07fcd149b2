package managed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A silent reader does not answer before its context ends.
type silent struct {
	client.Reader

	speaks bool
}

func (s *silent) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if s.speaks {
		return s.Reader.Get(ctx, key, o, opts...)
	}
	<-ctx.Done()

	return ctx.Err()
}

// TestAnOverdueCallIsReportedWhenTheAPIServerAnswers verifies that an unresponsive API server delays the check for
// overdue calls by five seconds only.
func TestAnOverdueCallIsReportedWhenTheAPIServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &silent{Reader: w.API}
		w.o = append(w.o, managed.WithCluster(reader{&fake.Manager{Client: w.API, Scheme: w.API.Scheme()}, s}))
		w.restart()
		w.create(nil)
		back := w.observesForAnHour()
		begun := time.Now()
		w.r.TellOverdue(t.Context())
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
		w.condition("Synced", "Unknown/")
		s.speaks = true
		w.r.TellOverdue(t.Context())
		w.condition("Synced", "False/CallOverdue")
		close(back)
	})
}
