package sim

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestLogLine: keys and values of a line of the log can be distinguished.
func TestLogLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		values []any
		want   string
	}{
		"None": {"a message may be all", nil, "Reconciler made"},
		"Words": {"a key and its value belong together",
			[]any{"kind", "Database", "createClass", "Named"}, "Reconciler made kind=Database createClass=Named"},
		"Spaces": {"a value with spaces is one value",
			[]any{"message", "all is well"}, `Reconciler made message="all is well"`},
		"Empty": {"an empty value is seen",
			[]any{"name", ""}, `Reconciler made name=""`},
		"Other": {"values are of any type",
			[]any{"pollInterval", time.Minute, "error", errors.New("no route")},
			`Reconciler made pollInterval=1m0s error="no route"`},
		"NoValue": {"a key without a value is a mistake that the trace shows",
			[]any{"kind"}, `Reconciler made kind="(no value)"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := logLine("Reconciler made", c.values); got != c.want {
				t.Errorf("%s: %q instead of %q", c.reason, got, c.want)
			}
		})
	}
}

// TestDescribeRequeue: the trace says when the queue returns an object.
func TestDescribeRequeue(t *testing.T) {
	cases := map[string]struct {
		reason string
		result reconcile.Result
		err    error
		want   string
	}{
		"Error": {"an error means backoff, whatever the result is",
			reconcile.Result{}, errors.New("no route"), "requeued with backoff, error: no route"},
		"Terminal": {"a terminal error is not retried",
			reconcile.Result{}, reconcile.TerminalError(errors.New("no route")),
			"not requeued, error: terminal error: no route"},
		"Later": {"a time is a time",
			reconcile.Result{RequeueAfter: time.Minute}, nil, "requeued after 1m0s"},
		"Requeue": {"without a time it is backoff",
			reconcile.Result{Requeue: true}, nil, "requeued with backoff"}, //nolint:staticcheck // used
		"Done": {"nothing is to do", reconcile.Result{}, nil, "not requeued"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := describeRequeue(c.result, c.err); got != c.want {
				t.Errorf("%s: %q instead of %q", c.reason, got, c.want)
			}
		})
	}
}
