package xp_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/xp"
)

// The aspects of a case that are compared. Of calls upstream compares only that those which its client does not
// have are not made.
const (
	inResult   = "result"
	inStatus   = "status"
	inCalls    = "calls"
	inPriority = "priority"
	inObject   = "object"
	inEntries  = "entries"
	inTries    = "tries"
)

// aspects are what is compared, by name.
type aspects map[string]string

// An upstreamSuite is a table of tests of upstream.
type upstreamSuite struct {
	name     string // the function
	of       string // the part of the list that it is compared with
	expected int    // cases
	cases    map[string]func(t *testing.T) (there, here aspects)
}

const (
	ofSeed     = "provider-runtime"
	ofXP       = "crossplane-runtime"
	ofAround   = "crossplane-runtime, around the loop"
	ofUpdaters = "both: annotations and names"
)

func upstreamSuites() []upstreamSuite {
	modern, legacy := sharedCases(upstreamModern, "crossplane.io"), sharedCases(upstreamLegacy, "crossplane.io")
	maps.Copy(modern, crossplaneCases(upstreamModern))
	maps.Copy(legacy, crossplaneCases(upstreamLegacy))

	return []upstreamSuite{
		{"TestReconciler", ofSeed, 28, loopCases(upstreamSeed, sharedCases(upstreamSeed, "krateo.io"))},
		{"TestModernReconciler", ofXP, 53, loopCases(upstreamModern, modern)},
		{"TestReconciler, legacy", ofXP, 53, loopCases(upstreamLegacy, legacy)},
		{"TestReconcilerChangeLogs", ofAround, 6, changeLogs()},
		{"TestReconcilePollIntervalAnnotation", ofAround, 4, pollIntervals()},
		{"TestReconcileRequestAnnotation", ofAround, 2, requests()},
		{"TestRetryingCriticalAnnotationUpdater", ofUpdaters, 4, updaters()},
		{"TestNameAsExternalName", ofUpdaters, 3, names()},
	}
}

// loopCases are the cases of the tables of the loop.
func loopCases(kind upstreamKind, cases map[string]upstreamCase) map[string]func(*testing.T) (aspects, aspects) {
	out := map[string]func(*testing.T) (aspects, aspects){}
	for name, c := range cases {
		out[name] = func(t *testing.T) (aspects, aspects) {
			t.Helper()

			got := c.pass(t, kind)
			there := aspects{
				inResult: c.want.Result, inStatus: c.want.Status, inCalls: c.want.Calls,
				inPriority: "not set",
			}
			here := aspects{inResult: got.Result, inStatus: got.Status, inCalls: got.Calls, inPriority: "not set"}

			if got.Priority {
				here[inPriority] = "set"
			}

			if c.want.Status == uncompared {
				here[inStatus] = uncompared
			}

			if c.near > 0 && got.Result != c.want.Result {
				if d, err := time.ParseDuration(got.Result[len("`RequeueAfter` "):]); err == nil &&
					(d-time.Minute).Abs() < c.near {
					here[inResult] = c.want.Result
				}
			}

			return there, here
		}
	}

	return out
}

// changeLogs are the ends that a change may have, and what is logged of each.
func changeLogs() map[string]func(*testing.T) (aspects, aspects) {
	out := map[string]func(*testing.T) (aspects, aspects){}

	for _, end := range []struct {
		name, failure string
		err           error
	}{{"Successful", "", nil}, {"Failure", "boom", errBoom}} {
		made := &answer{err: end.err}
		for operation, c := range map[changelog.Operation]upstreamCase{
			changelog.OperationCreate: {client: clientCalls{create: made}},
			changelog.OperationUpdate: {client: clientCalls{observe: outdated, update: made}},
			changelog.OperationDelete: {client: clientCalls{observe: outdated, remove: made}, object: deleted},
		} {
			out[string(operation)+end.name+"WithChangeLogs"] = func(t *testing.T) (aspects, aspects) {
				t.Helper()

				var recorded []changelog.Entry

				c.options = append(c.options,
					managed.WithChangeLog(changelog.SinkFunc(func(_ context.Context, e changelog.Entry) error {
						recorded = append(recorded, e)

						return nil
					})))
				c.pass(t, upstreamModern)

				here := fmt.Sprint(len(recorded))
				for _, e := range recorded {
					here += fmt.Sprintf(", %s %q", e.Operation, e.Error)
				}

				return aspects{inEntries: fmt.Sprintf("1, %s %q", operation, end.failure)}, aspects{inEntries: here}
			}
		}
	}

	return out
}

// pollIntervals are the delays that an object asks for. Upstream tolerates a second.
func pollIntervals() map[string]func(*testing.T) (aspects, aspects) {
	out := map[string]func(*testing.T) (aspects, aspects){}

	for name, c := range map[string]struct {
		interval, least, want time.Duration
		annotation            string
	}{
		"AnnotationOverridesPollInterval":   {time.Minute, time.Second, 24 * time.Hour, "24h"},
		"InvalidAnnotationFallsBack":        {5 * time.Minute, time.Second, 5 * time.Minute, "not-a-duration"},
		"AnnotationBelowMinimumClampsToMin": {10 * time.Minute, 30 * time.Second, 30 * time.Second, "1s"},
		"NoAnnotationUsesDefault":           {10 * time.Minute, time.Second, 10 * time.Minute, ""},
	} {
		out[name] = func(t *testing.T) (aspects, aspects) {
			t.Helper()

			u := upstreamCase{client: clientCalls{observe: current}, options: options(
				uninitialized, resolved, finalizing, managed.WithPollInterval(c.interval),
				managed.WithMinPollInterval(c.least))}
			if c.annotation != "" {
				u.object = annotated(meta.AnnotationKeyPollInterval, c.annotation)
			}

			return aspects{inResult: after(c.want)}, aspects{inResult: u.pass(t, upstreamModern).Result}
		}
	}

	return out
}

