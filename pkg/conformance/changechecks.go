package conformance

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// checkRepeatedCreate checks that a repeated Create behaves as its class requires.
func (m *directChecks) checkRepeatedCreate() *finding {
	switch m.class {
	case Named:
		return m.checkRepeatedCreateNamed()
	case Token:
		return m.checkRepeatedCreateToken()
	case Findable, Opaque:
	}

	return nil
}

// checkRepeatedCreateNamed checks a repeated Create of the class Named.
func (m *directChecks) checkRepeatedCreateNamed() *finding {
	before := m.ledger.existing
	if err := m.callCreate(clone(m.mg), m.token); err != nil && !external.IsAlreadyExists(err) {
		return m.finding(
			"class-is-kept", "Suite.Class is %q, and a second Create of %s fails otherwise than with external.AlreadyExists: %v",
			m.class, m.mg.GetName(), err)
	}
	if !m.isUnchanged(before) {
		return m.finding(
			"class-is-kept", "Suite.Class is %q, and a second Create of %s made or changed something: %s", m.class,
			m.mg.GetName(), m.ledger.describeChanges(before))
	}
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	meta.SetExternalName(other, meta.GetExternalName(m.mg))
	err := m.callCreate(other, string(other.GetUID())+"-0001")
	switch {
	case !m.isUnchanged(before):
		return m.finding(
			"class-is-kept",
			"Suite.Class is %q, and Create of another object with the same external name made or changed something: %s. It has "+
				"to return external.AlreadyExists",
			m.class, m.ledger.describeChanges(before))
	case m.ledger.traits.Stamped && err == nil:
		return m.finding(
			"class-is-kept",
			"Suite.Class is %q, and Create of another object with the same external name "+
				"returns no error: it has to return external.AlreadyExists",
			m.class)
	case err != nil && !external.IsAlreadyExists(err):
		return m.finding(
			"class-is-kept",
			"Create of another object with the same external name fails otherwise than with external.AlreadyExists: %v", err)
	}

	return nil
}

// checkRepeatedCreateToken checks a repeated Create of the class Token.
func (m *directChecks) checkRepeatedCreateToken() *finding {
	before := m.ledger.existing
	again := m.withoutExternalName()
	if err := m.callCreate(again, m.token); err != nil {
		return m.finding(
			"class-is-kept", "Suite.Class is %q, and a second Create of %s with the same token fails: %v", m.class,
			m.mg.GetName(), err)
	}
	if name := meta.GetExternalName(again); name != meta.GetExternalName(m.mg) || !m.isUnchanged(before) {
		return m.finding(
			"class-is-kept", "Suite.Class is %q, and a second Create of %s with the same token led to %q instead of %q", m.class,
			m.mg.GetName(), name, meta.GetExternalName(m.mg))
	}
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	if err := m.callCreate(other, string(other.GetUID())+"-0001"); err == nil &&
		meta.GetExternalName(other) == meta.GetExternalName(m.mg) {
		return m.finding(
			"class-is-kept", "Suite.Class is %q, and Create with another token led to the same resource %q", m.class,
			meta.GetExternalName(other))
	}

	return nil
}

// withoutExternalName returns the object in the state after a Create whose response was lost.
func (m *directChecks) withoutExternalName() resource.Managed {
	mg := clone(m.mg)
	meta.SetExternalName(mg, meta.GetExternalName(m.sample))

	return mg
}

// isUnchanged reports whether the resources are the same as before.
func (m *directChecks) isUnchanged(before map[string]Resource) bool {
	return maps.EqualFunc(before, m.ledger.existing, func(a, b Resource) bool { return maps.Equal(a.State, b.State) })
}

