package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A planning compares the plans of objects with what processes then do.
type planning struct {
	// seen are the objects for which a process has begun its first pass.
	seen map[firstPass]bool
	// made counts the compared plans by the action that was planned.
	made map[string]int
	// occurred counts what happened in the world other than passes.
	occurred int
	// decided are the decisions of the passes since the last plan.
	decided []string

	// plan plans an object as a process reads it. It is planOf, except in tests of the judges.
	plan func(*World, *process, resource.Managed) managed.Plan
}

// newPlanning returns a planning with the plans of the runtime.
func newPlanning() *planning {
	return &planning{seen: map[firstPass]bool{}, made: map[string]int{}, plan: (*World).planOf}
}

// A firstPass names an object and a process by its number.
type firstPass struct {
	process int
	key     types.NamespacedName
}

// A planned is the plan of an object, and the state of the world before the pass that is compared with it.
type planned struct {
	managed.Plan

	key                     types.NamespacedName
	occurred, fired, passes int
	steps                   int // in the trace
}

// planFirst plans an object before the first pass of a process over it. It returns nil if there is nothing to compare,
// because the process does not have the stored version, or a fault has an effect.
func (w *World) planFirst(p *process, key types.NamespacedName) *planned {
	planning, first := w.hooks.planning, firstPass{p.number, key}
	if planning == nil || planning.seen[first] {
		return nil
	}
	planning.seen[first] = true
	mg := asManaged(p.cache.objects[key])
	if mg == nil || w.affected() || p.inPass.active > 1 || w.server.Stored(w.config.gvk(), key) != client.Object(mg) {
		return nil
	}
	stored, outside := len(w.server.Changes(0)), w.external.Changes()
	plan := planning.plan(w, p, mg.DeepCopyObject().(resource.Managed)) // a copy has the type of its original
	if n := len(w.server.Changes(0)); n != stored || w.external.Changes() != outside {
		w.violate("S28", fmt.Sprintf("a plan of %s made %d writes and %d changes of the external system", key.Name,
			n-stored, w.external.Changes()-outside))
	}
	w.sinks.record("plan", fmt.Sprintf("%s: %s because %s; differs in %v; writes %v; error %v", key.Name, plan.Action,
		plan.Because, plan.Differences, plan.Writes, plan.Err))
	planning.decided = nil

	return &planned{
		Plan: plan, key: key, occurred: planning.occurred, fired: w.fired, passes: w.work.passes, steps: len(w.trace),
	}
}

// affected returns whether a fault has an effect now.
func (w *World) affected() bool {
	now := w.now()
	e := &w.effects

	return now.Before(e.externalBack) || now.Before(e.apiBack) || now.Before(e.refuses) || now.Before(e.denies) ||
		now.Before(e.drops) || e.absent != ""
}

// planOf returns the plan of an object. The planner reads what the process p reads, and began when p did: the first
// process of a world has waited as standby. How certain an absence is depends on that.
func (w *World) planOf(p *process, mg resource.Managed) managed.Plan {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	direct := w.server.Client().As("planner").Around(w.onlyRead)
	reads := &planReader{Client: direct, process: p}
	m := &planManager{&fake.Manager{Client: reads, Scheme: w.config.Scheme},
		live{Reader: direct, scheme: w.config.Scheme, ask: w.onlyRead}}
	clock := &frozenClock{stepped: p.clock, at: p.startedAt()}
	options := []managed.ReconcilerOption{
		managed.WithClock(clock), managed.WithRandom(func() float64 { return 0 }),
		managed.WithPollInterval(pollInterval), managed.WithLogger(logging.NewNopLogger()),
		managed.WithExternalConnecter(planConnecter{w.config.connecter(direct)}),
	}
	if w.config.limited {
		options = append(options, managed.WithLimits(limit.NewSet(limit.WithClock(clock))))
	}
	r := managed.NewReconciler(managed.NewPlannerOf(m).Manager(), w.config.Kind, append(options, w.config.Options...)...)
	clock.at = time.Time{}

	return r.Plan(ctx, mg)
}