// An askable is a role that answers requests for a pass in its status.
type askable struct{ role }

func (a *askable) DeepCopyObject() runtime.Object {
	return &askable{role: *a.role.DeepCopyObject().(*role)}
}

func (a *askable) GetLastHandledReconcileAt() string { return a.Status.GetLastHandledReconcileAt() }

func (a *askable) SetLastHandledReconcileAt(token string) { a.Status.SetLastHandledReconcileAt(token) }

var _ resource.ReconcileRequestee = &askable{}

// requests are those for a pass, which the status answers.
func requests() map[string]func(*testing.T) (aspects, aspects) {
	out := map[string]func(*testing.T) (aspects, aspects){}

	for name, c := range map[string]struct{ token, handled string }{
		"NewReconcileRequestRecordsToken":      {"1705312200", ""},
		"AlreadyHandledReconcileRequestIsNoOp": {"already-handled", "already-handled"},
	} {
		out[name] = func(t *testing.T) (aspects, aspects) {
			t.Helper()

			var stored *askable

			u := upstreamCase{
				client:  clientCalls{observe: current},
				options: options(uninitialized, resolved, finalizing),
			}
			u.written = func(o client.Object) { stored, _ = o.(*askable) }
			u.object = func(o object) {
				meta.AddAnnotations(o, map[string]string{meta.AnnotationKeyReconcileRequestedAt: c.token})
				o.(*askable).SetLastHandledReconcileAt(c.handled)
			}
			kind := upstreamModern
			kind.of = &askable{}
			got := u.pass(t, kind)

			token := unwritten
			if stored != nil {
				token = stored.GetLastHandledReconcileAt()
			}

			return aspects{inResult: after(time.Minute), inStatus: c.token},
				aspects{inResult: got.Result, inStatus: token}
		}
	}

	return out
}

// updaters are the ways to store annotations. The suite gives no context.
func updaters() map[string]func(*testing.T) (aspects, aspects) {
	conflict := kerrors.NewConflict(schema.GroupResource{Group: "example.org", Resource: "roles"}, "reader", errBoom)
	out := map[string]func(*testing.T) (aspects, aspects){}

	for name, c := range map[string]struct {
		get, update error
		want        error
		read        bool
		tries       string
	}{
		"UpdateConflictGetError":      {errBoom, conflict, errBoom, true, "1"},
		"UpdateError":                 {nil, errBoom, errBoom, false, "1"},
		"SuccessfulGetAfterAConflict": {nil, conflict, conflict, true, "5"},
		"Success": {nil, errBoom, errBoom, false,
			"1"}, // that is what the case is: its name says otherwise
	} {
		out[name] = func(t *testing.T) (aspects, aspects) {
			t.Helper()

			there := aspects{inResult: c.want.Error(), inObject: fmt.Sprintf("read anew: %t", c.read), inTries: c.tries}
			here := aspects{}

			synctest.Test(t, func(t *testing.T) {
				var none context.Context

				tries, read := 0, false
				api := test.NewMockClient()
				api.MockGet = test.NewMockGetFn(c.get, func(client.Object) error {
					read = true

					return nil
				})
				api.MockUpdate = test.NewMockUpdateFn(c.update, func(client.Object) error {
					tries++

					return nil
				})
				begun := time.Now()
				err := managed.NewRetryingCriticalAnnotationUpdater(api).UpdateCriticalAnnotations(none, &role{})
				here[inResult], here[inObject] = rootOf(err), fmt.Sprintf("read anew: %t", read)
				here[inTries] = fmt.Sprint(tries)

				if tries > 5 {
					here[inTries] = fmt.Sprintf("again and again, for %s", time.Since(begun).Round(time.Second))
				}
			})

			return there, here
		}
	}

	return out
}

// rootOf returns the text of the innermost error that is not wrapped by a message alone.
func rootOf(err error) string {
	status := &kerrors.StatusError{}
	if errors.As(err, &status) {
		return status.Error()
	}

	if errors.Is(err, errBoom) {
		return errBoom.Error()
	}

	return fmt.Sprint(err)
}

// names are the external names that an initializer gives.
func names() map[string]func(*testing.T) (aspects, aspects) {
	out := map[string]func(*testing.T) (aspects, aspects){}

	for name, c := range map[string]struct {
		update         error
		existing, want string
		result         string
	}{
		"UpdateManagedError": {errBoom, "", "reader", failing("boom")},
		"UpdateSuccessful":   {nil, "", "reader", "no error"},
		"UpdateNotNeeded":    {nil, "some-name", "some-name", "no error"},
	} {
		out[name] = func(t *testing.T) (aspects, aspects) {
			t.Helper()

			api := test.NewMockClient()
			api.MockUpdate = test.NewMockUpdateFn(c.update)

			mg := &fake.Managed{}
			mg.SetName("reader")

			if c.existing != "" {
				meta.SetExternalName(mg, c.existing)
			}

			result := "no error"
			if err := xp.NewNameAsExternalName(api).Initialize(t.Context(), mg); err != nil {
				result = failing(rootOf(err))
			}

			return aspects{inResult: c.result, inObject: c.want},
				aspects{inResult: result, inObject: meta.GetExternalName(mg)}
		}
	}

	return out
}