// checkRecoverCreation checks that RecoverCreation finds a resource by its token, and by nothing else.
func (m *directChecks) checkRecoverCreation() *finding {
	c, err := m.recorder.Connect(context.Background(), m.mg)
	if _, finds := c.(managed.CreationRecoverer); err != nil || !finds {
		return nil
	}
	mg := m.withoutExternalName()
	var found bool
	recovered := func() bool { found, err = m.callRecover(mg, m.token); return err == nil && found }
	if !m.eventually(recovered) {
		return m.finding(
			"class-is-kept", "RecoverCreation of %s with the token that Create was given says found=%t, error: %v",
			m.mg.GetName(), found, err)
	}
	if name := meta.GetExternalName(mg); name != meta.GetExternalName(m.mg) {
		return m.finding(
			"class-is-kept", "RecoverCreation of %s found %q instead of %q", m.mg.GetName(), name,
			meta.GetExternalName(m.mg))
	}
	other := m.stored(m.sample)
	if found, _ = m.callRecover(other, string(other.GetUID())+"-0001"); found {
		return m.finding(
			"class-is-kept", "RecoverCreation with a token that nothing was created with found %q",
			meta.GetExternalName(other))
	}

	return nil
}

// callRecover calls RecoverCreation over a new connection.
func (m *directChecks) callRecover(mg resource.Managed, token string) (found bool, err error) {
	err = m.call(mg, func(c managed.ExternalClient) (err error) {
		if finder, finds := c.(managed.CreationRecoverer); finds {
			found, err = finder.RecoverCreation(context.Background(), mg, token)
		}

		return err
	})

	return found, err
}

// checkMutations checks each mutation, and that it can be reverted.
func (m *directChecks) checkMutations() *finding {
	for i := range m.suite.Mutations {
		mutation := m.suite.Mutations[i]
		mg := clone(m.mg)
		setSpec(mg, mutated(m.sample, mutation))
		mg.SetGeneration(m.mg.GetGeneration() + 1)
		if mutation.Immutable {
			if failure := m.checkImmutable(mg, mutation); failure != nil {
				return failure
			}

			continue
		}
		for _, check := range []func() *finding{
			func() *finding { return m.checkMutation(mg, mutation) }, func() *finding { return m.checkEqualTimes(mg) },
		} {
			if failure := check(); failure != nil {
				return failure
			}
		}
		setSpec(mg, m.sample)
		mg.SetGeneration(m.mg.GetGeneration() + 3)
		if failure := m.updateTo(mg, m.wantedState(m.sample, nil),
			"was set back after "+mutation.Name); failure != nil {
			return failure
		}
		m.mg = mg
	}

	return nil
}

// checkMutation checks that one mutation is observed and applied. It also checks that a second Update changes nothing.
func (m *directChecks) checkMutation(mg resource.Managed, mutation Mutation) *finding {
	want := m.wantedState(m.sample, &mutation)
	have := m.ledger.existing[meta.GetExternalName(mg)]
	if describeMismatch(have, want) == "" {
		return m.finding(
			"suite-is-complete", "the probe shows what the mutation %s wants before %s is changed: it changes nothing",
			mutation.Name, mg.GetName())
	}
	o, err := m.observe(context.Background(), mg)
	switch {
	case err != nil:
		return m.finding(
			"update-converges", "after the mutation %s, Observe of %s fails: %v", mutation.Name, mg.GetName(), err)
	case o.ResourceUpToDate:
		return m.finding(
			"update-converges",
			"after the mutation %s, Observe of %s says that its resource is up to date before it was updated",
			mutation.Name,
			mg.GetName())
	}
	m.reportLater(m.mutationDifferences(mg, mutation, o))
	if failure := m.updateTo(mg, want, "was changed by "+mutation.Name); failure != nil {
		return failure
	}
	before := m.ledger.existing
	if err := m.callUpdate(mg); err != nil {
		return m.finding("update-is-idempotent", "a second Update of %s fails: %v", mg.GetName(), err)
	}
	if !m.isUnchanged(before) {
		return m.finding("update-is-idempotent", "a second Update of %s changed something: %s", mg.GetName(),
			m.ledger.describeChanges(before))
	}

	return nil
}

// updateTo calls Update and checks that the probe shows the wanted state.
func (m *directChecks) updateTo(mg resource.Managed, want wantedFields, when string) *finding {
	if failure := m.update(mg, want, ", which "+when+","); failure != nil {
		return failure
	}
	why := ""
	as := func() bool {
		m.ledger.refresh(mg.GetUID())
		why = describeMismatch(m.ledger.existing[meta.GetExternalName(mg)], want)

		return why == ""
	}

	if m.eventually(as) {
		return nil
	}

	return m.finding(
		"update-converges", "after %s %s, Observe says that its resource is up to date, and by the probe %s",
		mg.GetName(),
		when, why)
}