// onlyRead sends a request of a plan if it is a read.
func (w *World) onlyRead(ctx context.Context, r apiserver.Request, do func() error) error {
	if r.Verb != "get" && r.Verb != "list" {
		w.violate("S28", "a plan sends "+r.String())
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	return do()
}

// A planConnecter connects with clients that do not list, so that each plan observes its object.
type planConnecter struct{ managed.ExternalConnecter }

// Connect connects to the external system.
func (c planConnecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	of, err := c.ExternalConnecter.Connect(ctx, mg)
	if lister, ok := of.(*listingClient); ok {
		return lister.ExternalClient, err
	}

	return of, err
}

// A planManager is the manager of a plan.
type planManager struct {
	*fake.Manager

	live client.Reader
}

// GetAPIReader returns a reader that reads from the server.
func (m *planManager) GetAPIReader() client.Reader { return m.live }

// A planReader reads the objects that a process watches from the cache of the process, and others from the server.
// Reads of a plan are not operations at which faults are injected.
type planReader struct {
	*apiserver.Client

	process *process
}

// RESTMapper returns a mapper with the managed kind.
func (r *planReader) RESTMapper() meta.RESTMapper { return r.process.cache.mapper() }

// Get reads an object.
func (r *planReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	gvk, err := r.GroupVersionKindFor(o)
	kept := r.process.cacheOf(gvk)
	if err != nil || kept == nil {
		return r.Client.Get(ctx, key, o, opts...)
	}

	return kept.get(key, o, opts)
}

// judgePlan checks that a pass did what was planned, unless a fault, a conflict or another change came between.
func (w *World) judgePlan(p *process, of *planned, err error) {
	planning := w.hooks.planning
	if of == nil || planning.occurred != of.occurred || w.fired != of.fired || w.work.passes != of.passes || p.dead ||
		w.judgedBefore() {
		return
	}
	made := ""
	for _, s := range w.trace[of.steps:] {
		switch {
		case s.Op.External && s.Op.Mutates:
			made = s.Op.Name
		case s.Err != nil && s.Op.Mutates:
			return // a conflict, or a write that is not allowed
		}
	}
	if of.Err != nil {
		if made != "" {
			w.violate("S29", fmt.Sprintf("%s of %s, although there was no plan: %v", made, of.key.Name, of.Err))
		}

		return
	}
	decision := firstChange(planning.decided)
	if strings.HasPrefix(decision, "Defer ") || // plans do not spread the load
		strings.HasPrefix(decision, "Observe ") { // nor wait for a list or for the rate limit of a connection
		return
	}
	planning.made[of.Action]++
	want := of.Action + " because " + strings.TrimSuffix(of.Because, ".")
	if !strings.HasPrefix(decision, want) {
		w.violate("S29", fmt.Sprintf("planned for %s: %q, decided: %q", of.key.Name, want, decision))
	}
	if of.Changes() && made != of.Action && err == nil || !of.Changes() && made != "" {
		w.violate("S29", fmt.Sprintf("planned for %s: %s, made: %q", of.key.Name, of.Action, made))
	}
	w.judgeDifferences(of)
}

// judgeDifferences checks that the status of an object that was not changed has the planned differences.
func (w *World) judgeDifferences(of *planned) {
	mg, ok := w.server.Stored(w.config.gvk(), of.key).(resource.Managed)
	if !ok || of.Changes() || mg.GetUID() != of.UID {
		return
	}
	stated := differencesOf(mg)
	if conditionOf(mg, "UpToDate").Status == "False" && !slices.Equal(stated, of.Differences) {
		w.violate("S29", fmt.Sprintf("planned for %s the differences %v, stated: %v", of.key.Name, of.Differences, stated))
	}
}

// firstChange returns the first decision to change the external system, or the decision that ended the pass.
func firstChange(decisions []string) string {
	last := ""
	for _, line := range decisions {
		action, _, _ := strings.Cut(line, " ")
		if slices.Contains([]string{"Create", "Update", "Delete"}, action) {
			return line
		}
		if strings.Contains(line, " of Conclude") {
			break
		}
		last = line
	}

	return last
}

// occurs notes that something other than a pass happened in the world.
func (p *planning) occurs() {
	if p != nil {
		p.occurred++
	}
}

// decides notes a line of the log about a decision.
func (p *planning) decides(msg string, keysAndValues []any) {
	if p != nil && msg == "Decided" && len(keysAndValues) == 4 {
		p.decided = append(p.decided, fmt.Sprintf("%v because %v", keysAndValues[1], keysAndValues[3]))
	}
}
