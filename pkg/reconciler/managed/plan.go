package managed

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/dryrun"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Plan says what the first reconcile of an object would do in a process that starts now, and why. [Reconciler.Plan]
// makes it, and nothing is changed. The zero value is no plan.
type Plan struct {
	// Kind, Object, UID and Generation are those of the object. An object that is not stored has no UID.
	Kind       schema.GroupVersionKind
	Object     types.NamespacedName
	UID        types.UID
	Generation int64

	// ExternalName is the external name that the object would have, or empty if it is not known yet.
	ExternalName string

	// Action is the change of the external system: Create, Update or Delete. Without such a change it is the action or
	// the admission that ends the reconcile, such as Keep, Pause or AskUser. All names are in docs/lifecycle.md. It is
	// empty if Err is not nil.
	Action string

	// Because is the sentence that docs/lifecycle.md has for the case that led to Action. Facts are the parts of its
	// condition that hold.
	Because string
	Facts   []string

	// Writes are the writes to the API server that the reconcile makes before Action, without its status.
	Writes []PlannedWrite

	// Differences are the fields in which the external resource differs from the object, as in its status.
	// MoreDifferences is the number of other fields that differ.
	Differences     []commonv1.Difference
	MoreDifferences int

	// Reported is whether the status of the object has all Differences already. It is false for a kind without
	// commonv1.DriftStatus.
	Reported bool

	// Err says why the action is not known. Its text is redacted.
	Err error

	// Referents are the objects of WithPlannedObjects that the reconcile reads and that are not stored yet. If they
	// would be created, Err may only say that they do not exist yet.
	Referents []PlannedReferent
}

// A PlannedReferent is another object that a plan depends on.
type PlannedReferent struct {
	Kind   schema.GroupVersionKind
	Object types.NamespacedName
}

// A PlannedWrite is a write to the API server that a reconcile would make. It has no values of fields.
type PlannedWrite struct {
	// Verb is create, update, patch or delete.
	Verb string `json:"verb"`

	// Kind, Namespace and Name are those of the object that is written.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Fields are the paths of the fields that an update or a patch changes, sorted; at most 32.
	Fields []string `json:"fields,omitempty"`
}

// Changes reports whether the plan is to change the external system. An update that is Immutable is no change.
func (p Plan) Changes() bool {
	return slices.Contains([]string{lifecycle.Create.String(), lifecycle.Update.String(), lifecycle.Delete.String()},
		p.Action) && !p.Immutable()
}

// Immutable reports whether the plan is an Update, no field that differs can be changed, and the status of the object
// has these fields already. The provider that runs has called Update for them, and calls it again: the resource stays
// as it is. A difference that is not in the status is one between versions of the provider, or between the object and
// a manifest.
func (p Plan) Immutable() bool {
	return p.Action == lifecycle.Update.String() && len(p.Differences) > 0 && p.MoreDifferences == 0 && p.Reported &&
		!slices.ContainsFunc(p.Differences, func(d commonv1.Difference) bool { return !d.Immutable })
}

// AtRest reports whether nothing would be changed, neither in the external system nor in the API server, because
// nothing is to be done: the resource is as desired, or the object is paused or ignored.
func (p Plan) AtRest() bool {
	return len(p.Writes) == 0 && slices.Contains([]string{lifecycle.Keep.String(), lifecycle.Pause.String(),
		lifecycle.Ignore.String()}, p.Action)
}

// errPlanned ends the pass of a plan before the external system is changed.
var errPlanned = errors.New("this process only plans: it changes nothing")

// Plan returns what the first reconcile of an object would do in a process that starts now. It makes a pass with the
// code of a reconcile and without its memory, and ends it before a change of the external system. It only reads, and
// does not change mg. If the rate limit of the connection holds back a call, or a list is not complete, it tries again
// until ctx ends.
//
// The object may be stored or not. It counts as stored as it is. Without a UID, it counts as created now.
//
// The Reconciler must have been made with the manager of a [Planner]. Otherwise the plan has only an error. Plan is
// safe for concurrent use.
func (r *Reconciler) Plan(ctx context.Context, mg resource.Managed) Plan {
	plan := Plan{
		Kind: schema.GroupVersionKind(r.of), Object: client.ObjectKeyFromObject(mg), UID: mg.GetUID(),
		Generation: mg.GetGeneration(),
	}
	switch {
	case r.planner == nil:
		plan.Err = errors.New("cannot plan: the reconciler was not made with the manager of a Planner")
	case r.invalid != nil:
		plan.Err = r.invalid
	}
	if plan.Err != nil {
		return plan
	}
	member, leave := r.planMember(mg)
	defer leave()
	for read := asStored(mg); ; {
		again := r.planOnce(ctx, clone(read), member, &plan)
		if again == 0 {
			return plan
		}
		if err := sleep(ctx, again); err != nil {
			plan.Action, plan.Err = "", errors.Wrap(err, "cannot plan in time")

			return plan
		}
	}
}

// asStored returns a copy of an object with what the API server sets when the object is created.
func asStored(mg resource.Managed) resource.Managed {
	stored := clone(mg)
	if stored.GetUID() != "" {
		return stored
	}
	stored.SetUID(uuid.NewUUID())
	stored.SetGeneration(1)
	stored.SetResourceVersion("1")
	stored.SetCreationTimestamp(metav1.Now())

	return stored
}

