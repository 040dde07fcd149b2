package conformance

import (
	"context"
	"maps"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// repeats checks that creating again does what the class says.
func (m *manners) repeats() *finding {
	switch m.class {
	case Named:
		return m.repeatsNamed()
	case Token:
		return m.repeatsToken()
	case Findable, Opaque:
	}

	return nil
}

func (m *manners) repeatsNamed() *finding {
	before := m.ledger.have
	if err := m.create(clone(m.mg), m.token); err != nil && !external.IsAlreadyExists(err) {
		return m.say("class-is-kept", "Suite.Class is %q, and a second Create of %s fails otherwise than with external.AlreadyExists: %v", m.class, m.mg.GetName(), err)
	}
	if !m.unchanged(before) {
		return m.say("class-is-kept", "Suite.Class is %q, and a second Create of %s made or changed something", m.class, m.mg.GetName())
	}
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	meta.SetExternalName(other, meta.GetExternalName(m.mg))
	err := m.create(other, string(other.GetUID())+"-0001")
	switch {
	case !m.unchanged(before):
		return m.say("class-is-kept", "Suite.Class is %q, and Create of another object with the same external name made or changed something", m.class)
	case m.ledger.traits.Stamped && err == nil:
		return m.say("class-is-kept", "Suite.Class is %q, and Create of another object with the same external name returns no error: it has to return external.AlreadyExists", m.class)
	case err != nil && !external.IsAlreadyExists(err):
		return m.say("class-is-kept", "Create of another object with the same external name fails otherwise than with external.AlreadyExists: %v", err)
	}

	return nil
}

func (m *manners) repeatsToken() *finding {
	before := m.ledger.have
	again := m.unnamed()
	if err := m.create(again, m.token); err != nil {
		return m.say("class-is-kept", "Suite.Class is %q, and a second Create of %s with the same token fails: %v", m.class, m.mg.GetName(), err)
	}
	if name := meta.GetExternalName(again); name != meta.GetExternalName(m.mg) || !m.unchanged(before) {
		return m.say("class-is-kept", "Suite.Class is %q, and a second Create of %s with the same token led to %q instead of %q", m.class, m.mg.GetName(), name, meta.GetExternalName(m.mg))
	}
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	if err := m.create(other, string(other.GetUID())+"-0001"); err == nil && meta.GetExternalName(other) == meta.GetExternalName(m.mg) {
		return m.say("class-is-kept", "Suite.Class is %q, and Create with another token led to the same resource %q", m.class, meta.GetExternalName(other))
	}

	return nil
}

// unnamed returns the object as it is when the answer to Create was lost.
func (m *manners) unnamed() resource.Managed {
	mg := clone(m.mg)
	meta.SetExternalName(mg, meta.GetExternalName(m.sample))

	return mg
}

// unchanged says whether all that existed is as it was, and nothing else exists.
func (m *manners) unchanged(before map[string]Resource) bool {
	return maps.EqualFunc(before, m.ledger.have, func(a, b Resource) bool { return maps.Equal(a.State, b.State) })
}

// recovers checks that what was created is found by its token, and nothing else.
func (m *manners) recovers() *finding {
	c, err := m.tap.Connect(context.Background(), m.mg)
	if _, finds := c.(managed.CreationRecoverer); err != nil || !finds {
		return nil
	}
	mg := m.unnamed()
	var found bool
	recovered := func() bool { found, err = m.recover(mg, m.token); return err == nil && found }
	if !m.eventually(recovered) {
		return m.say("class-is-kept", "RecoverCreation of %s with the token that Create was given says found=%t, error: %v", m.mg.GetName(), found, err)
	}
	if name := meta.GetExternalName(mg); name != meta.GetExternalName(m.mg) {
		return m.say("class-is-kept", "RecoverCreation of %s found %q instead of %q", m.mg.GetName(), name, meta.GetExternalName(m.mg))
	}
	other := m.stored(m.sample)
	if found, _ = m.recover(other, string(other.GetUID())+"-0001"); found {
		return m.say("class-is-kept", "RecoverCreation with a token that nothing was created with found %q", meta.GetExternalName(other))
	}

	return nil
}

func (m *manners) recover(mg resource.Managed, token string) (found bool, err error) {
	err = m.call(mg, func(c managed.ExternalClient) (err error) {
		if finder, finds := c.(managed.CreationRecoverer); finds {
			found, err = finder.RecoverCreation(context.Background(), mg, token)
		}

		return err
	})

	return found, err
}

// mutates checks every mutation, and the way back.
func (m *manners) mutates() *finding {
	for i := range m.suite.Mutations {
		mutation := m.suite.Mutations[i]
		mg := clone(m.mg)
		setSpec(mg, mutated(m.sample, mutation))
		mg.SetGeneration(m.mg.GetGeneration() + 1)
		if mutation.Immutable {
			if broken := m.refuses(mg, mutation); broken != nil {
				return broken
			}

			continue
		}
		if broken := m.changes(mg, mutation); broken != nil {
			return broken
		}
		setSpec(mg, m.sample)
		mg.SetGeneration(m.mg.GetGeneration() + 2)
		if broken := m.updateTo(mg, m.wants(m.sample, nil), "was set back after "+mutation.Name); broken != nil {
			return broken
		}
		m.mg = mg
	}

	return nil
}

func (m *manners) changes(mg resource.Managed, mutation Mutation) *finding {
	want := m.wants(m.sample, &mutation)
	have := m.ledger.have[meta.GetExternalName(mg)]
	if lacks(have, want) == "" {
		return m.say("suite-is-complete", "the probe shows what the mutation %s wants before %s is changed: it changes nothing", mutation.Name, mg.GetName())
	}
	o, err := m.observe(context.Background(), mg)
	switch {
	case err != nil:
		return m.say("update-converges", "after the mutation %s, Observe of %s fails: %v", mutation.Name, mg.GetName(), err)
	case o.ResourceUpToDate:
		return m.say("update-converges", "after the mutation %s, Observe of %s says that its resource is up to date before it was updated", mutation.Name, mg.GetName())
	}
	if broken := m.updateTo(mg, want, "was changed by "+mutation.Name); broken != nil {
		return broken
	}
	before := m.ledger.have
	if err := m.updateNow(mg); err != nil {
		return m.say("update-is-idempotent", "a second Update of %s fails: %v", mg.GetName(), err)
	}
	if !m.unchanged(before) {
		return m.say("update-is-idempotent", "a second Update of %s changed something", mg.GetName())
	}

	return nil
}

// updateTo updates and checks that the probe shows what is wanted.
func (m *manners) updateTo(mg resource.Managed, want wants, when string) *finding {
	if broken := m.update(mg); broken != nil {
		return broken
	}
	why := ""
	as := func() bool {
		m.ledger.look(mg.GetUID())
		why = lacks(m.ledger.have[meta.GetExternalName(mg)], want)

		return why == ""
	}

	if m.eventually(as) {
		return nil
	}

	return m.say("update-converges", "after %s %s, Observe says that its resource is up to date, and by the probe %s", mg.GetName(), when, why)
}

// refuses checks that an immutable field is refused, and nothing is tried.
func (m *manners) refuses(mg resource.Managed, mutation Mutation) *finding {
	before := m.ledger.have
	o, err := m.observe(context.Background(), mg)
	if err == nil && o.ResourceUpToDate {
		return m.say("immutable-is-refused", "the mutation %s of %s is passed over: Observe says that its resource is up to date", mutation.Name, mg.GetName())
	}
	if err == nil {
		err = m.updateNow(mg)
	}
	switch {
	case err == nil:
		return m.say("immutable-is-refused", "Update of %s with the mutation %s returns no error", mg.GetName(), mutation.Name)
	case !m.unchanged(before):
		return m.say("immutable-is-refused", "Update of %s with the mutation %s changed the external system and then failed: %v", mg.GetName(), mutation.Name, err)
	default:
		return nil
	}
}

// breaks breaks the external system, and returns what mends it, or nil.
func (k *kit) breaks(b Breaker) (mend func()) { return k.hampers("Probe.Break", b.Break) }

// hampers does something to the external system for a while that calls may wait for, and
// returns what ends that, or nil. Calls have less time meanwhile.
func (k *kit) hampers(what string, begin func(context.Context) (func(context.Context) error, error)) (end func()) {
	mend := k.alters(what, begin)
	if mend == nil {
		return nil
	}
	limit := k.host.limit
	k.host.limit = max(limit/5, 250*time.Millisecond)

	return func() {
		k.host.limit = limit
		mend()
	}
}

// alters does something to the external system for a while, and returns what ends that,
// or nil.
func (k *kit) alters(what string, begin func(context.Context) (func(context.Context) error, error)) (end func()) {
	var heal func(context.Context) error
	err := k.host.call(context.Background(), what, func(ctx context.Context) (err error) {
		heal, err = begin(ctx)

		return err
	})
	if err != nil || heal == nil {
		_ = k.host.giveUp("probe-tells-the-truth", what+" does not return how to mend what it does: "+errorText(err))

		return nil
	}

	return func() {
		if err := k.host.call(context.Background(), "what "+what+" returned", heal); err != nil && !k.host.dead() {
			_ = k.host.giveUp("probe-tells-the-truth", "what "+what+" returned fails: "+err.Error())
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "it returns nil"
	}

	return err.Error()
}
