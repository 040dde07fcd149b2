package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Statuses with which something answers in the place of the external system: a server that
// does not know the path, one that wants a login, and a proxy whose backends are away. The
// rest refuse a change.
var (
	pages   = []int{http.StatusNotFound, http.StatusForbidden, http.StatusBadGateway}
	answers = slices.Concat(pages, []int{http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity})
)

func whileMisrouted(status int) string {
	return fmt.Sprintf("while a page with the status %d answers in the place of the external system", status)
}

// misroute lets a page of the status answer, and returns what ends that, or nil.
func (k *kit) misroute(status int) (end func()) {
	// whoever calls this has seen that the probe is one
	r := k.suite.Probe.(Misrouter) // see above

	return k.alters("Probe.Misroute", func(ctx context.Context) (func(context.Context) error, error) { return r.Misroute(ctx, status) })
}

// misrouted checks that no page is taken for the answer that something does not exist.
func (m *manners) misrouted() *finding { return m.under(pages, m.believesAbsence) }

// refusedIsTold checks, with another object, that no page is taken for the answer that a
// change was made. It is last: a client that changes nothing at all is told of that.
func (m *manners) refusedIsTold() *finding {
	if _, ok := m.suite.Probe.(Misrouter); !ok {
		return nil
	}
	m.mg = m.stored(m.sample)
	m.token = string(m.mg.GetUID()) + "-0001"
	m.names[m.mg.GetUID()] = m.mg.GetName()
	for _, step := range []func() *finding{m.creates, m.seen} {
		if broken := step(); broken != nil {
			return broken
		}
	}

	return m.under(answers, m.believesChange)
}

// under checks something while pages answer, one after the other.
func (m *manners) under(statuses []int, check func(status int) *finding) *finding {
	if _, ok := m.suite.Probe.(Misrouter); !ok {
		return nil
	}
	for _, status := range statuses {
		end := m.misroute(status)
		if end == nil {
			return nil // the probe is to blame
		}
		broken := check(status)
		if end(); broken != nil {
			return broken
		}
	}

	return m.works()
}

func (m *manners) believesAbsence(status int) *finding {
	o, err := m.observe(context.Background(), clone(m.mg))
	if err == nil && !o.ResourceExists {
		return m.say("unknown-is-not-absent", "%s, Observe of %s says that nothing exists, without an error", whileMisrouted(status), m.mg.GetName())
	}
	missed, mg := false, m.unnamed()
	err = m.call(mg, func(c managed.ExternalClient) error {
		finder, finds := c.(managed.CreationRecoverer)
		if !finds {
			return nil
		}
		found, err := finder.RecoverCreation(context.Background(), mg, m.token)
		missed = !found

		return err
	})
	if err == nil && missed {
		return m.say("unknown-is-not-absent", "%s, RecoverCreation of %s says that nothing was created, without an error", whileMisrouted(status), m.mg.GetName())
	}

	return nil
}

// believesChange makes changes. That Delete takes a 404 for the end of what it deletes does
// no harm: Observe is asked afterwards.
func (m *manners) believesChange(status int) *finding {
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	if err := m.create(other, string(other.GetUID())+"-0001"); err == nil {
		return m.say("refused-is-told", "%s, Create of another object returns no error", whileMisrouted(status))
	}
	if mg := m.changed(); mg != nil {
		if err := m.updateNow(mg); err == nil {
			return m.say("refused-is-told", "%s, Update of %s returns no error", whileMisrouted(status), mg.GetName())
		}
	}
	mg, now := clone(m.mg), metav1.Now()
	mg.SetDeletionTimestamp(&now)
	if err := m.deleteNow(mg); err == nil && status != http.StatusNotFound {
		return m.say("refused-is-told", "%s, Delete of %s returns no error", whileMisrouted(status), mg.GetName())
	}

	return nil
}

// changed returns a copy of the object with the first mutation that can be made, or nil.
func (m *manners) changed() resource.Managed {
	at := slices.IndexFunc(m.suite.Mutations, func(of Mutation) bool { return !of.Immutable })
	if at < 0 {
		return nil
	}
	mg := clone(m.mg)
	setSpec(mg, mutated(m.sample, m.suite.Mutations[at]))
	mg.SetGeneration(m.mg.GetGeneration() + 1)

	return mg
}

// alone checks that a call that waits for the external system holds up no other object.
func (m *manners) alone() *finding {
	h, ok := m.suite.Probe.(Holder)
	if !ok {
		return nil
	}
	var held <-chan struct{}
	end := m.alters("Probe.Hold", func(ctx context.Context) (end func(context.Context) error, err error) {
		held, end, err = h.Hold(ctx, meta.GetExternalName(m.mg))

		return end, err
	})
	if end == nil {
		return nil // the probe is to blame
	}
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	meta.SetExternalName(other, meta.GetExternalName(m.mg)+"-2")
	passed := false
	err := m.host.callFor(context.Background(), 2*m.host.limit, "Observe of "+m.mg.GetName()+", which waits, and then of another object", func(ctx context.Context) error {
		passed = m.passes(ctx, held, other)

		return nil
	})
	end()
	if err == nil && !passed {
		return m.say("calls-return", "while a call for %s waits for the external system, Observe of another object does not return: "+
			"do not hold a lock that objects share while a request is under way", m.mg.GetName())
	}

	return nil
}

// passes says whether a look at another object returns while one at the object waits. Both
// have returned when it does.
func (m *manners) passes(ctx context.Context, held <-chan struct{}, other resource.Managed) bool {
	first, giveUp := context.WithCancel(ctx)
	waits := m.looks(first, clone(m.mg))
	select {
	case <-held:
	case <-waits: // it asks for nothing
	case <-ctx.Done():
	}
	second, cancel := context.WithTimeout(ctx, m.host.limit)
	defer cancel()
	returns := m.looks(second, other)
	passed := false
	select {
	case <-returns:
		passed = second.Err() == nil
	case <-second.Done():
	}
	giveUp()
	<-waits
	<-returns

	return passed
}

// looks observes on a goroutine of its own, at the same time as another, and closes the
// channel when that has ended. What the client makes of it is found out elsewhere.
func (m *manners) looks(ctx context.Context, mg resource.Managed) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		c, err := m.tap.to.Connect(ctx, mg)
		if err == nil && !isNil(c) {
			_, _ = c.Observe(ctx, mg)
		}
	}()

	return ended
}
