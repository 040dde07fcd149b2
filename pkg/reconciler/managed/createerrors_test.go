package managed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// cloning is a client as that of git-provider: it writes the status itself in Create, and
// returns the errors of its own checks as they are.
type cloning struct {
	managed.ExternalClient

	w *world
}

func (c cloning) Create(ctx context.Context, mg resource.Managed) error {
	v := mg.(*volume.Volume) // the world holds volumes only
	v.SetConditions(commonv1.Creating())
	if err := c.w.API.Status().Update(ctx, v); err != nil {
		return err
	}
	if c.w.cloud.Count("Clone") == 0 { // the repository was not made yet
		return fmt.Errorf("cloning toRepo: %w", errors.New("repository not found"))
	}

	return c.ExternalClient.Create(ctx, mg)
}

// TestACreateThatFailsOncePlainlyHeals verifies that a client with plain errors needs no option and no person: when
// the cause is gone, its object becomes ready.
func TestACreateThatFailsOncePlainlyHeals(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return cloning{c, w} })
	w.create(nil)
	_, _ = w.try() // the status that the client has written makes a conflict
	w.restart()    // a process that begins is not blocked either
	if _, err := w.try(); err == nil || err.Error() != "create failed: cloning toRepo: repository not found" {
		t.Fatalf("error %v", err)
	}
	w.condition("Synced", "False/ReconcileError")
	w.condition("Ready", "False/Creating")
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return c })
	w.pass()
	w.condition("Ready", "True/Available")
	w.condition("Synced", "True/ReconcileSuccess")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

// TestWhatFailedPlainlyCanBeDeleted verifies that an object whose Create has failed can be deleted.
func TestWhatFailedPlainlyCanBeDeleted(t *testing.T) {
	w := newWorld(t)
	w.cloud.Before = failing("Create", errBoom)
	w.create(nil)
	_, _ = w.try()
	w.delete()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(5 * time.Second)) // it is looked for twice
	w.pass()
	if !w.gone() {
		t.Errorf("the object is not gone: %v", w.get().Status.Conditions)
	}
	if n := w.cloud.Count("Delete"); n != 0 {
		t.Errorf("%d deletes", n)
	}
}

// TestErrorsThatSayNeitherAreCounted verifies that each error without a known effect is counted, and that each type
// is logged once, without its text.
func TestErrorsThatSayNeitherAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	var lines []string
	w := newWorld(t, managed.WithMetricsRegisterer(registry),
		managed.WithLogger(logging.NewLogrLogger(funcr.New(func(_, line string) {
			lines = append(lines, line)
		}, funcr.Options{}))))
	w.create(nil)
	for _, err := range []error{errors.New("boom of a secret"),
		fmt.Errorf("cannot create: %w", errors.New("boom of a secret")), plainError{}, httpStatus(400), errLost} {
		w.cloud.Before = failing("Create", err)
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if n := metric(t, registry, "moorage_managed_untold_create_errors_total"); n != 3 {
		t.Errorf("%v are counted", n)
	}
	var logged []string
	for _, line := range lines {
		if strings.Contains(line, "does not say whether anything was created") {
			logged = append(logged, line)
		}
	}
	if len(logged) != 2 || !strings.Contains(logged[0], `"type"="*errors.errorString"`) ||
		!strings.Contains(logged[1], `"type"="managed_test.plainError"`) ||
		strings.Contains(strings.Join(logged, ""), "secret") {
		t.Errorf("told is %q", logged)
	}
	if id := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; strings.Contains(id, "/") {
		t.Errorf("the attempt whose answer was lost is %q", id)
	}
}

type plainError struct{}

func (plainError) Error() string { return "boom" }

// TestTheLogTellsOfSoManyTypes and of no more: what is kept is bounded.
func TestTheLogTellsOfSoManyTypes(t *testing.T) {
	logged := 0
	w := newWorld(t, managed.WithLogger(logging.NewLogrLogger(funcr.New(func(_, line string) {
		if strings.Contains(line, "does not say whether anything was created") {
			logged++
		}
	}, funcr.Options{}))))
	w.create(nil)
	for _, err := range manyTypes() {
		w.cloud.Before = failing("Create", err)
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if logged != 16 {
		t.Errorf("%d are told of, want 16", logged)
	}
}

// An errorOf is a type of error for each type.
type errorOf[T any] struct{}

func (errorOf[T]) Error() string { return "boom" }

func manyTypes() []error {
	return []error{
		errorOf[[0]int]{}, errorOf[[1]int]{}, errorOf[[2]int]{}, errorOf[[3]int]{}, errorOf[[4]int]{},
		errorOf[[5]int]{},
		errorOf[[6]int]{}, errorOf[[7]int]{}, errorOf[[8]int]{}, errorOf[[9]int]{}, errorOf[[10]int]{},
		errorOf[[11]int]{},
		errorOf[[12]int]{}, errorOf[[13]int]{}, errorOf[[14]int]{}, errorOf[[15]int]{}, errorOf[[16]int]{},
		errorOf[[0]int]{},
	}
}
