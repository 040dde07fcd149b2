package managed

import (
	"context"
	"strings"

	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/errors"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A ConnectionDescriber is an [ExternalClient] that tells over which connection its
// calls go. With it, calls are held to what the connection is allowed rather than
// what a ProviderConfig is (see [WithLimits]); credentials that are not accepted are
// read again at once; and what failed for good is tried again when they change.
type ConnectionDescriber interface {
	// DescribeConnection is called once in each pass, after Connect.
	DescribeConnection() Connection
}

// A Connection is what the calls of several clients go over.
type Connection struct {
	// Name tells connections apart, in metrics as well, and must not be secret:
	// kind, namespace and name of the configuration, such as
	// "ProviderConfig/default/prod", or "ClusterProviderConfig/prod". Its state is
	// then shown by that configuration, see providerconfig.WithLimits. Empty is what
	// the object refers to.
	Name string

	// Revision is another one whenever settings or credentials are, such as the
	// generation of the configuration and the resourceVersion of its Secret. Empty is
	// not known.
	Revision string

	// Recheck, if it is not nil, is called when the external system has not accepted
	// the credentials, such as connection.Cache.Recheck.
	Recheck func()
}

// WithLimits holds the calls over each connection to what the external system
// allows: the set finds out how fast that is, and lets nobody through while the
// system is down or does not accept the credentials. Give the same set to all
// reconcilers of a provider, and to providerconfig.WithLimits, which shows the state
// of each connection. The default is no limits.
//
// A call that has to wait for more than a moment is not made: the pass ends, and the
// object comes back with the urgency it had. What is wrong with a connection as a
// whole is not told by each object: only one whose user waits for it says so.
//
// Connect is not held, because it finds out whether there are other credentials. When
// it fails for a reason that is the connection's, that counts as a call over the
// connection of the ProviderConfig that the object refers to.
func WithLimits(set *gates.Set) ReconcilerOption {
	return func(r *Reconciler) { r.limits = set }
}

// callPriorities has the priority of the calls of a pass, by its urgency.
var callPriorities = map[lifecycle.Priority]gates.Priority{
	lifecycle.User:     gates.User,
	lifecycle.Progress: gates.Progress,
	lifecycle.Retry:    gates.Retry,
	lifecycle.Poll:     gates.Poll,
}

// inspect learns what a client can do beyond what it must. That is a part of Connect: a method
// of the client that panics fails to connect.
func (p *clientSession) inspect(c ExternalClient) {
	if d, ok := unwrap.As[ExternalDisconnecter](c); ok {
		p.disconnects = append(p.disconnects, d)
	}
	if _, nothing := p.r.connecter.(*NopDisconnecter); !nothing {
		p.disconnects = append(p.disconnects, p.r.connecter)
	}
	p.recoverer, _ = unwrap.As[CreationRecoverer](c)
	if p.backend, _ = unwrap.As[BackendIdentifier](c); p.backend != nil {
		p.system = p.backend.Identity()
	}
	if d, ok := unwrap.As[ConnectionDescriber](c); ok {
		p.connection = d.DescribeConnection()
	}
	if p.r.bulk {
		p.lister, _ = unwrap.As[ExternalLister](c)
	}
}

// bindConnection joins those whose calls go over the same connection.
func (p *clientSession) bindConnection() {
	if p.connection.Name == "" {
		p.connection.Name = connectionName(p.mg)
	}
	if p.r.limits != nil {
		p.gate = p.r.limits.GateOf(p.connection.Name, p.connection.Revision)
		if p.state.reservation != nil && p.state.reservation.gate != p.gate {
			p.state.cancelReservation()
		}
	}
	p.joinList(p.connection.Name, p.connection.Revision)
}

// connectFailed returns why there is no client. What is wrong with the connection as a
// whole is learnt by its gate, as from any other call.
func (p *clientSession) connectFailed(ctx context.Context, err error) error {
	if p.r.limits == nil || !classify(err).shared {
		return err
	}
	p.connection.Name = connectionName(p.mg)
	p.gate = p.r.limits.Gate(p.connection.Name)
	if gates.IsHeld(err) { // the connecter asks the gates itself
		return err
	}
	release, held := p.waitForToken(ctx, true)
	if held != nil {
		return held
	}
	release(err)

	return err
}

// connectionName returns the configuration that an object refers to.
func connectionName(mg resource.Managed) string {
	referencer, ok := mg.(resource.ProviderConfigReferencer)
	if !ok || referencer.GetProviderConfigReference() == nil {
		return "default"
	}
	ref := referencer.GetProviderConfigReference()
	kind := ref.Kind
	if kind == "" {
		kind = "ProviderConfig"
	}
	if mg.GetNamespace() == "" || strings.HasPrefix(kind, "Cluster") {
		return kind + "/" + ref.Name
	}

	return kind + "/" + mg.GetNamespace() + "/" + ref.Name
}

// acquireToken returns leave for one call, to be given back with what came of it, or an
// error if the call must not be made now.
func (p *clientSession) acquireToken(ctx context.Context) (release func(error), err error) {
	release, err = p.waitForToken(ctx, p.admitted)
	p.admitted = p.admitted || err == nil

	return release, err
}

// waitForToken asks the gate. A call that continues what has begun is not held up.
func (p *clientSession) waitForToken(ctx context.Context, continues bool) (release func(error), err error) {
	if p.gate == nil {
		return func(error) {}, nil
	}
	calls, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	if calls.Err() == nil { // or else it is something that has a time of its own: what is taken back
		ctx = calls
	}

	release, err = p.gate.Acquire(ctx, gates.Request{
		Namespace: p.mg.GetNamespace(), Object: string(p.mg.GetUID()), Priority: callPriorities[p.priority],
		Continues: continues,
		Message:   p.causeOf,
	})
	if p.state.reservation = nil; err != nil {
		p.state.reservation = &reservation{p.gate, gates.Request{
			Namespace: p.mg.GetNamespace(), Object: string(p.mg.GetUID()),
		}}
	}

	return release, err
}

// call makes a call for which there is leave.
func (p *clientSession) call(release func(error), do func() error) error {
	err := context.Canceled // what panics has shown nothing
	defer func() { release(err) }()
	answer := do()
	if err = answer; errors.Is(answer, errFenced) {
		err = context.Canceled // neither has what was not begun
	}

	return answer
}

// callCreate makes a call of Create with the token that was acquired before anything was written.
func (p *clientSession) callCreate(do func() error) error { return p.call(p.createToken, do) }
