package sim

import (
	"context"
	"reflect"
	"time"

	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A seam wraps any connecter. All calls of the connecter and of its clients go through World.step.
type seam struct {
	of      managed.ExternalConnecter
	process *process
}

// A ledger passes a process's records of changes to the sinks. It is remote, as an external system is.
type ledger struct{ process *process }

// Record passes the record of a change to the sinks of the process. It is an operation at which faults are injected.
func (l ledger) Record(ctx context.Context, e changelog.Entry) error {
	w := l.process.world

	return w.step(ctx, l.process, Operation{Name: "Record", External: true},
		func(ctx context.Context) error { return w.sinks.recordChange(ctx, e) })
}

// A calls has the calls of one client.
type calls struct {
	managed.ExternalClient

	seam *seam
}

// Connect connects with the wrapped connecter, and wraps the client. It is an operation at which faults are injected.
func (s *seam) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	var c managed.ExternalClient
	err := s.step(ctx, Operation{Name: "Connect", mg: mg}, func(ctx context.Context) (err error) {
		c, err = s.of.Connect(ctx, mg)

		return err
	})
	if err != nil {
		return nil, err
	}

	lister, lists := unwrap.As[managed.ExternalLister](c)
	connection, describes := unwrap.As[managed.ConnectionDescriber](c)
	if r, ok := c.(*listingClient); ok {
		c = r.ExternalClient
	}
	of := &calls{ExternalClient: c, seam: s}
	if lists && describes {
		return &listing{of, connection, optional(c, of), lister}, nil
	}

	return optional(c, of), nil
}

// An identifier is a client that reports its backend.
type identifier interface{ Identity() string }

// A recovering has the calls of a client that can find what was created.
type recovering struct {
	*calls

	finder managed.CreationRecoverer
}

// optional returns calls with the optional methods that a client has.
func optional(c managed.ExternalClient, of *calls) managed.ExternalClient {
	finder, finds := unwrap.As[managed.CreationRecoverer](c)
	backend, tells := unwrap.As[identifier](c)
	switch {
	case finds && tells:
		return struct {
			*recovering
			identifier
		}{&recovering{of, finder}, backend}
	case finds:
		return &recovering{of, finder}
	case tells:
		return struct {
			*calls
			identifier
		}{of, backend}
	default:
		return of
	}
}

// RecoverCreation searches for what an attempt created.
func (r *recovering) RecoverCreation(ctx context.Context, mg resource.Managed, token string) (found bool, err error) {
	err = r.seam.step(ctx, Operation{Name: "Recover", mg: mg}, func(ctx context.Context) (err error) {
		found, err = r.finder.RecoverCreation(ctx, mg, token)

		return err
	})

	return found && err == nil, err
}

// RecoveryWindow returns the window of the client.
func (r *recovering) RecoveryWindow() time.Duration { return r.finder.RecoveryWindow() }

// Disconnect disconnects the client if the client supports it.
func (c *calls) Disconnect(ctx context.Context) error {
	d, ok := unwrap.As[managed.ExternalDisconnecter](c.ExternalClient)
	if !ok {
		return nil
	}

	return c.seam.step(ctx, Operation{Name: "Disconnect"}, d.Disconnect)
}

func (c *calls) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	var o managed.ExternalObservation
	err := c.seam.step(ctx, Operation{Name: "Observe", mg: mg}, func(ctx context.Context) (err error) {
		if w := c.seam.process.world; w.effects.absent != "" {
			if w.ownedByOther(w.nameOf(mg)) {
				w.exempt.misled.add(w.effects.absent, mg)
			}
			w.effects.absent = ""
			c.seam.process.observed.generation[mg.GetUID()] = max(mg.GetGeneration(),
				c.seam.process.observed.generation[mg.GetUID()])

			return nil
		}
		w := c.seam.process.world
		before := w.external.Changes()
		c.seam.process.observed.inProgress++
		o, err = c.ExternalClient.Observe(ctx, mg)
		c.seam.process.observed.inProgress--
		if w.external.Changes() != before {
			w.violate("S18", "the external system was changed by an observation")
		}
		if err == nil {
			w.observations++
			c.seam.process.observed.order[mg.GetUID()] = w.observations
			c.seam.process.observed.generation[mg.GetUID()] = max(mg.GetGeneration(),
				c.seam.process.observed.generation[mg.GetUID()])
		}

		return err
	})
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	c.seam.process.inPass.details = c.seam.process.inPass.details || len(o.ConnectionDetails) > 0

	return o, nil
}

func (c *calls) Create(ctx context.Context, mg resource.Managed) error {
	return c.mutate(ctx, "Create", mg, c.seam.process.recordingKey(c.ExternalClient.Create))
}

func (c *calls) Update(ctx context.Context, mg resource.Managed) error {
	return c.mutate(ctx, "Update", mg, c.ExternalClient.Update)
}

func (c *calls) Delete(ctx context.Context, mg resource.Managed) error {
	return c.mutate(ctx, "Delete", mg, c.ExternalClient.Delete)
}

// mutate makes a call that changes the external system. If the answer of the call is lost, the changes that the call
// made to the object are lost as well.
func (c *calls) mutate(ctx context.Context, name string, mg resource.Managed,
	call func(context.Context, resource.Managed) error) error {
	// a copy has the type of its original
	answer := mg.DeepCopyObject().(resource.Managed)
	var said error
	answered := false
	err := c.seam.step(ctx, Operation{Name: name, Mutates: true, mg: mg}, func(ctx context.Context) error {
		said, answered = call(ctx, answer), true

		return said
	})
	if answered && errors.Is(err, said) {
		reflect.ValueOf(mg).Elem().Set(reflect.ValueOf(answer).Elem())
	}

	return err
}

func (s *seam) step(ctx context.Context, o Operation, call func(context.Context) error) error {
	o.External = true
	if o.mg != nil {
		s.process.turns.reaches(keyOf(o.mg), o.Name)
	}

	return s.process.world.step(ctx, s.process, o, call)
}
