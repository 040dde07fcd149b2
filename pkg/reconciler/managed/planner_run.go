package managed

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/dryrun"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A PlanOption is an option of [Planner.Run].
type PlanOption func(*planOptions)

type planOptions struct {
	workers  int
	kinds    []string
	given    bool // objects are planned instead of those that are stored
	objects  []resource.Managed
	progress func(done, total int)
}

// WithPlanWorkers sets the number of objects that are planned at a time. The default, also of a number that is not
// positive, is 10.
func WithPlanWorkers(n int) PlanOption {
	return func(o *planOptions) { o.workers = n }
}

// WithPlannedKinds restricts the plan to the kinds with these names, such as "Bucket", in upper or lower case. The
// default is all kinds.
func WithPlannedKinds(names ...string) PlanOption {
	return func(o *planOptions) { o.kinds = append(o.kinds, names...) }
}

// WithPlannedObjects plans the given objects instead of all that are stored. See [Planner.Applied]. Each plan reads the
// other objects as if they were stored. A list, such as that of a selector, has only what is stored.
func WithPlannedObjects(objects ...resource.Managed) PlanOption {
	return func(o *planOptions) { o.given, o.objects = true, append(o.objects, objects...) }
}

// WithPlanProgress sets a function that is called after each plan, with the number of plans so far and the number of
// all objects. It is not called concurrently with itself, or with the function that gets the plans.
func WithPlanProgress(progress func(done, total int)) PlanOption {
	return func(o *planOptions) { o.progress = progress }
}

// A plannedObject is an object to be planned.
type plannedObject struct {
	r  *Reconciler
	mg resource.Managed
}

// Run starts the caches, and plans all objects of the kinds that were set up. It calls each with every plan, in any
// order, but not concurrently. A kind whose objects cannot be listed gets one plan without the name of an object, with
// an error. After Run the caches have ended, so call it once.
//
// Run returns an error if a kind is not known, if the caches end, or if ctx ends before all objects are planned. An
// error of a plan is no error of Run.
func (p *Planner) Run(ctx context.Context, each func(Plan), o ...PlanOption) error {
	options := planOptions{workers: defaultPlanWorkers}
	for _, option := range o {
		option(&options)
	}
	if options.workers <= 0 {
		options.workers = defaultPlanWorkers
	}
	if err := p.checkKinds(options); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(errors.Wrap(p.manager.Manager.Start(ctx), "the caches have ended"))
	}()
	defer func() { cancel(nil); <-ended }()
	if started := p.manager.GetCache(); started != nil && !started.WaitForCacheSync(ctx) {
		return errors.Wrap(redact.Error(context.Cause(ctx)), "the caches did not start")
	}

	return p.run(ctx, each, options)
}

func (p *Planner) run(ctx context.Context, each func(Plan), options planOptions) error {
	found, failed := p.find(ctx, options)
	for _, plan := range failed {
		each(plan)
	}
	for _, f := range found {
		f.r.joinLists(f.mg)
	}
	done := planAll(ctx, found, each, options)
	if done == len(found) && ctx.Err() == nil {
		return nil
	}

	return errors.Wrapf(redact.Error(context.Cause(ctx)), "planned %d of %d objects", done, len(found))
}

