package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// directChecks checks a client without a reconciler and without faults, with one object.
type directChecks struct {
	*runner

	recorder *recorder
	mg       resource.Managed
	sample   resource.Managed
	token    string
	before   []string // the resources that are not of the suite
}

// runDirectChecks runs the direct checks for every sample, until one has a finding. Those that wait for the patience of
// the suite come last.
func (k *runner) runDirectChecks() {
	before := k.resourceIDs()
	var checks []*directChecks
	for _, sample := range k.suite.Samples {
		m := k.newDirectChecks(k.newRecorder(), sample, before)
		checks = append(checks, m)
		m.run(
			m.checkConnect, m.checkAbsent, m.checkExactNames, m.checkCreate, m.checkCreatedObserved,
			m.checkObserveStable, m.checkCancelledContext, m.checkPromptness, m.checkBroken, m.checkInterruptedObserve,
			m.checkMisrouted, m.checkIndependentCalls, m.checkOwner, m.checkRepeatedCreate, m.checkRecoverCreation,
			m.checkMutations, m.checkUnmanaged, m.checkDrift, m.checkRefusedDelete, m.checkDelete,
		)
		if k.stopped() {
			return
		}
	}
	if k.runTogether(); k.stopped() {
		return
	}
	for _, m := range checks {
		m.run(m.checkNotCreated, m.checkMisroutedChanges, m.checkBrokenChanges, m.checkInterrupted)
		if k.stopped() {
			return
		}
	}
}

// newDirectChecks returns the direct checks of a sample in a process.
func (k *runner) newDirectChecks(process *recorder, sample resource.Managed, before []string) *directChecks {
	m := &directChecks{runner: k, recorder: process, mg: k.stored(sample), sample: sample, before: before}
	m.recorder.publisher = k.direct
	m.token = string(m.mg.GetUID()) + "-0001"

	return m
}

// run runs checks until one has a finding, and removes what they have made.
func (m *directChecks) run(checks ...func() *finding) {
	for _, check := range checks {
		f := check()
		if m.host.stopped() { // the cause of any finding of this check
			break
		}
		if f != nil {
			m.addFinding(f.property, f.text)

			break
		}
	}
	m.cleanUp(m.before)
	m.ledger.reset()
}

// finding returns a finding.
func (m *directChecks) finding(property, format string, args ...any) *finding {
	return &finding{property: property, text: fmt.Sprintf(format, args...)}
}

// call connects and makes one call.
func (m *directChecks) call(mg resource.Managed, do func(managed.ExternalClient) error) error {
	c, err := m.recorder.Connect(context.Background(), mg)
	if err != nil {
		return errors.Wrap(err, "cannot connect")
	}

	return do(c)
}

// callDelete calls Delete over a new connection.
func (m *directChecks) callDelete(mg resource.Managed) error {
	return m.call(mg, func(c managed.ExternalClient) error { return c.Delete(context.Background(), mg) })
}

// callUpdate calls Update over a new connection.
func (m *directChecks) callUpdate(mg resource.Managed) error {
	return m.call(mg, func(c managed.ExternalClient) error { return c.Update(context.Background(), mg) })
}

// publishFirst observes an object that names a connection Secret, so that its details are published before Update.
func (m *directChecks) publishFirst(mg resource.Managed) {
	if secretOf(mg) != "" {
		_, _ = m.observe(context.Background(), mg)
	}
}

// checkConnect checks that Connect succeeds, that the client has the methods that the class needs, and that its
// identity is stable.
func (m *directChecks) checkConnect() *finding {
	c, err := m.recorder.Connect(context.Background(), m.mg)
	if err != nil {
		return m.finding("connects", "Connect of %s fails: %v", m.mg.GetName(), err)
	}
	if _, finds := c.(managed.CreationRecoverer); m.class == Findable && !finds {
		return m.finding("class-is-kept", "Suite.Class is %q, and the client is no managed.CreationRecoverer", m.class)
	}
	if first, ok := c.(managed.BackendIdentifier); ok {
		c, err = m.recorder.Connect(context.Background(), m.mg)
		second, ok := c.(managed.BackendIdentifier)
		if err != nil || !ok || second.Identity() != first.Identity() {
			return m.finding(
				"backend-is-told", "two connections for %s tell different identities, or one of them none",
				m.mg.GetName())
		}
	}

	return nil
}

// observe calls Observe over a new connection, as each reconcile does.
func (m *directChecks) observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	c, err := m.recorder.Connect(context.Background(), mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	return c.Observe(ctx, mg)
}

