package syncer_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

// TestErrors: what becomes of an error of the syncer.
func TestErrors(t *testing.T) {
	kind := schema.GroupKind{Kind: "ConfigMap"}
	cases := map[string]struct {
		reason string
		err    error
		want   ctrl.Result
		fails  bool
		event  string
	}{
		"Other":    {"It is told and tried again.", errors.New("boom"), ctrl.Result{}, true, "Warning SyncError a: Error syncing to physical cluster: boom"},
		"Conflict": {"It is tried again in silence.", apierrors.NewConflict(schema.GroupResource{}, "a", nil), again, false, ""},
		"Invalid": {
			"It is told, and looked at much later.", apierrors.NewInvalid(kind, "a", nil),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "is invalid",
		},
		"TooLarge": {
			"It is told, and looked at much later.", apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "limit is 3145728",
		},
		"TooLargeForEtcd": {
			"It is told, and looked at much later.", apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "etcdserver: request is too large",
		},
		"NotServed": {
			"A kind that is gone is told, and looked at much later.", apierrors.NewGenericServerResponse(404, "patch", schema.GroupResource{}, "a", "404 page not found", 0, true),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "could not find the requested resource",
		},
		"NoNamespace": {
			"What is not found may come: it is tried again.", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "missing"),
			ctrl.Result{}, true, `namespaces "missing" not found`,
		},
		"Secret": {
			"No secret is told.", errors.New("cannot use password=hunter2"), ctrl.Result{}, true, "Error syncing",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
			w.syncer.syncErr = tc.err
			got, err := w.pass("a")
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s\ngot %v, %v", tc.reason, got, err)
			}
			said := strings.Join(w.events.all(), "\n")
			if tc.event == "" && said != "" || !strings.Contains(said, tc.event) || strings.Contains(said, "hunter2") {
				t.Errorf("%s\nevents: %s", tc.reason, said)
			}
		})
	}
}

var again = ctrl.Result{Requeue: true} //nolint:staticcheck // what a conflict ends in
