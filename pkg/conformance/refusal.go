package conformance

import (
	"context"
	"runtime"
	"time"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Protector is a Probe that can make the external system refuse to delete a resource.
type Protector interface {
	// Protect lets the external system refuse to delete a resource, as it does while the resource is in use, until the
	// returned function end is called. Other requests work. Calls of the Probe work, too, except Remove of the resource.
	Protect(ctx context.Context, id string) (end func(context.Context) error, err error)
}

// checkRefusedDelete checks that Deletes that the external system refuses use up nothing that later calls need, such as
// connections of a pool.
func (m *directChecks) checkRefusedDelete() *finding {
	p, ok := m.suite.Probe.(Protector)
	if !ok || m.sample != m.suite.Samples[0] {
		return nil
	}
	mg := clone(m.mg)
	setDeleted(mg)
	end := m.disturb("Probe.Protect", func(ctx context.Context) (func(context.Context) error, error) {
		return p.Protect(ctx, meta.GetExternalName(mg))
	})
	if end == nil {
		return nil // the probe failed
	}
	failed := m.deleteInVain(clone(mg))
	if end(); m.host.stopped() {
		return nil
	}
	for range 2 { // a busy machine may be slow once
		if late, _ := m.timedDelete(clone(mg)); !late || m.host.stopped() {
			return nil
		}
	}

	return m.finding("calls-return", "after %d calls of Delete of %s that the external system refused, Delete does not "+
		"return before its deadline, although it is no longer refused: a call that fails has to give back what it took, "+
		"such as a connection of a pool", failed, mg.GetName())
}

// vainTime is the time during which refused calls are started. A pool of usual size is used up before.
const vainTime = 20 * time.Second

// vainCalls returns the number of calls that use up a pool of a usual size, on a machine with a number of processors.
// Some pools have four or ten connections per processor, others have ten to thirty on any machine.
func vainCalls(processors int) int { return max(10*processors, 30) + 2 }

// deleteInVain calls Delete often enough to use up a pool of usual size. It returns how many calls failed. An external
// system may take seconds to refuse a deletion: a call that ends with its deadline has to give back what it took, too.
func (m *directChecks) deleteInVain(mg resource.Managed) (failed int) {
	defer m.shorten(min(m.host.limit, 4*shortest))()
	slow := 0
	for began := time.Now(); failed < vainCalls(runtime.GOMAXPROCS(0)) && time.Since(began) < vainTime; failed++ {
		late, err := m.timedDelete(clone(mg))
		if err == nil || m.host.stopped() { // the external system may only note the deletion
			break
		}
		if late {
			slow++
			if slow == 3 { // no answer comes before the deadline
				defer m.shorten(shortest)()
			}
		}
	}

	return failed
}

// timedDelete calls Delete, and reports whether it has failed after its deadline.
func (m *directChecks) timedDelete(mg resource.Managed) (late bool, err error) {
	began := time.Now()
	err = m.callDelete(mg)

	return err != nil && m.host.lastReturn.Sub(began) >= m.host.limit, err
}
