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

// TestReportErrors verifies the result and event for each class of error.
func TestReportErrors(t *testing.T) {
	kind := schema.GroupKind{Kind: "ConfigMap"}
	cases := map[string]struct {
		reason string
		err    error
		want   ctrl.Result
		fails  bool
		event  string
	}{
		"Other": {
			"The error is reported and retried.", errors.New("boom"), ctrl.Result{}, true,
			"Warning SyncError a: Error syncing to physical cluster: boom",
		},
		"Conflict": {
			"The pass is requeued without an event.", apierrors.NewConflict(schema.GroupResource{}, "a", nil), requeue, false,
			"",
		},
		"Invalid": {
			"The error is reported and retried after SlowRecheck.", apierrors.NewInvalid(kind, "a", nil),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "is invalid",
		},
		"TooLarge": {
			"The error is reported and retried after SlowRecheck.", apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "limit is 3145728",
		},
		"TooLargeForEtcd": {
			"The error is reported and retried after SlowRecheck.", apierrors.NewInternalError(
				errors.New("etcdserver: request is too large")),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "etcdserver: request is too large",
		},
		"NotServed": {
			"A kind that is not served is reported and retried after SlowRecheck.", apierrors.NewGenericServerResponse(
				404, "patch", schema.GroupResource{}, "a", "404 page not found", 0, true),
			ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}, false, "could not find the requested resource",
		},
		"NoNamespace": {
			"A missing object may be created: the error is retried.", apierrors.NewNotFound(
				schema.GroupResource{Resource: "namespaces"}, "missing"),
			ctrl.Result{}, true, `namespaces "missing" not found`,
		},
		"Secret": {
			"Secrets are redacted.", errors.New("cannot use password=hunter2"), ctrl.Result{}, true, "Error syncing",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
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

var requeue = ctrl.Result{Requeue: true} //nolint:staticcheck // what a conflict ends in
