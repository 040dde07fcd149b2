package xp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/xp"
)

var (
	errBoom = errors.New("boom")
	moment  = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
)

// An object is a managed resource of one of the kinds below.
type object interface {
	client.Object
	resource.Managed
}

// An upstreamKind is what a suite of upstream reconciles, by the constructor that a provider
// has after its imports were rewritten.
type upstreamKind struct {
	of         object
	generation int64 // that the suite gives its objects
	reconciler func(m *fake.Manager, of resource.ManagedKind, calls *clientCalls,
		o ...managed.ReconcilerOption) *managed.Reconciler
	// typed gives a client of this type alone; nil if the runtime has none.
	typed   func(calls *clientCalls) managed.ReconcilerOption
	orphan  func(object)
	observe func(object) // allows nothing but to observe
}

var (
	upstreamSeed = upstreamKind{
		of: &fake.Managed{},
		reconciler: func(m *fake.Manager, of resource.ManagedKind, calls *clientCalls,
			o ...managed.ReconcilerOption) *managed.Reconciler {
			return managed.NewReconciler(m, of, append([]managed.ReconcilerOption{
				managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
					ConnectFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
						c, err := calls.Connect(ctx, mg)
						if err != nil {
							return nil, err
						}

						return managed.ExternalClientFns{
							ObserveFn: c.Observe,
							CreateFn: func(ctx context.Context,
								mg resource.Managed) error {
								_, err := c.Create(ctx, mg)
								return err
							},
							UpdateFn: func(ctx context.Context,
								mg resource.Managed) error {
								_, err := c.Update(ctx, mg)
								return err
							},
							DeleteFn: func(ctx context.Context,
								mg resource.Managed) error {
								_, err := c.Delete(ctx, mg)
								return err
							},
						}, nil
					},
					DisconnectFn: func(context.Context) error { return calls.disconnect },
				}),
			}, o...)...)
		},
		orphan:  annotated(meta.AnnotationKeyDeletionPolicy, meta.DeletionPolicyOrphan),
		observe: annotated(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve),
	}
	upstreamModern = upstreamKind{
		of: &role{}, generation: 42, reconciler: adapted, typed: adaptedTyped[*role],
		orphan: allowing(commonv1.ManagementActionObserve, commonv1.ManagementActionCreate,
			commonv1.ManagementActionUpdate, commonv1.ManagementActionLateInitialize),
		observe: allowing(commonv1.ManagementActionObserve),
	}
	upstreamLegacy = upstreamKind{
		of: &grant{}, generation: 42, reconciler: adapted, typed: adaptedTyped[*grant],
		orphan:  func(o object) { o.(xp.Orphanable).SetDeletionPolicy(xp.DeletionOrphan) },
		observe: allowing(commonv1.ManagementActionObserve),
	}
)

// adapted returns a reconciler with a client of crossplane-runtime.
func adapted(m *fake.Manager, of resource.ManagedKind, calls *clientCalls,
	o ...managed.ReconcilerOption) *managed.Reconciler {
	return xp.NewReconciler(m, of, append([]managed.ReconcilerOption{xp.WithExternalConnector(calls)}, o...)...)
}

// adaptedTyped gives a reconciler a client of crossplane-runtime for one type.
func adaptedTyped[T resource.Managed](calls *clientCalls) managed.ReconcilerOption {
	return xp.WithTypedExternalConnector[T](typedCalls[T]{calls})
}

func annotated(key, value string) func(object) {
	return func(o object) { meta.AddAnnotations(o, map[string]string{key: value}) }
}

// allowing returns what gives an object management policies. Without an action they are empty, which pauses.
func allowing(actions ...commonv1.ManagementAction) func(object) {
	return func(o object) {
		o.(xp.Manageable).SetManagementPolicies(append(commonv1.ManagementPolicies{}, actions...))
	}
}

func deleted(o object) { o.SetDeletionTimestamp(&metav1.Time{Time: moment}) }

// all does one after the other.
func all(fns ...func(object)) func(object) {
	return func(o object) {
		for _, fn := range fns {
			fn(o)
		}
	}
}

// clientCalls is the client of one case, and the calls that it got. Each of the calls without an answer in the
// case of upstream answers with an error here.
type clientCalls struct {
	connect    error
	disconnect error
	observe    managed.ExternalObservation
	observeErr error
	create     *answer
	update     *answer
	remove     *answer

	made []string
}

// An answer is that of Create, Update or Delete.
type answer struct {
	err     error
	details managed.ConnectionDetails
}

func (c *clientCalls) Connect(context.Context, resource.Managed) (xp.ExternalClient, error) {
	if c.connect != nil {
		return nil, c.connect
	}

	return xp.ExternalClientFns{
		ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
			c.made = append(c.made, "Observe")

			return c.observe, c.observeErr
		},
		CreateFn: func(context.Context, resource.Managed) (xp.ExternalCreation, error) {
			details, err := c.change("Create", c.create)

			return xp.ExternalCreation{ConnectionDetails: details}, err
		},
		UpdateFn: func(context.Context, resource.Managed) (xp.ExternalUpdate, error) {
			details, err := c.change("Update", c.update)

			return xp.ExternalUpdate{ConnectionDetails: details}, err
		},
		DeleteFn: func(context.Context, resource.Managed) (xp.ExternalDelete, error) {
			_, err := c.change("Delete", c.remove)

			return xp.ExternalDelete{}, err
		},
		DisconnectFn: func(context.Context) error { return c.disconnect },
	}, nil
}

// typedCalls are clientCalls for one type of managed resource.
type typedCalls[T resource.Managed] struct{ calls *clientCalls }