// checkAbsent checks that Observe reports, without an error, that the resource does not exist before its creation.
func (m *directChecks) checkAbsent() *finding {
	o, err := m.observe(context.Background(), m.mg)
	_, listed := m.ledger.existing[meta.GetExternalName(m.mg)]
	switch {
	case err != nil:
		return m.finding("absent-is-no-error", "before anything is created, Observe of %s fails: %v", m.mg.GetName(),
			err)
	case o.ResourceExists && listed:
		return m.finding(
			"suite-is-complete", "the resource of %s exists before the suite begins: remove it, or give a sample another name",
			m.mg.GetName())
	case listed:
		return m.finding(
			"probe-tells-the-truth", "the probe lists %q before it is created, and Observe says that it does not exist",
			meta.GetExternalName(m.mg))
	case o.ResourceExists:
		return m.finding(
			"unknown-is-not-absent",
			"before anything is created, Observe of %s says that its resource exists, and the probe does not list it",
			m.mg.GetName())
	}
	if m.class != Named {
		return nil
	}
	if err := m.callDelete(clone(m.mg)); err != nil {
		return m.finding("delete-is-idempotent", "before anything is created, Delete of %s fails: %v",
			m.mg.GetName(), err)
	}

	return nil
}

// callCreate calls Create with a creation token, over a new connection. If Create starts an operation, it waits for its
// end.
func (m *directChecks) callCreate(mg resource.Managed, token string) error {
	ctx := managed.ContextWithCreationToken(context.Background(), token)

	return m.await(mg, m.call(mg, func(c managed.ExternalClient) error { return c.Create(ctx, mg) }))
}

// await follows the operation that err of a Create reports, as the reconciler does: it calls Observe with the handle of
// the operation. It returns nil when the operation has ended, and the error of Observe if that fails otherwise. If the
// operation does not end within the patience of the suite, or err reports none, it returns err.
func (m *directChecks) await(mg resource.Managed, err error) error {
	m.eventually(func() bool {
		o, inProgress := external.AsInProgress(err)
		if inProgress {
			_, err = m.observe(external.WithOperationHandle(context.Background(), o.Handle), mg)
			_, inProgress = external.AsInProgress(err)
		}

		return !inProgress
	})

	return err
}

// checkCreate checks that Create creates exactly one resource and sets the external name.
func (m *directChecks) checkCreate() *finding {
	chosen, before, began := meta.GetExternalName(m.mg), m.resourceIDs(), m.ledger.activeTime()
	if err := m.callCreate(m.mg, m.token); err != nil {
		return m.finding("created-is-seen", "Create of %s fails: %v", m.mg.GetName(), err)
	}
	name := meta.GetExternalName(m.mg)
	switch {
	case name == "":
		return m.finding(
			"created-is-seen",
			"Create of %s left no external name: nothing says which resource is the object's once the process has died",
			m.mg.GetName())
	case m.class == Named && name != chosen:
		return m.finding(
			"class-is-kept", "Suite.Class is %q, and Create of %s replaced the external name %q by %q", m.class,
			m.mg.GetName(),
			chosen, name)
	}
	var made []string
	listed := m.eventually(func() bool {
		m.ledger.refresh(m.mg.GetUID())
		made = slices.DeleteFunc(m.resourceIDs(), func(id string) bool { return slices.Contains(before, id) })

		return len(made) > 0
	})
	m.ledger.noteChange(began)
	switch {
	case !listed:
		if o, err := m.observe(context.Background(), m.mg); err == nil && o.ResourceExists {
			return m.finding(
				"probe-tells-the-truth", "Create of %s made a resource that Observe finds, and the probe does not list it",
				m.mg.GetName())
		}

		return m.finding(
			"created-is-seen", "Create of %s returns no error, and neither Observe nor the probe shows a resource",
			m.mg.GetName())
	case len(made) > 1:
		return m.finding("at-most-one", "Create of %s made %d resources: %v", m.mg.GetName(), len(made), made)
	case made[0] != name:
		return m.finding("created-is-seen", "Create of %s left the external name %q, and the probe lists what was made "+
			"by the ID %q. If %q is its name in the external system, Create has to set the external name to it. If %q is, "+
			"Probe.List has to return that as the ID", m.mg.GetName(), name, made[0], made[0], name)
	}

	return nil
}