// checkImmutable checks that a change of an immutable field is refused without a request.
func (m *directChecks) checkImmutable(mg resource.Managed, mutation Mutation) *finding {
	before := m.ledger.existing
	o, err := m.observe(context.Background(), mg)
	if err == nil && o.ResourceUpToDate {
		return m.finding(
			"immutable-is-refused", "the mutation %s of %s is passed over: Observe says that its resource is up to date",
			mutation.Name, mg.GetName())
	}
	if err == nil {
		m.reportLater(m.mutationDifferences(mg, mutation, o))
		err = m.callUpdate(mg)
	}
	switch {
	case err == nil:
		return m.finding(
			"immutable-is-refused", "Update of %s with the mutation %s returns no error", mg.GetName(), mutation.Name)
	case !m.isUnchanged(before):
		return m.finding(
			"immutable-is-refused", "Update of %s with the mutation %s changed the external system (%s) and then failed: %v",
			mg.GetName(), mutation.Name, m.ledger.describeChanges(before), err)
	default:
		return nil
	}
}

// breakSystem makes the external system unavailable. It returns a function that ends this, or nil if Break fails.
func (k *runner) breakSystem(b Breaker) (mend func()) {
	return k.disturbShortened("Probe.Break", b.Break)
}

// disturbShortened is like disturb, but shortens the deadlines of calls until the disturbance ends. It is for
// disturbances that make calls hang.
func (k *runner) disturbShortened(
	what string, begin func(context.Context) (func(context.Context) error, error),
) (end func()) {
	mend := k.disturb(what, begin)
	if mend == nil {
		return nil
	}
	grace := k.host.limit
	lengthen := k.shorten(min(max(grace/5, shortest), 4*shortest))
	k.host.grace = grace

	return func() {
		lengthen()
		k.host.grace = 0
		mend()
	}
}

// shortest is the shortest deadline of calls for which no answer comes.
const shortest = 250 * time.Millisecond

// shorten sets the deadline of calls. It returns a function that sets it back.
func (k *runner) shorten(to time.Duration) (lengthen func()) {
	limit := k.host.limit
	k.host.limit = to

	return func() { k.host.limit = limit }
}

// hang makes the next calls hang after their n-th request. It returns a function that ends this. Calls have a short
// deadline, and as much time as usual to return after it.
func (k *runner) hang(n int) (end func()) {
	grace := k.host.limit
	stop := k.ledger.wire.interrupt(k.host, Interruption{Exchange: n, Hang: true})
	lengthen := k.shorten(min(shortest, grace))
	k.host.grace, k.host.situation = grace, fmt.Sprintf(", while the answer to its request %d does not come", n)

	return func() {
		lengthen()
		k.host.grace, k.host.situation = 0, ""
		stop()
	}
}

// disturb starts a disturbance of the external system. It returns a function that ends the disturbance, or nil if begin
// fails.
func (k *runner) disturb(what string, begin func(context.Context) (func(context.Context) error, error)) (end func()) {
	var heal func(context.Context) error
	err := k.host.callProbeOnce(what, func(ctx context.Context) (err error) {
		heal, err = begin(ctx)

		return err
	})
	if err != nil || heal == nil {
		_ = k.host.giveUpProbe(what+" does not return how to mend what it does: "+errorText(err), err)

		return nil
	}

	k.ledger.wire.learning = false

	return func() {
		k.ledger.wire.learning = true
		defer k.ledger.wire.awaitPending(k.host)
		if err := k.host.callProbeOnce("what "+what+" returned", heal); err != nil && !k.host.stopped() {
			_ = k.host.giveUpProbe("what "+what+" returned fails: "+err.Error(), err)
		}
	}
}

// errorText returns the text of an error.
func errorText(err error) string {
	if err == nil {
		return "it returns nil"
	}

	return err.Error()
}
