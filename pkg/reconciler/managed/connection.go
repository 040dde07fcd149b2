package managed

import (
	"context"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/internal/unwrap"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A ConnectionDescriber is an [ExternalClient] that names the connection of its calls. With such a client, rate limits
// apply per connection, not per ProviderConfig (see [WithLimits]). Rejected credentials are read again at once.
// Terminal errors are retried when the credentials change.
type ConnectionDescriber interface {
	// DescribeConnection is called once in each pass, after Connect.
	DescribeConnection() Connection
}

// A Connection identifies a connection that several clients share.
type Connection struct {
	// Name identifies the connection, also in metrics, and must not be secret. It consists of kind, namespace and name
	// of the configuration, such as "ProviderConfig/default/prod" or "ClusterProviderConfig/prod". The status of that
	// configuration then shows the state of the connection, see providerconfig.WithLimits. An empty Name means the
	// configuration that the object refers to.
	Name string

	// Revision changes whenever settings or credentials change. An example is the generation of the configuration
	// together with the resourceVersion of its Secret. Empty means unknown.
	Revision string

	// Recheck is called when the external system has rejected the credentials, and every ten seconds while calls are held
	// because of that. An example is connection.Cache.Recheck. It may be nil.
	Recheck func()
}

// WithLimits limits the rate of the calls over each connection. The set adapts the rate to what the external system
// accepts. It admits no call while the system is down or rejects the credentials. Give the same set to all reconcilers
// of a provider, and to providerconfig.WithLimits, which shows the state of each connection. The default is no limits.
//
// The reconciler makes no call that would have to wait for more than a moment. Instead the pass ends, and the object is
// requeued with its priority. A failure of the whole connection is reported only on objects for which a user waits, and
// on objects that still show another failure, such as a ProviderConfig that did not exist yet.
//
// Connect is not rate limited, so that rotated credentials are noticed while the connection is blocked. A Connect that
// fails because of the connection counts as a failed call over the connection of the ProviderConfig that the object
// refers to.
func WithLimits(set *gates.Set) ReconcilerOption {
	return func(r *Reconciler) { r.limits = set }
}

// callPriorities maps the priority of a pass to that of its calls.
var callPriorities = map[lifecycle.Priority]gates.Priority{
	lifecycle.User:     gates.User,
	lifecycle.Progress: gates.Progress,
	lifecycle.Retry:    gates.Retry,
	lifecycle.Poll:     gates.Poll,
}

// inspect detects the optional interfaces of a client. It is a part of Connect: if a method of the client panics,
// Connect fails.
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
	if p.lister != nil && p.r.planner != nil {
		p.lister = planningLister{p.lister, p.r.planner}
	}
}

// bindConnection binds the session to the gate and the list of its connection.
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

// connectFailed returns the error of a pass that has no client. The gate of the connection counts the error like the
// error of any other call.
func (p *clientSession) connectFailed(ctx context.Context, err error) error {
	if p.r.limits == nil || !classify(err).shared {
		return err
	}
	p.connection.Name = connectionName(p.mg)
	p.gate = p.r.limits.Gate(p.connection.Name)
	if gates.IsHeld(err) { // the connecter asks the gates itself
		return err
	}
	release, held := p.waitForPermit(ctx, true)
	if held != nil {
		return held
	}
	release(err)

	return err
}

// connectionName returns the name of the configuration that an object refers to.
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

// acquirePermit acquires a permit of the rate limiter for one call. The caller releases it with the result of the
// call. It returns an error if the call must not be made now.
func (p *clientSession) acquirePermit(ctx context.Context) (release func(error), err error) {
	release, err = p.waitForPermit(ctx, p.permitted)
	p.permitted = p.permitted || err == nil

	return release, err
}

// waitForPermit waits for a permit of the gate. A call that continues an operation is not delayed.
func (p *clientSession) waitForPermit(ctx context.Context, continues bool) (release func(error), err error) {
	if p.gate == nil {
		return func(error) {}, nil
	}
	calls, cancel := withDeadline(ctx, callDeadline(ctx))
	defer cancel()
	if calls.Err() == nil { // otherwise the call has a deadline of its own, as the undo of a create has
		ctx = calls
	}

	began := p.now()
	release, err = p.gate.Acquire(ctx, gates.Request{
		Namespace: p.mg.GetNamespace(), Object: string(p.mg.GetUID()), Priority: callPriorities[p.priority],
		Continues: continues,
		Message:   p.causeOf,
	})
	p.recordLimitWait(p.now().Sub(began), err)
	if p.state.reservation = nil; err != nil {
		p.state.reservation = &reservation{p.gate, gates.Request{
			Namespace: p.mg.GetNamespace(), Object: string(p.mg.GetUID()),
		}}
	}

	return release, err
}

// recordLimitWait counts how long the pass has waited for a permit, and how long its object waits for the next try. An
// outage is no wait for the rate limit.
func (p *clientSession) recordLimitWait(waited time.Duration, err error) {
	if err != nil && !external.IsUnavailable(err) && !external.IsUnauthorized(err) {
		waited += retryAfter(err, 0)
	}
	p.r.telemetry.LimitWaited(int(p.priority), waited)
}

// callCreate makes a call of Create with the permit that was acquired before anything was written.
func (p *clientSession) callCreate(do func() error) error { return p.call(p.createPermit, do) }

// call makes a call for which a permit was acquired.
func (p *clientSession) call(release func(error), do func() error) error {
	err := context.Canceled // a panic counts neither as success nor as failure
	defer func() { release(err) }()
	answer := do()
	if err = answer; errors.Is(answer, errFenced) {
		err = context.Canceled // nor does a call that was not begun
	}

	return answer
}