func (c typedCalls[T]) Connect(ctx context.Context, mg T) (xp.TypedExternalClient[T], error) {
	e, err := c.calls.Connect(ctx, mg)
	if err != nil {
		return nil, err
	}

	return xp.TypedExternalClientFns[T]{
		ObserveFn: func(ctx context.Context,
			mg T) (managed.ExternalObservation, error) {
			return e.Observe(ctx, mg)
		},
		CreateFn:     func(ctx context.Context, mg T) (xp.ExternalCreation, error) { return e.Create(ctx, mg) },
		UpdateFn:     func(ctx context.Context, mg T) (xp.ExternalUpdate, error) { return e.Update(ctx, mg) },
		DeleteFn:     func(ctx context.Context, mg T) (xp.ExternalDelete, error) { return e.Delete(ctx, mg) },
		DisconnectFn: e.Disconnect,
	}, nil
}

func (c *clientCalls) change(call string, a *answer) (managed.ConnectionDetails, error) {
	c.made = append(c.made, call)
	if a == nil {
		return nil, errors.Errorf("%s is not to be called", call)
	}

	return a.details, a.err
}

// An outcome is what one pass leaves, as far as the suites compare it, and the calls that led to it.
type outcome struct {
	Result   string // with the error
	Status   string // conditions, and the annotations that the pass added, as they were written
	Calls    string // of the external client
	Priority bool   // whether Result.Priority is set
}

const (
	unwritten  = "no status written"
	uncompared = "not compared"
	nothing    = "empty result"
	requeue    = "`Requeue`"
)

// after is the result of a pass that is followed by one after a while.
func after(d time.Duration) string { return "`RequeueAfter` " + d.String() }

// failing is the result of a pass that returns an error.
func failing(text string) string { return "error `" + text + "`" }

// describe returns what was written in one line. Conditions have no order.
func describe(conditions []commonv1.Condition, annotations ...string) string {
	var parts []string
	for _, c := range conditions {
		part := fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			part += " `" + c.Message + "`"
		}

		parts = append(parts, part)
	}

	slices.Sort(parts)

	for _, key := range slices.Sorted(slices.Values(annotations)) {
		parts = append(parts, "`"+key+"`")
	}

	return strings.Join(parts, "; ")
}

// An upstreamCase is one pass.
type upstreamCase struct {
	object  func(object) // makes what Get answers
	get     error        // the answers of the API server
	update  error
	status  error
	client  clientCalls
	typed   bool // the client is one for the type of the object
	options []managed.ReconcilerOption
	written func(client.Object) // called with every write of the status, if not nil

	want outcome       // what upstream has
	near time.Duration // how far a delay may be from it
}

// pass makes the pass of a case over a kind. Time stands still, and polls are spread by half of what they may be
// spread.
func (c upstreamCase) pass(t *testing.T, kind upstreamKind) outcome {
	t.Helper()

	var got outcome

	synctest.Test(t, func(t *testing.T) { got = c.passNow(t, kind) }) // some writes are tried for a while

	return got
}

// passNow makes the pass.
func (c upstreamCase) passNow(t *testing.T, kind upstreamKind) outcome {
	t.Helper()

	calls := c.client
	got := outcome{Status: unwritten}

	var initial map[string]string

	api := test.NewMockClient()
	api.MockGet = test.NewMockGetFn(c.get, func(o client.Object) error {
		mg, ok := o.(object)
		if !ok {
			return nil
		}

		mg.SetGeneration(kind.generation)

		if c.object != nil {
			c.object(mg)
		}

		initial = maps.Clone(mg.GetAnnotations())

		return nil
	})
	api.MockUpdate = test.NewMockUpdateFn(c.update)
	api.MockStatusUpdate = test.NewMockSubResourceUpdateFn(c.status, func(o client.Object) error {
		got.Status = written(t, o, initial, kind.generation)
		if c.written != nil {
			c.written(o)
		}

		return nil
	})

	options := append([]managed.ReconcilerOption{
		managed.WithClock(testclock.NewFakePassiveClock(moment)), managed.WithRandom(func() float64 { return 0.75 }),
	}, c.options...)
	given := &calls

	if c.typed {
		given = &clientCalls{connect: errors.New("the client for any type was asked")}
		options = append(options, kind.typed(&calls))
	}

	m := &fake.Manager{Client: api, Scheme: fake.SchemeWith(kind.of)}
	r := kind.reconciler(m, resource.ManagedKind(fake.GVK(kind.of)), given, options...)

	result, err := r.Reconcile(t.Context(), reconcile.Request{})
	got.Result, got.Priority, got.Calls = resultOf(result, err), result.Priority != nil, strings.Join(calls.made, " ")

	return got
}

func resultOf(r reconcile.Result, err error) string {
	switch {
	case err != nil:
		return failing(err.Error())
	case r.Requeue: //nolint:staticcheck // that is what is looked for
		return requeue
	case r.RequeueAfter > 0:
		return after(r.RequeueAfter)
	default:
		return nothing
	}
}

// written returns the status of an object, and the annotations that it did not have.
func written(t *testing.T, o client.Object, initial map[string]string, generation int64) string {
	t.Helper()

	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	var stored struct {
		Status commonv1.ConditionedStatus `json:"status"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}

	for i, c := range stored.Status.Conditions {
		if c.ObservedGeneration != generation {
			t.Errorf("%s is of generation %d, want %d", c.Type, c.ObservedGeneration, generation)
		}

		// The mark of an attempt holds a random part.
		if c.Type == commonv1.TypeCreated {
			stored.Status.Conditions[i].Message = ""
		}
	}

	var added []string
	for key, value := range o.GetAnnotations() {
		if before, ok := initial[key]; !ok || before != value {
			added = append(added, key)
		}
	}

	return describe(stored.Status.Conditions, added...)
}
