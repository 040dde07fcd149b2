package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestHeldCallsDoNotReadCredentialsAgain verifies that rejected credentials are read again only after an answer of
// the external system, not for each throttled object.
func TestHeldCallsDoNotReadCredentialsAgain(t *testing.T) {
	w := newWorld(t, managed.WithLimits(limit.NewSet()))
	rechecks := 0
	w.wrap((&connected{connection: managed.Connection{
		Name: "ProviderConfig/default/prod", Recheck: func() { rechecks++ },
	}}).wrap)
	w.create(nil)
	w.pass()
	w.cloud.Before = failing("Observe", external.Unauthorized(errors.New("401")))
	w.cloud.Forget()
	for range 5 {
		if _, err := w.try(); err != nil {
			t.Fatal(err)
		}
	}
	if asked := w.cloud.Count("Observe"); asked != 1 || rechecks != asked {
		t.Errorf("%d answers, and %d times the credentials were to be read again", asked, rechecks)
	}
}

// TestAWaitThatIsOverIsNotCountedFrom verifies that a delay starts anew after a finished one, also when the clock
// is set back.
func TestAWaitThatIsOverIsNotCountedFrom(t *testing.T) {
	w := newWorld(t, managed.WithDeterministicExternalName(true), managed.WithCreationGracePeriod(0))
	w.cloud.Named = true
	ready := true
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient {
		return managed.ExternalClientFns{CreateFn: c.Create,
			ObserveFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
				if ready {
					return c.Observe(ctx, mg)
				}
				unavailable := commonv1.Unavailable()
				unavailable.LastTransitionTime = metav1.NewTime(w.clock.Now())
				mg.SetConditions(unavailable)

				return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
			}}
	})
	w.create(nil)
	w.pass()
	w.pass()
	w.condition(commonv1.TypeReady, "True/Available")
	ready = false
	w.clock.SetTime(w.clock.Now().Add(-time.Hour))
	for i := range 8 {
		after := w.pass().RequeueAfter
		if after > 2*time.Second {
			t.Errorf("look %d: the next comes after %s", i, after)
		}
		w.clock.SetTime(w.clock.Now().Add(after))
	}
}

// TestRepeatedStatusConflictsAreReported verifies that status conflicts are silent for a few passes, and then an
// error: a writer keeps changing the object, or the conflicts do not come from the API server.
func TestRepeatedStatusConflictsAreReported(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	d := w.cloud.Disks()[0]
	d.UsedBytes = 5
	w.cloud.Put(d)
	w.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "patch status") {
			return conflict()
		}

		return nil
	}
	silent := 0
	for ; silent < 20; silent++ {
		if _, err := w.try(); err != nil {
			break
		}
	}
	if silent == 0 || silent == 20 {
		t.Errorf("%d passes were silent, want a few", silent)
	}
}
