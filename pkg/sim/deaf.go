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
	// A process looks for overdue calls, and somebody at its liveness, so often.
	looksAround = 10 * time.Second
	// Within how long it is to be told that a call does not return: a pass may take a minute, and its client half a
	// minute more to mind that; and a look may fail once.
	toldWithin = 2 * time.Minute
	// For how long a process is alive all of whose workers wait for calls that do not return.
	aliveFor = 10 * time.Minute
	// When a person, who was told, restarts a process of which another worker is free.
	restartedAfter = 12 * time.Minute
	// How long a manager waits for its workers when it is asked to stop.
	shutdown = 30 * time.Second
)

// deafens says whether after a fault of the kind a call does not return in time, or at all.
func (k Kind) deafens() bool { return k == Deaf || k == DeafAfter }

// Timed are the calls for which the reconciler sets a time, and tells when it is over.
var timed = []string{"Connect", "Observe", "Recover", "Create", "Update", "Delete", "Disconnect", "List"}

// deafen lets a call not return: for as long as the fault lasts, or until the process is no more. Whatever
// else the process does goes on, and so does the world. If all its workers wait, it is not called alive any more, and
// is restarted; or else a person does that. It returns the error of a call whose time is over.
func (w *World) deafen(ctx context.Context, p *process, o operation, f Fault) error {
	begun, judged, pass, about := w.now(), w.judged, w.trail.pass, w.objectOf(p, o)
	defer func() { w.judged, w.trail.pass = judged, pass }()
	w.trail.pass = mixed(pass, hashed(string(f.Kind)))
	if p.looksAfter(); w.verbose {
		w.told.lines = append(w.told.lines, fmt.Sprintf("%10s p%d  %s does not return <%s>", w.since(), p.number, o.name, f))
	}
	for told := false; !w.over && (f.For == 0 || w.now().Sub(begun) < f.For); {
		if p.serve() {
			continue
		}
		since := w.now().Sub(begun)
		if !told && since >= toldWithin {
			told = true
			w.judgeTold(p, o, about)
		}
		if !p.dead && (w.unhealthy(p, o, since) || since >= restartedAfter || p.stopping && w.now().Sub(p.asked) >= shutdown) {
			p.end(f.Kind, lasts[Crash], p.clock, 0)
		}
		if p.dead {
			panic(crash{p})
		}
		w.lives(w.now().Add(looksAround), nil)
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	return o.failure(p)
}

// objectOf returns the object that a call is made for, as it is stored.
func (w *World) objectOf(p *process, o operation) resource.Managed {
	if o.mg != nil {
		return w.stored(o.mg)
	}

	return asManaged(w.server.Stored(w.config.gvk(), p.about))
}

// judgeTold judges that an object for which a call is made that does not return tells of it.
func (w *World) judgeTold(p *process, o operation, about resource.Managed) {
	if !o.external || !slices.Contains(timed, o.name) || about == nil || p.stopping || w.config.replace != nil || w.now().Before(w.apiBack) || w.now().Before(w.denies) || w.now().Before(w.drops) {
		return
	}
	if now := w.stored(about); now != nil && conditionOf(now, "Synced").Reason != "CallOverdue" {
		w.violate("L3", fmt.Sprintf("%s does not return since %s, and %s does not tell of it", o.name, toldWithin, now.GetName()))
	}
}

// unhealthy says whether a process is not called alive any more, and judges that it is when all of its workers
// wait for calls that do not return.
func (w *World) unhealthy(p *process, o operation, since time.Duration) bool {
	if w.config.replace != nil || p.equipment.alive == nil {
		return false
	}
	err := p.equipment.alive(nil)
	switch held := slices.Contains(timed, o.name) && w.config.workers() == 1 && since >= aliveFor+looksAround; {
	case err == nil && held && !p.stopping:
		w.violate("L3", fmt.Sprintf("%s does not return since %s, no worker is free, and the process is called alive", o.name, since))
	case err != nil && p.active < w.config.workers():
		w.violate("L7", "the process is not called alive, although a worker is free")
	}

	return err != nil
}

// Equipment is a manager to which a reconciler is added as providers do that. It has what comes of
// it beside the reconciler.
type equipment struct {
	*standby

	controller ctrlcontroller.Controller
	alive      healthz.Checker
	looks      bool // for overdue calls
}

// Add keeps the controller.
func (e *equipment) Add(r manager.Runnable) error {
	if c, ok := r.(ctrlcontroller.Controller); ok {
		e.controller = c

		return nil
	}

	return e.standby.Add(r)
}

// AddHealthzCheck keeps the check of its workers.
func (e *equipment) AddHealthzCheck(_ string, check healthz.Checker) error {
	e.alive = check

	return nil
}

// GetControllerOptions lets each process have a controller of the same name.
func (e *equipment) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

// reconciler returns one with some options, in a world in which a call may not return with all that Setup adds to it.
func (p *process) reconciler(m *standby, options []managed.ReconcilerOption) (made *managed.Reconciler) {
	c := p.world.config
	if p.equipment = nil; !p.world.deafened {
		return managed.NewReconciler(m, c.Kind, options...)
	}
	p.equipment = &equipment{standby: m}
	o := controller.Options{MaxConcurrentReconciles: c.workers()}
	if err := managed.Setup(p.equipment, c.Kind, o, append(options, func(r *managed.Reconciler) { made = r })...); err != nil {
		panic(err) // the scheme knows the kind
	}

	return made
}

// looksAfter begins what the controller of a process does beside its passes, if it has not begun before. It fails to
// watch the objects, because the manager has no cache, so that it has no workers: the process has workers of its own.
func (p *process) looksAfter() {
	e := p.equipment
	if e.looks || p.ctx.Err() != nil {
		return
	}
	e.looks = true
	var queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	_ = e.controller.Watch(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue = q

		return nil
	}))
	_ = e.controller.Start(besides(p.ctx)) // it fails, as it should
	queue.ShutDown()                       // nobody works on it
	p.hears()
}
