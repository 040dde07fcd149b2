package conformance

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A tap is a connecter that watches what the author's does to the external system.
type tap struct {
	*ledger

	to      managed.ExternalConnecter
	secrets []string
}

// An act is a call to the connecter or the client.
type act struct {
	name    string
	mutates bool
	mg      resource.Managed // nil for Disconnect
}

func (a act) String() string {
	if a.mg == nil {
		return a.name
	}

	return fmt.Sprintf("%s of %s", a.name, a.mg.GetName())
}

// ask makes a call with a copy of the object, which takes the place of the object
// once the call has returned, and judges what it did outside.
func (t *tap) ask(ctx context.Context, a act, call func(context.Context, resource.Managed) error) error {
	var mg resource.Managed
	if a.mg != nil {
		// a copy has the type of its original
		mg = a.mg.DeepCopyObject().(resource.Managed) // see above
	}
	if t.delay > 0 { // it may have done something by itself
		t.look(t.creator)
	}
	if a.name == "Create" {
		t.creator = a.mg.GetUID()
	}
	before := maps.Clone(t.madeFor)
	err := t.host.attempt(ctx, a.String(), func(ctx context.Context) error { return call(ctx, mg) })
	t.tellPanic(a, err)
	if t.host.dead() {
		t.abort()

		return errGone
	}
	if a.mutates {
		t.acted = t.host.ended
	}
	if a.name == "Observe" {
		t.observed++
	}
	t.judge(a, before, err)
	if a.mg != nil {
		if a.name == "Connect" && !equality.Semantic.DeepEqual(a.mg, mg) {
			t.violate("connects", "Connect changed the object it was given, which only later calls may")
		}
		reflect.ValueOf(a.mg).Elem().Set(reflect.ValueOf(mg).Elem())
	}

	return err
}

// tellPanic gives up the suite if a call has panicked, and says in which it was, and what
// that had changed outside until then.
func (t *tap) tellPanic(a act, err error) {
	var p *panicError
	if !errors.As(err, &p) {
		return
	}
	until := "; until then it had changed nothing outside"
	if d := t.look(t.creator); !d.empty() {
		until = "; until then it had " + d.String()
	}
	first, rest, _ := strings.Cut(p.text, "\n")
	t.host.gone.Store(&reason{"calls-return", a.String() + " does not return: " + first + until + "\n" + rest})
}

// judge judges what a call did.
func (t *tap) judge(a act, before map[string]types.UID, err error) {
	if err != nil {
		for _, secret := range t.secrets {
			if strings.Contains(err.Error(), secret) {
				t.violate("secrets-are-kept", fmt.Sprintf("the error of %s shows one: %s", a, strings.ReplaceAll(err.Error(), secret, "<secret>")))
			}
		}
	}
	if a.name == "Connect" || a.name == "Disconnect" || t.lax && !a.mutates {
		return // whatever it did is seen at the next call
	}
	maker := t.creator
	if a.mutates {
		maker = a.mg.GetUID()
	}
	d := t.look(maker)
	switch {
	case d.empty():
	case !a.mutates && t.host.ended.Sub(t.acted) > t.delay:
		t.violate("observe-never-writes", fmt.Sprintf("%s %s. (If the system itself did so, a while after it was told to, set Suite.Delay, or leave it out of State.)", a, d))
	case a.name == "Create" && refused(err) && len(d.made) > 0 && t.delay == 0: // or it may be of another call
		t.violate("refusal-is-true", refusalOf(a.mg, d.made, err))
	case a.mutates:
		if what := t.trespassed(d, before, a.mg); what != "" {
			t.violate("strangers-are-left-alone", fmt.Sprintf("%s %s", a, what))
		}
	}
}

// Connect connects.
func (t *tap) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	var c managed.ExternalClient
	var can optional
	err := t.ask(ctx, act{name: "Connect", mg: mg}, func(ctx context.Context, mg resource.Managed) (err error) {
		if c, err = t.to.Connect(ctx, mg); err == nil && !isNil(c) {
			can = optionsOf(c)
		}

		return err
	})
	switch {
	case err != nil:
		return nil, err
	case isNil(c):
		t.violate("connects", "Connect returns neither a client nor an error")

		return nil, errors.New("Connect returns neither a client nor an error")
	default:
		return t.tapped(c, can), nil
	}
}

// Optional is what a client can do beyond what it must.
type optional struct {
	finder managed.CreationRecoverer // nil if it is none
	window time.Duration             // of the finder
	backend
	tells bool // of its backend
}

// A backend is the identity of one.
type backend string

// Identity of the backend.
func (b backend) Identity() string { return string(b) }

func optionsOf(c managed.ExternalClient) optional {
	var o optional
	if finder, ok := unwrap.As[managed.CreationRecoverer](c); ok {
		o.finder, o.window = finder, finder.RecoveryWindow()
	}
	if b, ok := unwrap.As[managed.BackendIdentifier](c); ok {
		o.backend, o.tells = backend(b.Identity()), true
	}

	return o
}

// tapped returns a client with those optional methods that c has.
func (t *tap) tapped(c managed.ExternalClient, o optional) managed.ExternalClient {
	plain := &client{tap: t, to: c}
	finds := &recoverer{plain, o}
	switch {
	case o.finder != nil && o.tells:
		return struct {
			*recoverer
			managed.BackendIdentifier
		}{finds, o.backend}
	case o.finder != nil:
		return finds
	case o.tells:
		return struct {
			*client
			managed.BackendIdentifier
		}{plain, o.backend}
	default:
		return plain
	}
}

// A client watches what one of the author's does.
type client struct {
	tap *tap
	to  managed.ExternalClient
}

func (c *client) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	var o managed.ExternalObservation
	err := c.tap.ask(ctx, act{name: "Observe", mg: mg}, func(ctx context.Context, mg resource.Managed) (err error) {
		o, err = c.to.Observe(ctx, mg)

		return err
	})
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	return o, nil
}

func (c *client) Create(ctx context.Context, mg resource.Managed) error {
	return c.tap.ask(ctx, act{name: "Create", mutates: true, mg: mg}, c.to.Create)
}

func (c *client) Update(ctx context.Context, mg resource.Managed) error {
	return c.tap.ask(ctx, act{name: "Update", mutates: true, mg: mg}, c.to.Update)
}

func (c *client) Delete(ctx context.Context, mg resource.Managed) error {
	return c.tap.ask(ctx, act{name: "Delete", mutates: true, mg: mg}, c.to.Delete)
}

// Disconnect disconnects the client and the connecter, as far as they can be.
func (c *client) Disconnect(ctx context.Context) error {
	return c.tap.ask(ctx, act{name: "Disconnect"}, func(ctx context.Context, _ resource.Managed) error {
		var errs []error
		if d, ok := unwrap.As[managed.ExternalDisconnecter](c.to); ok {
			errs = append(errs, d.Disconnect(ctx))
		}
		if d, ok := c.tap.to.(managed.ExternalDisconnecter); ok {
			errs = append(errs, d.Disconnect(ctx))
		}

		return kerrors.NewAggregate(errs)
	})
}

// A recoverer is a client that finds what was created.
type recoverer struct {
	*client

	can optional
}

func (r *recoverer) RecoverCreation(ctx context.Context, mg resource.Managed, token string) (found bool, err error) {
	err = r.tap.ask(ctx, act{name: "RecoverCreation", mg: mg}, func(ctx context.Context, mg resource.Managed) (err error) {
		found, err = r.can.finder.RecoverCreation(ctx, mg, token)

		return err
	})

	return found && err == nil, err
}

func (r *recoverer) RecoveryWindow() time.Duration { return r.can.window }
