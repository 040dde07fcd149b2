package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	// checkInterval is how often overdue calls and the liveness of a process are checked.
	checkInterval = 10 * time.Second
	// reportedWithin is how soon an overdue call has to be reported: a pass may take a minute, its client half a minute
	// more to react, and a check may fail once.
	reportedWithin = 2 * time.Minute
	// aliveFor is how long the liveness check succeeds while all workers wait for calls that do not return.
	aliveFor = 10 * time.Minute
	// restartedAfter is when a person, alerted by the condition, restarts a process that has a free worker.
	restartedAfter = 12 * time.Minute
	// shutdown is how long a manager waits for its workers when it is asked to stop.
	shutdown = 30 * time.Second
)

// blockCall makes a call not return, for the duration of the fault or until the end of the process. The rest of the
// process and of the world continue. If all workers of the process wait, the liveness check fails and the process is
// restarted. Otherwise a person restarts it. blockCall returns the error of a call whose time is over.
func (w *World) blockCall(ctx context.Context, p *process, o Operation, f Fault) error {
	begun, judged, pass, about := w.now(), w.judged, w.trail.pass, w.objectOf(p, o)
	defer func() { w.judged, w.trail.pass = judged, pass }()
	w.trail.pass = mixed(pass, hashed(string(f.Kind)))
	if p.startController(); w.verbose {
		w.sinks.lines = append(w.sinks.lines,
			fmt.Sprintf("%10s p%d  %s does not return <%s>", w.since(), p.number, o.Name, f))
	}
	for reported := false; !w.over && (f.For == 0 || w.now().Sub(begun) < f.For); {
		if p.serve() {
			continue
		}
		since := w.now().Sub(begun)
		if !reported && since >= reportedWithin {
			reported = true
			w.judgeReported(p, o, about)
		}
		if !p.dead && (w.unhealthy(p, o, since) || since >= restartedAfter || p.ending.stopping &&
			w.now().Sub(p.ending.asked) >= shutdown) {
			p.end(f.Kind, lasts[Crash], p.clock, 0)
		}
		if p.dead {
			panic(crash{p})
		}
		w.advance(w.now().Add(checkInterval), nil)
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	return o.failure(p)
}

// objectOf returns the stored state of the object for which a call is made.
func (w *World) objectOf(p *process, o Operation) resource.Managed {
	if o.mg != nil {
		return w.stored(o.mg)
	}

	return asManaged(w.server.Stored(w.config.gvk(), p.about))
}

// startController starts everything in the controller of a process except the passes, once. The manager has no cache,
// so the controller cannot watch the objects and has no workers. The process has workers of its own.
func (p *process) startController() {
	e := p.background.controller
	if e.started || p.ctx.Err() != nil {
		return
	}
	e.started = true
	var queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	_ = e.controller.Watch(source.Func(
		func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			queue = q

			return nil
		}))
	_ = e.controller.Start(besides(p.ctx)) // it fails, as it should
	queue.ShutDown()                       // it has no workers
	p.background.subscribe()
}

// judgeReported checks that an object reports a call for it that does not return.
func (w *World) judgeReported(p *process, o Operation, about resource.Managed) {
	if !o.External || !slices.Contains(timed, o.Name) || about == nil || p.ending.stopping || w.config.replace != nil ||
		w.now().Before(w.effects.apiBack) || w.now().Before(w.effects.denies) || w.now().Before(w.effects.drops) {
		return
	}
	if now := w.stored(about); now != nil && conditionOf(now, "Synced").Reason != "CallOverdue" {
		w.violate("L3", fmt.Sprintf("%s does not return since %s, and %s does not report it", o.Name, reportedWithin,
			now.GetName()))
	}
}

// unhealthy returns whether the liveness check of a process fails. It also checks that this happens if and only if all
// workers wait for calls that do not return.
func (w *World) unhealthy(p *process, o Operation, since time.Duration) bool {
	if w.config.replace != nil || p.background.controller.alive == nil {
		return false
	}
	err := p.background.controller.alive(nil)
	switch held := slices.Contains(timed, o.Name) && w.config.workers() == 1 && since >= aliveFor+checkInterval; {
	case err == nil && held && !p.ending.stopping:
		w.violate("L3", fmt.Sprintf("%s does not return since %s, no worker is free, and the process is called alive", o.Name,
			since))
	case err != nil && p.inPass.active < w.config.workers():
		w.violate("L7", "the process is not called alive, although a worker is free")
	}

	return err != nil
}

// timed are the calls to which the reconciler gives a deadline. It reports when the deadline has passed.
var timed = []string{"Connect", "Observe", "Recover", "Create", "Update", "Delete", "Disconnect", "List"}

// BlocksCall returns whether faults of the kind make a call return late or never.
func (k Kind) BlocksCall() bool { return k == Deaf || k == DeafAfter }

// An equipment is a manager to which a reconciler is added as providers add it. It stores the controller and its
// liveness check.
type equipment struct {
	*standbyManager

	controller ctrlcontroller.Controller
	alive      healthz.Checker
	started    bool // the check for overdue calls
}

// Add stores a controller. It passes any other runnable to the wrapped manager.
func (e *equipment) Add(r manager.Runnable) error {
	if c, ok := r.(ctrlcontroller.Controller); ok {
		e.controller = c

		return nil
	}

	return e.standbyManager.Add(r)
}

// AddHealthzCheck stores the liveness check.
func (e *equipment) AddHealthzCheck(_ string, check healthz.Checker) error {
	e.alive = check

	return nil
}

// GetControllerOptions returns options that allow each process to have a controller of the same name.
func (e *equipment) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

// reconciler returns a reconciler with some options. In a world in which a call may not return, it has everything that
// Setup adds.
func (p *process) reconciler(m *standbyManager, options []managed.ReconcilerOption) (made *managed.Reconciler) {
	c := p.world.config
	if p.background.controller = nil; !p.world.plan.blocksCalls {
		return managed.NewReconciler(m, c.Kind, options...)
	}
	p.background.controller = &equipment{standbyManager: m}
	o := controller.Options{MaxConcurrentReconciles: c.workers()}
	if err := managed.Setup(p.background.controller, c.Kind, o,
		append(options, func(r *managed.Reconciler) { made = r })...); err != nil {
		panic(err) // the scheme knows the kind
	}

	return made
}
