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

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A recorder is a connecter that records how calls of the author's client change the
// external system.
type recorder struct {
	*ledger

	connecter managed.ExternalConnecter
	suite     *Suite
	publisher *directPublisher // of direct calls; nil if a reconciler makes the calls
	concealed redact.Secrets   // that the client has passed to external.Conceal
	log       *logLines        // of the process
}

// A clientCall is a call to the connecter or the client.
type clientCall struct {
	name    string
	mutates bool
	mg      resource.Managed // nil for Disconnect
}

// String returns the name of the call and of the object.
func (a clientCall) String() string {
	if a.mg == nil {
		return a.name
	}

	return fmt.Sprintf("%s of %s", a.name, a.mg.GetUID())
}

// call makes a call with a copy of the object, and checks the effects of the call. The copy replaces the object after
// the call has returned.
func (t *recorder) call(ctx context.Context, a clientCall, call func(context.Context, resource.Managed) error) error {
	var mg resource.Managed
	if a.mg != nil {
		// a copy has the type of its original
		mg = a.mg.DeepCopyObject().(resource.Managed)
	}
	if t.delay > 0 || t.wire.isActive(t.host) { // earlier changes may have become visible
		t.refresh(t.creator)
	}
	if a.name == "Create" {
		t.creator = a.mg.GetUID()
	}
	before := maps.Clone(t.madeFor)
	end := func() {}
	if a.mutates || a.name == "Observe" {
		end = t.wire.begin(t.host, a.name)
	}
	concealed := &redact.Secrets{}
	err := t.host.attempt(redact.Collect(ctx, concealed), a.String(), func(ctx context.Context) error {
		return call(ctx, mg)
	})
	concealed.Conceal(ctx)
	concealed.Conceal(redact.Collect(context.Background(), &t.concealed))
	returned := t.host.lastReturn
	end()
	t.wire.endCall(t.host)
	t.host.lastReturn = returned
	t.reportPanic(a, err)
	if t.host.stopped() {
		t.abort()

		return errStopped
	}
	if a.mutates {
		t.lastMutation = returned
	}
	if a.name == "Observe" {
		t.observeCount++
	}
	t.judgeCall(a, before, err)
	if a.mg != nil {
		if a.name == "Connect" && !equality.Semantic.DeepEqual(a.mg, mg) {
			t.violate("connects", "Connect changed the object it was given, which only later calls may")
		}
		reflect.ValueOf(a.mg).Elem().Set(reflect.ValueOf(mg).Elem())
	}

	return err
}

// reportPanic stops the suite after a panic. It reports the call, and what the call had changed before the panic.
func (t *recorder) reportPanic(a clientCall, err error) {
	var p *panicError
	if !errors.As(err, &p) {
		return
	}
	until := "; until then it had changed nothing outside"
	if d := t.refresh(t.creator); !d.empty() {
		until = "; until then it had " + d.String()
	}
	first, rest, _ := strings.Cut(p.text, "\n")
	t.host.stopReason.Store(&reason{"calls-return", a.String() + " does not return: " + first + until + "\n" + rest})
}

// judgeDetails reports connection details that contain a secret of the provider. Everyone with access to the connection
// Secret would have the credentials of the provider. Credentials of the resource belong there.
func (t *recorder) judgeDetails(mg resource.Managed, details managed.ConnectionDetails) {
	for key, value := range details {
		for _, secret := range t.suite.Secrets {
			if strings.Contains(string(value), secret) {
				t.violate("secrets-are-kept", fmt.Sprintf("the connection detail %q of %s shows one: publish credentials of the "+
					"resource, and not those of the provider. If the text is a credential of the resource, move it from "+
					"Suite.Secrets to Suite.ResourceSecrets", key, mg.GetUID()))
			}
		}
	}
}

// judgeCall reports the violations that one call has caused.
func (t *recorder) judgeCall(a clientCall, before map[string]types.UID, err error) {
	t.judgeLog(a)
	if err != nil {
		text := t.concealed.Mask().Text(err.Error()) // as the reconciler does
		for _, secret := range t.suite.allSecrets() {
			if strings.Contains(text, secret) {
				t.violate("secrets-are-kept", fmt.Sprintf("the error of %s shows one: %s. Pass the secret to external.Conceal "+
					"in Connect, and leave it out of errors", a, strings.ReplaceAll(text, secret, "<secret>")))
			}
		}
	}
	if a.name == "Connect" || a.name == "Disconnect" || t.afterMutationsOnly && !a.mutates {
		return // the next call sees its changes
	}
	maker := t.creator
	if a.mutates {
		maker = a.mg.GetUID()
	}
	d := t.refresh(maker)
	switch {
	case d.empty():
	case !a.mutates && t.host.lastReturn.Sub(t.lastMutation) > t.delay:
		t.violate(
			"observe-never-writes",
			fmt.Sprintf(
				"%s %s. (If the system itself did so, a while after it was told to, set Suite.Delay, or leave it out of State.)", a,
				d))
	case a.name == "Create" && isNotCreated(err) && len(d.created) > 0 &&
		t.delay == 0 && !t.wire.interrupted: // or it may be of another call, or may be undone
		t.violate("refusal-is-true", describeNotCreated(a.mg, d.created, err))
	case a.mutates:
		if what := t.describeForeignChanges(d, before, a.mg); what != "" {
			t.violate("strangers-are-left-alone", fmt.Sprintf("%s %s", a, what))
		}
	}
}