// planAll plans objects with several workers, and returns how many were planned before ctx ended. It does not wait for
// a client that goes on after the end of ctx.
func planAll(ctx context.Context, found []plannedObject, each func(Plan), options planOptions) (done int) {
	next, ended := make(chan plannedObject), make(chan struct{})
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range min(options.workers, len(found)) {
		workers.Go(func() {
			for f := range next {
				plan := f.r.Plan(ctx, f.mg)
				mu.Lock()
				if ctx.Err() == nil {
					each(plan)
					if done++; options.progress != nil {
						options.progress(done, len(found))
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range found {
		select {
		case next <- f:
		case <-ctx.Done():
		}
	}
	close(next)
	go func() { workers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()

	return done
}

// find returns the objects to plan, and a plan with an error for each kind whose objects cannot be listed.
func (p *Planner) find(ctx context.Context, options planOptions) (found []plannedObject, failed []Plan) {
	p.mu.Lock()
	all := slices.Clone(p.reconcilers)
	p.mu.Unlock()
	if options.given {
		for _, mg := range options.objects {
			found = append(found, plannedObject{p.reconcilerOf(p.kindOf(mg)), mg})
		}

		return found, p.offered(found)
	}
	for _, r := range all {
		if len(options.kinds) > 0 && !slices.ContainsFunc(options.kinds, named(r.of.Kind)) {
			continue
		}
		err := p.checkListed(ctx, r)
		var objects []resource.Managed
		if err == nil {
			objects, err = r.stored(ctx)
		}
		if err != nil {
			failed = append(failed, Plan{Kind: schema.GroupVersionKind(r.of), Err: redact.Error(err)})
		}
		for _, mg := range objects {
			found = append(found, plannedObject{r, mg})
		}
	}

	return found, failed
}

// offered lets plans read the given objects as if they were stored, and returns a plan with an error for each that
// cannot be.
func (p *Planner) offered(given []plannedObject) (failed []Plan) {
	p.offer = &dryrun.Offer{}
	for _, g := range given {
		of := PlannedReferent{schema.GroupVersionKind(g.r.of), client.ObjectKeyFromObject(g.mg)}
		if err := p.offer.Add(of.Kind, g.r.ownCopy(asStored(g.mg))); err != nil {
			failed = append(failed, Plan{Kind: of.Kind, Object: of.Object, Err: err})
		}
		if g.mg.GetUID() == "" {
			p.unstored = append(p.unstored, of)
		}
	}

	return failed
}

// checkListed returns an error if the API server refuses to list a kind. A cache would try again until ctx ends, and
// not say why.
func (p *Planner) checkListed(ctx context.Context, r *Reconciler) error {
	for _, namespace := range p.namespacesOrAll() {
		list, err := r.newList()
		if err != nil {
			return err
		}
		err = p.manager.GetAPIReader().List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		if err != nil {
			return errors.Wrapf(err, "cannot list objects of the kind %s: its CustomResourceDefinition has to be "+
				"installed, and the role of this process has to allow to list and watch them", r.of.Kind)
		}
	}

	return nil
}

// checkKinds returns an error if an option is about a kind that was not set up.
func (p *Planner) checkKinds(options planOptions) error {
	if len(p.Kinds()) == 0 {
		return errors.New("no kind was set up with the manager of the Planner")
	}
	for _, name := range options.kinds {
		if !slices.ContainsFunc(p.Kinds(), func(kind schema.GroupVersionKind) bool { return named(name)(kind.Kind) }) {
			return p.unknownKind(name)
		}
	}
	for _, mg := range options.objects {
		if kind := p.kindOf(mg); p.reconcilerOf(kind) == nil {
			return p.unknownKind(kind.Kind)
		}
	}

	return nil
}

// unknownKind returns an error that names the kinds that were set up.
func (p *Planner) unknownKind(name string) error {
	var known []string
	for _, kind := range p.Kinds() {
		known = append(known, kind.Kind)
	}

	return errors.Errorf("the provider has no kind %q; it has %s", name, strings.Join(known, ", "))
}

// named returns a function that reports whether another name means the same kind.
func named(kind string) func(string) bool {
	return func(other string) bool { return strings.EqualFold(kind, other) }
}

// kindOf returns the kind of an object, or the kind without a name if the scheme does not have it.
func (p *Planner) kindOf(mg resource.Managed) schema.GroupVersionKind {
	kind, err := p.manager.GetClient().GroupVersionKindFor(mg)
	if err != nil {
		return schema.GroupVersionKind{}
	}

	return kind
}

// reconcilerOf returns the reconciler of a kind, or nil.
func (p *Planner) reconcilerOf(kind schema.GroupVersionKind) *Reconciler {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.reconcilers {
		if schema.GroupVersionKind(r.of) == kind {
			return r
		}
	}

	return nil
}

// namespacesOrAll returns the namespaces that the caches are restricted to, or the empty name for all.
func (p *Planner) namespacesOrAll() []string {
	if len(p.namespaces) == 0 {
		return []string{""}
	}

	return p.namespaces
}