// checkCreatedObserved checks that Observe finds the created resource. It stores the initial state of the resource.
func (m *directChecks) checkCreatedObserved() *finding {
	var o managed.ExternalObservation
	var err error
	exists := func() bool {
		o, err = m.observe(context.Background(), m.mg)

		return err == nil && o.ResourceExists
	}
	if !m.eventually(exists) {
		if err != nil {
			return m.finding("created-is-seen", "after Create, Observe of %s fails: %v", m.mg.GetName(), err)
		}

		return m.finding("created-is-seen", "after Create, Observe of %s goes on to say that nothing exists",
			m.mg.GetName())
	}
	if !o.ResourceUpToDate {
		if failure := m.update(m.mg, nil, ", which was just created,"); failure != nil {
			return failure
		}
	}
	m.ledger.refresh(m.mg.GetUID())
	m.initialState[m.sample.GetName()] = m.mutableState(m.ledger.existing[meta.GetExternalName(m.mg)])

	return nil
}

// update calls Update until Observe reports that the resource is up to date, at most three times. If it never does, the
// finding compares the resource with the wanted fields.
func (m *directChecks) update(mg resource.Managed, want wantedFields, what string) *finding {
	var o managed.ExternalObservation
	for range 3 {
		m.publishFirst(mg)
		began := m.ledger.activeTime()
		if err := m.callUpdate(mg); err != nil {
			return m.finding("update-converges", "Update of %s fails: %v", mg.GetName(), err)
		}
		upToDate := func() bool {
			var err error
			o, err = m.observe(context.Background(), mg)

			return err == nil && o.ResourceExists && o.ResourceUpToDate
		}
		if m.eventually(upToDate) {
			m.ledger.noteChange(began)

			return nil
		}
	}

	m.ledger.refresh(mg.GetUID())
	why := "The probe shows all that is wanted: compare only what Update sets"
	if mismatch := describeMismatch(m.ledger.existing[meta.GetExternalName(mg)], want); mismatch != "" {
		why = "By the probe, " + mismatch + ": does Update send that field?"
	}
	if o.Diff != "" {
		why += ". The difference by Observe: " + o.Diff
	}

	return m.finding("update-converges",
		"after three Updates, Observe of %s%s says that its resource is not up to date. %s", mg.GetName(), what, why)
}

// checkCancelledContext checks that Observe does not report absence if its context is canceled.
func (m *directChecks) checkCancelledContext() *finding {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o, err := m.observe(ctx, clone(m.mg)); err == nil && !o.ResourceExists {
		return m.finding(
			"unknown-is-not-absent", "with a context that has ended, Observe of %s says that nothing exists, without an error",
			m.mg.GetName())
	}

	return nil
}

// checkBroken checks that Observe does not report absence while the external system is unavailable.
func (m *directChecks) checkBroken() *finding {
	b, ok := m.suite.Probe.(Breaker)
	if !ok {
		return nil
	}
	mend := m.breakSystem(b)
	if mend == nil {
		return nil // the probe failed
	}
	o, err := m.observe(context.Background(), clone(m.mg))
	mend()
	if err == nil && !o.ResourceExists {
		return m.finding(
			"unknown-is-not-absent",
			"while the external system is broken, Observe of %s says that nothing exists, without an error",
			m.mg.GetName())
	}

	return m.checkRecovered()
}

// checkRecovered checks that Observe succeeds again after the external system has recovered.
func (m *directChecks) checkRecovered() *finding {
	var err error
	works := func() bool { _, err = m.observe(context.Background(), clone(m.mg)); return err == nil }
	if !m.eventually(works) {
		return m.finding("converges", "after the external system was mended, Observe of %s fails: %v",
			m.mg.GetName(), err)
	}

	return nil
}

// checkDelete checks that Delete removes the resource and that a second Delete succeeds.
func (m *directChecks) checkDelete() *finding {
	setDeleted(m.mg)
	began := m.ledger.activeTime()
	if err := m.callDelete(m.mg); err != nil {
		return m.finding("deleted-is-gone", "Delete of %s fails: %v", m.mg.GetName(), err)
	}
	var o managed.ExternalObservation
	var err error
	gone := func() bool {
		o, err = m.observe(context.Background(), m.mg)

		return err == nil && !o.ResourceExists
	}
	if !m.eventually(gone) {
		return m.finding(
			"deleted-is-gone", "after Delete, Observe of %s says %s", m.mg.GetName(), describeObservation(o, err))
	}
	unlisted := func() bool {
		m.ledger.refresh(m.mg.GetUID())

		return len(m.ledger.Of(m.mg.GetUID())) == 0
	}
	if !m.eventually(unlisted) {
		return m.finding(
			"deleted-is-gone", "after Delete, Observe of %s says that nothing exists, and the probe lists %q",
			m.mg.GetName(),
			meta.GetExternalName(m.mg))
	}
	m.ledger.noteChange(began)
	if err := m.callDelete(m.mg); err != nil {
		return m.finding("delete-is-idempotent", "a second Delete of %s fails: %v", m.mg.GetName(), err)
	}

	return nil
}
