package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// refused says whether an error of Create is taken for a word of the external system that
// nothing was made: the intent to create is forgotten then, and a new one may follow. That a
// name is taken is none: what is there may be of the same call, made twice.
func refused(err error) bool { return external.IsNotCreated(err) }

// refusals checks that Create says that nothing was made only if that is so, and not when
// nobody knows, because its answer did not come, or its context has ended.
func (m *manners) refusals() *finding {
	before := m.known()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if broken := m.refusal(ended, before, "with a context that has ended", func() {}); broken != nil {
		return broken
	}
	s, ok := m.suite.Probe.(Silencer)
	if !ok {
		return nil
	}
	end := m.hampers("Probe.Silence", s.Silence)
	if end == nil {
		return nil // the probe is to blame
	}

	return m.refusal(context.Background(), before, "while no answer of the external system comes", end)
}

// refusal creates for another object, ends what is wrong, and compares what was said with
// what was made.
func (m *manners) refusal(ctx context.Context, before []string, when string, end func()) *finding {
	mg := m.stored(m.sample)
	m.names[mg.GetUID()] = "another object"
	err := m.call(mg, func(c managed.ExternalClient) error {
		return c.Create(managed.ContextWithCreationToken(ctx, string(mg.GetUID())+"-0001"), mg)
	})
	end()
	made := func() bool {
		m.ledger.look(mg.GetUID())

		return len(m.ledger.Of(mg.GetUID())) > 0
	}
	hides := !refused(err) && m.hides(err)
	late := m.ledger.delay > 0 && err != nil // or what shows late would be taken for that of another call
	var broken *finding
	if (refused(err) || hides || late) && m.eventually(made) {
		switch {
		case refused(err):
			broken = m.say("refusal-is-true", "%s, %s", when, refusalOf(mg, m.ledger.Of(mg.GetUID()), err))
		case hides && ctx.Err() == nil: // of a context that has ended the reconciler knows
			broken = m.say("create-errors-tell", "%s, Create of %s made %v, and returned an error that does not say so: wrap the error of the request, or return external.MaybeCreated: %v",
				when, mg.GetName(), m.ledger.Of(mg.GetUID()), err)
		}
	}
	m.clean(before)

	return broken
}

// hides says whether the reconciler takes an error of Create for a failure, although the client
// does not mark it.
func (m *manners) hides(err error) bool {
	return err != nil && m.suite.Class == Opaque && !external.IsAlreadyExists(err) && external.EffectOf(err) != external.EffectPossible
}

func refusalOf(mg resource.Managed, made []string, err error) string {
	slices.Sort(made)

	return fmt.Sprintf("Create of %s made %v, and says by external.NotCreated that it made nothing: %v", mg.GetName(), made, err)
}
