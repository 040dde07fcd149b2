package conformance

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Manners are those of a client that nobody disturbs, with one object.
type manners struct {
	*kit

	tap    *tap
	mg     resource.Managed
	sample resource.Managed
	token  string
}

// checkManners calls the client as it is, without a reconciler.
func (k *kit) checkManners() {
	for _, sample := range k.suite.Samples {
		before := k.known()
		m := &manners{kit: k, tap: k.newTap(), mg: k.stored(sample), sample: sample}
		m.token = string(m.mg.GetUID()) + "-0001"
		k.names[m.mg.GetUID()] = m.mg.GetName()
		for _, step := range []func() *finding{
			m.connects, m.absent, m.creates, m.seen, m.stable, m.cancelled, m.broken, m.misrouted, m.alone, m.owned, m.repeats, m.recovers, m.mutates, m.deletes, m.refusals, m.refusedIsTold,
		} {
			broken := step()
			if k.host.dead() { // that is the reason of whatever is wrong
				break
			}
			if broken != nil {
				k.found(broken.property, broken.text)

				break
			}
		}
		k.clean(before)
		k.ledger.reset()
		if k.host.dead() {
			return
		}
	}
}

// say says what is wrong.
func (m *manners) say(property, format string, args ...any) *finding {
	return &finding{property: property, text: fmt.Sprintf(format, args...)}
}

// call connects and makes one call.
func (m *manners) call(mg resource.Managed, do func(managed.ExternalClient) error) error {
	c, err := m.tap.Connect(context.Background(), mg)
	if err != nil {
		return errors.Wrap(err, "cannot connect")
	}

	return do(c)
}

func (m *manners) deleteNow(mg resource.Managed) error {
	return m.call(mg, func(c managed.ExternalClient) error { return c.Delete(context.Background(), mg) })
}

func (m *manners) updateNow(mg resource.Managed) error {
	return m.call(mg, func(c managed.ExternalClient) error { return c.Update(context.Background(), mg) })
}

func (m *manners) connects() *finding {
	c, err := m.tap.Connect(context.Background(), m.mg)
	if err != nil {
		return m.say("connects", "Connect of %s fails: %v", m.mg.GetName(), err)
	}
	if _, finds := c.(managed.CreationRecoverer); m.class == Findable && !finds {
		return m.say("class-is-kept", "Suite.Class is %q, and the client is no managed.CreationRecoverer", m.class)
	}
	if b, tells := c.(managed.BackendIdentifier); tells {
		c, err = m.tap.Connect(context.Background(), m.mg)
		again, ok := c.(managed.BackendIdentifier)
		if err != nil || !ok || again.Identity() != b.Identity() {
			return m.say("backend-is-told", "two connections for %s tell different identities, or one of them none", m.mg.GetName())
		}
	}

	return nil
}

// observe observes as a new pass does. Nothing is seen if that fails.
func (m *manners) observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	c, err := m.tap.Connect(context.Background(), mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	return c.Observe(ctx, mg)
}

func (m *manners) absent() *finding {
	o, err := m.observe(context.Background(), m.mg)
	_, listed := m.ledger.have[meta.GetExternalName(m.mg)]
	switch {
	case err != nil:
		return m.say("absent-is-no-error", "before anything is created, Observe of %s fails: %v", m.mg.GetName(), err)
	case o.ResourceExists && listed:
		return m.say("suite-is-complete", "the resource of %s exists before the suite begins: remove it, or give a sample another name", m.mg.GetName())
	case listed:
		return m.say("probe-tells-the-truth", "the probe lists %q before it is created, and Observe says that it does not exist", meta.GetExternalName(m.mg))
	case o.ResourceExists:
		return m.say("unknown-is-not-absent", "before anything is created, Observe of %s says that its resource exists, and the probe does not list it", m.mg.GetName())
	}
	if m.class != Named {
		return nil
	}
	if err := m.deleteNow(clone(m.mg)); err != nil {
		return m.say("delete-is-idempotent", "before anything is created, Delete of %s fails: %v", m.mg.GetName(), err)
	}

	return nil
}

func (m *manners) create(mg resource.Managed, token string) error {
	ctx := managed.ContextWithCreationToken(context.Background(), token)

	return m.call(mg, func(c managed.ExternalClient) error { return c.Create(ctx, mg) })
}

func (m *manners) creates() *finding {
	chosen, before := meta.GetExternalName(m.mg), m.known()
	if err := m.create(m.mg, m.token); err != nil {
		return m.say("created-is-seen", "Create of %s fails: %v", m.mg.GetName(), err)
	}
	name := meta.GetExternalName(m.mg)
	switch {
	case name == "":
		return m.say("created-is-seen", "Create of %s left no external name: nothing says which resource is the object's once the process has died", m.mg.GetName())
	case m.class == Named && name != chosen:
		return m.say("class-is-kept", "Suite.Class is %q, and Create of %s replaced the external name %q by %q", m.class, m.mg.GetName(), chosen, name)
	}
	var made []string
	listed := m.eventually(func() bool {
		m.ledger.look(m.mg.GetUID())
		made = slices.DeleteFunc(m.known(), func(id string) bool { return slices.Contains(before, id) })

		return len(made) > 0
	})
	switch {
	case !listed:
		if o, err := m.observe(context.Background(), m.mg); err == nil && o.ResourceExists {
			return m.say("probe-tells-the-truth", "Create of %s made a resource that Observe finds, and the probe does not list it", m.mg.GetName())
		}

		return m.say("created-is-seen", "Create of %s returns no error, and neither Observe nor the probe shows a resource", m.mg.GetName())
	case len(made) > 1:
		return m.say("at-most-one", "Create of %s made %d resources: %v", m.mg.GetName(), len(made), made)
	case made[0] != name:
		return m.say("probe-tells-the-truth", "Create of %s left the external name %q, and the probe lists it by the ID %q: they have to be the same", m.mg.GetName(), name, made[0])
	}

	return nil
}

