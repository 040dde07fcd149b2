package managed

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// What the options of a controller say holds for its reconciler, unless an option of that says
// otherwise; without a logger nothing is logged.
func TestOptionsOfAControllerReachItsReconciler(t *testing.T) {
	of := fake.GVK(&fake.Managed{})
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(of, &fake.Managed{})
	m := &fake.Manager{Scheme: scheme}
	var lines []string
	log := logging.NewLogrLogger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	registry := WithMetricsRegisterer(prometheus.NewRegistry())

	r, options := wire(m, resource.ManagedKind(of), controller.Options{Logger: log, PollInterval: 7 * time.Minute, MaxConcurrentReconciles: 3}, []ReconcilerOption{registry})
	if r.pollInterval != 7*time.Minute || options.MaxConcurrentReconciles != 3 || options.Reconciler != r || r.pace == nil || r.record != r.pace {
		t.Errorf("poll interval %s, %d workers, recorder %T", r.pollInterval, options.MaxConcurrentReconciles, r.record)
	}
	if want := `"controller"="` + controllerName(resource.ManagedKind(of)) + `"`; len(lines) != 1 || !strings.Contains(lines[0], want) {
		t.Errorf("the log says %q, want %s", lines, want)
	}
	mine := &diary{}
	r, _ = wire(m, resource.ManagedKind(of), controller.Options{PollInterval: 7 * time.Minute}, []ReconcilerOption{registry, WithPollInterval(time.Hour), WithRecorder(mine)})
	if r.pollInterval != time.Hour || r.record != mine || r.pace == nil {
		t.Errorf("an option of the reconciler does not win: %s, %T", r.pollInterval, r.record)
	}
}

// A kind that nobody knows is refused before anything is added, served or not.
func TestAGatedKindThatNobodyKnows(t *testing.T) {
	of := resource.ManagedKind(fake.GVK(&fake.Managed{}))
	err := SetupGated(&fake.Manager{Scheme: runtime.NewScheme()}, nil, of, controller.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot set up a controller for an unregistered kind: ") {
		t.Errorf("error %v", err)
	}
}