// Connect calls the author's connecter and returns a wrapped client.
func (t *recorder) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	var c managed.ExternalClient
	var can optionalMethods
	err := t.call(ctx, clientCall{name: "Connect", mg: mg}, func(ctx context.Context, mg resource.Managed) (err error) {
		if c, err = t.connecter.Connect(ctx, mg); err == nil && !isNil(c) {
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
		return t.recordingClient(c, can), nil
	}
}

// optionalMethods holds the optional methods of a client.
type optionalMethods struct {
	recoverer managed.CreationRecoverer // nil if the client is none
	window    time.Duration             // of the recoverer
	backend
	hasBackend bool // the client is a managed.BackendIdentifier
}

// A backend is the identity of an external system.
type backend string

// Identity returns the identity of the external system.
func (b backend) Identity() string { return string(b) }

// optionsOf returns the optional methods that a client implements.
func optionsOf(c managed.ExternalClient) optionalMethods {
	var o optionalMethods
	if r, ok := unwrap.As[managed.CreationRecoverer](c); ok {
		o.recoverer, o.window = r, r.RecoveryWindow()
	}
	if b, ok := unwrap.As[managed.BackendIdentifier](c); ok {
		o.backend, o.hasBackend = backend(b.Identity()), true
	}

	return o
}

// recordingClient returns a client that records calls to c. It has the same optional methods as c.
func (t *recorder) recordingClient(c managed.ExternalClient, o optionalMethods) managed.ExternalClient {
	plain := &client{recorder: t, external: c}
	finds := &recoveringClient{plain, o}
	switch {
	case o.recoverer != nil && o.hasBackend:
		return struct {
			*recoveringClient
			managed.BackendIdentifier
		}{finds, o.backend}
	case o.recoverer != nil:
		return finds
	case o.hasBackend:
		return struct {
			*client
			managed.BackendIdentifier
		}{plain, o.backend}
	default:
		return plain
	}
}

// A client records calls to the author's client.
type client struct {
	recorder *recorder
	external managed.ExternalClient
}

// Observe observes the resource.
func (c *client) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	var o managed.ExternalObservation
	err := c.recorder.call(ctx, clientCall{name: "Observe", mg: mg}, func(
		ctx context.Context, mg resource.Managed,
	) (err error) {
		o, err = c.external.Observe(ctx, mg)

		return err
	})
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	c.recorder.judgeDetails(mg, o.ConnectionDetails)
	c.recorder.judgeDifferences(mg, o)
	if p := c.recorder.publisher; p != nil {
		if err := p.publish(mg, o); err != nil {
			_ = c.recorder.host.giveUp("suite-is-complete", "cannot publish connection details: "+err.Error())
		}
	}

	return o, nil
}

// Create creates the resource.
func (c *client) Create(ctx context.Context, mg resource.Managed) error {
	return c.recorder.call(ctx, clientCall{name: "Create", mutates: true, mg: mg}, c.external.Create)
}

// Update updates the resource.
func (c *client) Update(ctx context.Context, mg resource.Managed) error {
	return c.recorder.call(ctx, clientCall{name: "Update", mutates: true, mg: mg}, c.external.Update)
}

// Delete deletes the resource.
func (c *client) Delete(ctx context.Context, mg resource.Managed) error {
	return c.recorder.call(ctx, clientCall{name: "Delete", mutates: true, mg: mg}, c.external.Delete)
}

// Disconnect calls Disconnect of the client and of the connecter, if they implement it.
func (c *client) Disconnect(ctx context.Context) error {
	return c.recorder.call(ctx, clientCall{name: "Disconnect"}, func(ctx context.Context, _ resource.Managed) error {
		var errs []error
		if d, ok := unwrap.As[managed.ExternalDisconnecter](c.external); ok {
			errs = append(errs, d.Disconnect(ctx))
		}
		if d, ok := c.recorder.connecter.(managed.ExternalDisconnecter); ok {
			errs = append(errs, d.Disconnect(ctx))
		}

		return kerrors.NewAggregate(errs)
	})
}

// A recoveringClient is a client that also has the methods of a managed.CreationRecoverer.
type recoveringClient struct {
	*client

	optional optionalMethods
}

// RecoverCreation searches for the resource that an earlier Create with the token may have created.
func (r *recoveringClient) RecoverCreation(
	ctx context.Context, mg resource.Managed, token string,
) (found bool, err error) {
	err = r.recorder.call(ctx, clientCall{name: "RecoverCreation", mg: mg}, func(
		ctx context.Context, mg resource.Managed,
	) (err error) {
		found, err = r.optional.recoverer.RecoverCreation(ctx, mg, token)

		return err
	})

	return found && err == nil, err
}

// RecoveryWindow returns the recovery window of the author's client.
func (r *recoveringClient) RecoveryWindow() time.Duration { return r.optional.window }