// planOnce makes one pass over an object, and completes its plan. If the pass has to be repeated, it returns the delay.
func (r *Reconciler) planOnce(ctx context.Context, read resource.Managed, member *listcache.Member,
	plan *Plan) (again time.Duration) {
	ctx, cancel := deadline.In(ctx, r.timeout+persistTimeout)
	defer cancel()
	ctx, session := dryrun.Begin(ctx, r.planner.offer)
	if plan.Err = session.Store(plan.Kind, read); plan.Err != nil {
		return 0
	}
	known := (&objectState{member: member}).acquire(r.objects.unused)
	ctx, counted := r.telemetry.Begin(ctx, &known.counted, read)
	p := r.newPass(read, known)
	ctx = redact.Collect(ctx, &p.secrets)
	defer p.close(ctx)
	_, err := p.run(ctx)
	counted.End("", err)
	if again := p.planAgain(err); again > 0 {
		return again
	}
	p.completePlan(plan, session, err)

	return 0
}

// completePlan puts the result of the pass into the plan.
func (p *pass) completePlan(plan *Plan, session *dryrun.Session, err error) {
	plan.ExternalName = meta.GetExternalName(p.mg)
	if p.differences != nil {
		plan.Differences, plan.MoreDifferences = p.differences.fields, p.differences.more
		plan.Reported = reported(p.mg, plan.Differences)
	}
	plan.Referents = nil
	for _, of := range session.ReadOfOffer() {
		if r := PlannedReferent(of); slices.Contains(p.r.planner.unstored, r) {
			plan.Referents = append(plan.Referents, r)
		}
	}
	for _, w := range session.Writes() {
		plan.Writes = append(plan.Writes, PlannedWrite(w))
	}
	switch because := why(p); {
	case err != nil && !errors.Is(err, errPlanned):
		plan.Err = p.redact(err)
	case err == nil && p.operation != nil:
		plan.Action, plan.Because = lifecycle.Observe.String(), textOperating
	default:
		plan.Action, plan.Because, plan.Facts = because.Result, because.Says, because.Facts
	}
}

// reported reports whether the status of an object has differences in all of some fields.
func reported(mg resource.Managed, all []commonv1.Difference) bool {
	reporter, ok := mg.(resource.DriftReporter)
	if !ok || reporter.GetDrift() == nil {
		return false
	}

	return !slices.ContainsFunc(all, func(d commonv1.Difference) bool {
		return !slices.ContainsFunc(reporter.GetDrift().Fields, func(known commonv1.Difference) bool {
			return known.Path == d.Path && known.Desired == d.Desired
		})
	})
}

const textOperating = "An operation of the external system is in progress."

// planAgain returns the delay after which the pass of a plan is repeated, or zero if its result counts. A pass is
// repeated where a process would make another one before it decides: a list is not complete, the item of a list has to
// be confirmed, or the rate limit holds back a call.
func (p *pass) planAgain(err error) time.Duration {
	const moment = time.Millisecond
	switch {
	case err == nil && p.unlisted != 0:
		return max(p.listAfter, moment)
	case err == nil && p.lastFacts.Presence == lifecycle.Listed:
		return moment
	case err != nil && gates.IsHeld(err) && !external.IsUnavailable(err) && !external.IsUnauthorized(err):
		return max(retryAfter(err, 0), moment)
	default:
		return 0
	}
}

// step returns the function of an action. While it only plans, that of a change of the external system ends the pass
// before the change.
func (p *pass) step(action lifecycle.Action) func(*pass, context.Context) error {
	if p.r.planner != nil {
		if planned, changes := plannedSteps[action]; changes {
			return planned
		}
	}

	return steps[action]
}

// plannedSteps maps each action that changes the external system to what comes before the change.
var plannedSteps = map[lifecycle.Action]func(*pass, context.Context) error{
	lifecycle.Create: (*pass).planCreate,
	lifecycle.Update: (*pass).planUpdate,
	lifecycle.Delete: (*pass).planDelete,
}

func (p *pass) planCreate(ctx context.Context) error {
	if meta.WasDeleted(p.mg) {
		if retained, err := p.retain(ctx); retained || err != nil {
			return creating.failed(err)
		}
	}
	if err := p.prepareCreate(ctx); err != nil {
		return err
	}

	return errPlanned
}

func (p *pass) planUpdate(context.Context) error { return errPlanned }

func (p *pass) planDelete(ctx context.Context) error {
	if retained, err := p.prepareDelete(ctx); retained || err != nil {
		return err
	}

	return errPlanned
}

// withoutChanges returns a client whose changes fail, if the reconciler only plans.
func (p *clientSession) withoutChanges(c ExternalClient) ExternalClient {
	if p.r.planner == nil {
		return c
	}

	return planningClient{c, p.r.planner}
}

// A planningClient makes no change, and counts observations.
type planningClient struct {
	ExternalClient

	planner *Planner
}

func (c planningClient) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	c.planner.observations.Add(1)

	return c.ExternalClient.Observe(ctx, mg)
}

// A planningLister counts pages.
type planningLister struct {
	ExternalLister

	planner *Planner
}

func (l planningLister) ListPage(ctx context.Context, token string) (ExternalListPage, error) {
	l.planner.pages.Add(1)

	return l.ExternalLister.ListPage(ctx, token)
}

func (planningClient) Create(context.Context, resource.Managed) error {
	return external.NotCreated(errPlanned)
}

func (planningClient) Update(context.Context, resource.Managed) error { return errPlanned }

func (planningClient) Delete(context.Context, resource.Managed) error { return errPlanned }