func (m *manners) seen() *finding {
	var o managed.ExternalObservation
	var err error
	exists := func() bool {
		o, err = m.observe(context.Background(), m.mg)

		return err == nil && o.ResourceExists
	}
	if !m.eventually(exists) {
		if err != nil {
			return m.say("created-is-seen", "after Create, Observe of %s fails: %v", m.mg.GetName(), err)
		}

		return m.say("created-is-seen", "after Create, Observe of %s goes on to say that nothing exists", m.mg.GetName())
	}
	if !o.ResourceUpToDate {
		if broken := m.update(m.mg); broken != nil {
			return broken
		}
	}
	m.ledger.look(m.mg.GetUID())
	m.learned[m.sample.GetName()] = m.fields(m.ledger.have[meta.GetExternalName(m.mg)])

	return nil
}

// update updates until Observe says that it is up to date.
func (m *manners) update(mg resource.Managed) *finding {
	for range 3 {
		if err := m.updateNow(mg); err != nil {
			return m.say("update-converges", "Update of %s fails: %v", mg.GetName(), err)
		}
		upToDate := func() bool {
			o, err := m.observe(context.Background(), mg)

			return err == nil && o.ResourceExists && o.ResourceUpToDate
		}
		if m.eventually(upToDate) {
			return nil
		}
	}

	return m.say("update-converges", "after three Updates, Observe of %s says that its resource is not up to date", mg.GetName())
}

func (m *manners) stable() *finding {
	first, err1 := m.observe(context.Background(), m.mg)
	second, err2 := m.observe(context.Background(), m.mg)
	if err1 != nil || err2 != nil || !equality.Semantic.DeepEqual(first, second) {
		return m.say("observe-is-stable", "of %s it says %s, and at once after that %s", m.mg.GetName(), told(first, err1), told(second, err2))
	}

	return nil
}

// told puts an observation into words that show no connection details.
func told(o managed.ExternalObservation, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}

	return fmt.Sprintf("exists=%t upToDate=%t owner=%s diff=%q details=%d", o.ResourceExists, o.ResourceUpToDate, o.Owner, o.Diff, len(o.ConnectionDetails))
}

func (m *manners) cancelled() *finding {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o, err := m.observe(ctx, clone(m.mg)); err == nil && !o.ResourceExists {
		return m.say("unknown-is-not-absent", "with a context that has ended, Observe of %s says that nothing exists, without an error", m.mg.GetName())
	}

	return nil
}

func (m *manners) broken() *finding {
	b, ok := m.suite.Probe.(Breaker)
	if !ok {
		return nil
	}
	mend := m.breaks(b)
	if mend == nil {
		return nil // the probe is to blame
	}
	o, err := m.observe(context.Background(), clone(m.mg))
	mend()
	if err == nil && !o.ResourceExists {
		return m.say("unknown-is-not-absent", "while the external system is broken, Observe of %s says that nothing exists, without an error", m.mg.GetName())
	}

	return m.works()
}

// works checks that the client works once the external system does again.
func (m *manners) works() *finding {
	var err error
	works := func() bool { _, err = m.observe(context.Background(), clone(m.mg)); return err == nil }
	if !m.eventually(works) {
		return m.say("converges", "after the external system was mended, Observe of %s fails: %v", m.mg.GetName(), err)
	}

	return nil
}

func (m *manners) owned() *finding {
	o, err := m.observe(context.Background(), m.mg)
	if err != nil {
		return m.say("created-is-seen", "Observe of %s fails: %v", m.mg.GetName(), err)
	}
	if o.Owner == managed.OwnerUnknown {
		return nil
	}
	if o.Owner != managed.OwnerOurs {
		return m.say("owner-is-told", "Observe of %s says that what was just created for it is owned by %s", m.mg.GetName(), o.Owner)
	}
	m.ledger.traits.Stamped = true
	other := m.stored(m.sample)
	meta.SetExternalName(other, meta.GetExternalName(m.mg))
	if o, err = m.observe(context.Background(), other); err == nil && o.ResourceExists && o.Owner == managed.OwnerOurs {
		return m.say("owner-is-told", "Observe of another object with the external name %q says that what was created for %s is its own", meta.GetExternalName(m.mg), m.mg.GetName())
	}

	return nil
}

func (m *manners) deletes() *finding {
	now := metav1.Now()
	m.mg.SetDeletionTimestamp(&now)
	if err := m.deleteNow(m.mg); err != nil {
		return m.say("deleted-is-gone", "Delete of %s fails: %v", m.mg.GetName(), err)
	}
	var o managed.ExternalObservation
	var err error
	gone := func() bool {
		o, err = m.observe(context.Background(), m.mg)

		return err == nil && !o.ResourceExists
	}
	if !m.eventually(gone) {
		return m.say("deleted-is-gone", "after Delete, Observe of %s says %s", m.mg.GetName(), told(o, err))
	}
	unlisted := func() bool {
		m.ledger.look(m.mg.GetUID())

		return len(m.ledger.Of(m.mg.GetUID())) == 0
	}
	if !m.eventually(unlisted) {
		return m.say("deleted-is-gone", "after Delete, Observe of %s says that nothing exists, and the probe lists %q", m.mg.GetName(), meta.GetExternalName(m.mg))
	}
	if err := m.deleteNow(m.mg); err != nil {
		return m.say("delete-is-idempotent", "a second Delete of %s fails: %v", m.mg.GetName(), err)
	}

	return nil
}
