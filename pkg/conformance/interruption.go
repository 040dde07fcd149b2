package conformance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// maxExchanges is the number of exchanges of one call at which the suite interrupts it.
const maxExchanges = 8

// A callAt is the n-th call with a name in a run.
type callAt struct {
	name string
	n    int
}

// A cut is an interruption of one call. It is written as, for instance, Create#1:answer-lost-2 or
// Create#1:request-lost-3.
type cut struct {
	callAt

	exchange int  // that does not end
	request  bool // its request does not reach the external system; otherwise its answer is lost
}

// Texts of cuts in a schedule.
const (
	answerLost  = "answer-lost-"
	requestLost = "request-lost-"
)

// String returns the text of the cut in a schedule.
func (c cut) String() string {
	kind := answerLost
	if c.request {
		kind = requestLost
	}

	return fmt.Sprintf("%s#%d:%s%d", c.name, c.n, kind, c.exchange)
}

// while describes the cut for a message.
func (c cut) while() string {
	if c.request {
		return fmt.Sprintf("while the connection breaks before its request %d", c.exchange)
	}

	return fmt.Sprintf("while the answer to its request %d is lost", c.exchange)
}

// happened describes the cut, after which the process has died or not, for a message.
func (c cut) happened(died bool) string {
	text := fmt.Sprintf("the answer to request %d of %s was lost", c.exchange, c.name)
	if c.request {
		text = fmt.Sprintf("the connection broke before request %d of %s", c.exchange, c.name)
	}
	if died {
		text += ", and the process died"
	}

	return text + ": whatever a " + c.name + " of several requests leaves half done, the next calls have to recognize " +
		"and complete"
}

// interruption returns the Interruption that the cut needs.
func (c cut) interruption() Interruption {
	if c.request {
		return Interruption{Exchange: c.exchange - 1, Answered: true}
	}

	return Interruption{Exchange: c.exchange}
}

// parseCut returns the cut in the text of a schedule, or nil, and the text without it.
func parseCut(text string) (*cut, string, error) {
	var found *cut
	var rest []string
	for _, word := range strings.Fields(text) {
		call, kind, ok := strings.Cut(word, ":")
		number, isAnswer := strings.CutPrefix(kind, answerLost)
		isRequest := false
		if !isAnswer {
			number, isRequest = strings.CutPrefix(kind, requestLost)
		}
		if !ok || !isAnswer && !isRequest {
			rest = append(rest, word)

			continue
		}
		name, at, _ := strings.Cut(call, "#")
		n, err1 := strconv.Atoi(at)
		exchange, err2 := strconv.Atoi(number)
		if err1 != nil || err2 != nil || exchange < 1 || isRequest && exchange < 2 {
			return nil, "", errors.Errorf(
				"%q is not operation#n:answer-lost-exchange or operation#n:request-lost-exchange", word)
		}
		found = &cut{callAt{name, n}, exchange, isRequest}
	}

	return found, strings.Join(rest, " "), nil
}

// A wire counts the exchanges of calls, and interrupts one call. Without an Interrupter it does nothing.
type wire struct {
	interrupter Interrupter
	calls       map[string]int // in this run
	exchanges   map[callAt]int // of the calls of this run
	most        map[string]int // exchanges of undisturbed calls, by name
	learning    bool           // calls are undisturbed
	interrupted bool           // an interruption is in effect: what a call leaves is not settled yet
	cut         *cut           // of this run
	ended       int            // exchanges when the last call ended
	patience    time.Duration  // how long requests that outlive their call are waited for
	waited      time.Duration  // for them, in total
}

// newWire returns a wire for a probe. It waits for pending requests as long as patience.
func newWire(p Probe, patience time.Duration) *wire {
	w := &wire{most: map[string]int{}, learning: true, patience: patience}
	w.interrupter, _ = p.(Interrupter)
	w.reset(nil)

	return w
}

// reset begins a run, in which the cut interrupts a call. The cut may be nil.
func (w *wire) reset(c *cut) {
	w.calls, w.exchanges, w.cut = map[string]int{}, map[callAt]int{}, c
}

// begin begins a call. The returned function ends it.
func (w *wire) begin(h *host, name string) (end func()) {
	if w.interrupter == nil {
		return func() {}
	}
	w.calls[name]++
	at := callAt{name, w.calls[name]}
	before, stop := w.count(h), func() {}
	if w.cut != nil && w.cut.callAt == at {
		stop = w.interrupt(h, w.cut.interruption())
	}

	return func() {
		stop()
		w.awaitPending(h)
		w.exchanges[at] = w.count(h) - before
		if w.learning {
			w.most[name] = max(w.most[name], w.exchanges[at])
		}
	}
}

// A requestTracker is an Interrupter that knows which requests the external system has not answered, such as a Proxy.
type requestTracker interface {
	pending() bool
	noteUnanswered()
}

// awaitPending waits until the external system has answered the requests that have outlived their call, so that their
// effects are not attributed to the next call. It knows of them only with a FaultProxy. It waits in real time.
func (w *wire) awaitPending(h *host) {
	p, knows := w.interrupter.(requestTracker)
	if !knows || w.interrupted || !p.pending() {
		return
	}
	start := time.Now()
	defer func() { w.waited += time.Since(start) }()
	_ = h.callFor(context.Background(), h.limit+w.patience, "waiting", func(context.Context) error {
		for began := time.Now(); p.pending(); <-time.After(time.Millisecond) {
			if time.Since(began) >= w.patience {
				p.noteUnanswered()

				break
			}
		}

		return nil
	})
}

// isActive reports whether there were exchanges since the last call ended: of a request that has outlived its call.
func (w *wire) isActive(h *host) bool { return w.interrupter != nil && w.count(h) != w.ended }

// endCall notes that a call has ended.
func (w *wire) endCall(h *host) {
	if w.interrupter != nil {
		w.ended = w.count(h)
	}
}

// count returns the number of exchanges so far.
func (w *wire) count(h *host) int {
	n := 0
	_ = h.callProbeOnce("Probe.Exchanges", func(context.Context) error {
		n = w.interrupter.Exchanges()

		return nil
	})

	return n
}

// interrupt starts an interruption. It returns the function that ends the interruption.
func (w *wire) interrupt(h *host, i Interruption) (end func()) {
	w.learning, w.interrupted = false, true
	var heal func(context.Context) error
	err := h.callProbeOnce("Probe.Interrupt", func(ctx context.Context) (err error) {
		heal, err = w.interrupter.Interrupt(ctx, i)

		return err
	})
	if err != nil || heal == nil {
		w.interrupted = false
		_ = h.giveUpProbe("Probe.Interrupt does not return how to end it: "+errorText(err), err)

		return func() {}
	}

	return func() {
		w.learning, w.interrupted = true, false
		if err := h.callProbeOnce("what Probe.Interrupt returned", heal); err != nil && !h.stopped() {
			_ = h.giveUpProbe("what Probe.Interrupt returned fails: "+err.Error(), err)
		}
		w.awaitPending(h)
	}
}

// A cutSchedule is a cut with the faults that follow it.
type cutSchedule struct {
	cut    cut
	faults []sim.Fault
}

// cutSchedules returns the schedules for a call of a scenario with a number of exchanges. The process dies after each
// exchange, or the client loses its connection there.
func cutSchedules(at callAt, exchanges int) []cutSchedule {
	var out []cutSchedule
	dies := []sim.Fault{{Op: at.name, N: at.n, Kind: sim.CrashAfter}}
	for n := 1; n <= min(exchanges, maxExchanges); n++ {
		lost := cut{callAt: at, exchange: n}
		out = append(out, cutSchedule{lost, dies}, cutSchedule{lost, nil})
		if n > 1 {
			out = append(out, cutSchedule{cut{at, n, true}, nil})
		}
	}

	return out
}

// runInterrupted runs scenarios with the interruptions of their calls. Each call is interrupted in one scenario.
func (k *runner) runInterrupted(scenarios []passed) {
	if k.ledger.wire.interrupter == nil {
		return
	}
	began := time.Now()
	defer func() { k.noteTime("interruptions of calls", began) }()
	k.faultsUntil = began.Add(k.suite.Within)
	for _, of := range scenarios {
		at := callAt{map[string]string{"create": "Create", "delete": "Delete"}[of.name], 1}
		if strings.HasPrefix(of.name, "update-") {
			at.name = "Update"
		}
		failed := 0
		for _, s := range cutSchedules(at, of.exchanges[at]) {
			if k.leaveOut(failed) {
				continue
			}
			if r := k.runAndCollect(of.scenario, k.suite.Samples[0], s.faults, &s.cut); len(r.Violations) > 0 {
				failed++
			}
			if k.host.stopped() {
				return
			}
		}
	}
}

// checkInterrupted checks, with other objects, that each call returns when its context ends, wherever in the call the
// answer of the external system does not come. It also checks that a change is not reported as done if it is not.
func (m *directChecks) checkInterrupted() *finding {
	if m.ledger.wire.interrupter == nil || m.sample != m.suite.Samples[0] {
		return nil
	}
	m.cleanUp(m.before)
	for _, name := range []string{"Observe", "Create", "Update", "Delete"} {
		for n := 1; n <= min(m.ledger.wire.most[name], maxExchanges/2); n++ {
			if failure := m.checkHanging(name, n); failure != nil || m.host.stopped() {
				return failure
			}
		}
	}

	return nil
}

// checkHanging makes a call whose n-th answer does not come.
func (m *directChecks) checkHanging(name string, n int) *finding {
	defer m.cleanUp(m.before)
	mg := m.stored(m.sample)
	token := string(mg.GetUID()) + "-0001"
	m.names[mg.GetUID()] = "another object"
	if name != "Create" {
		if err := m.callCreate(mg, token); err != nil {
			return m.finding("created-is-seen", "Create of %s fails: %v", mg.GetUID(), err)
		}
	}
	call, done := m.hangingCall(name, mg, token)
	if call == nil {
		return nil
	}
	end, before := m.hang(n), m.ledger.changes
	err := call()
	end()
	if m.host.stopped() {
		return nil
	}
	if failure := m.checkRecovered(); failure != nil { // a pool may have connections that were reset
		return failure
	}
	if err != nil && name != "Observe" { // the external system may finish the change: that is no effect of the next call
		m.settle(mg, func() bool {
			m.ledger.refresh(mg.GetUID())

			return m.ledger.changes != before
		})
	}
	if m.host.stopped() || err != nil || name == "Observe" {
		return nil
	}
	why := ""
	if m.eventually(func() bool { why = done(); return why == "" }) {
		return nil
	}

	return m.finding("refused-is-told", "while the answer to its request %d does not come, %s of %s returns no error, "+
		"and then %s: return the error of each request", n, name, mg.GetUID(), why)
}

// hangingCall returns the call with the name, and a function that says why the change of the call is not done. It
// returns nil if the suite has no sample for the call.
func (m *directChecks) hangingCall(name string, mg resource.Managed, token string) (func() error, func() string) {
	seen := func(want func(exists, upToDate bool) bool) func() string {
		return func() string {
			o, err := m.observe(context.Background(), mg)
			if err == nil && want(o.ResourceExists, o.ResourceUpToDate) {
				return ""
			}

			return "Observe says " + describeObservation(o, err)
		}
	}
	switch name {
	case "Create":
		return func() error { return m.callCreate(mg, token) }, seen(func(exists, _ bool) bool { return exists })
	case "Update":
		mutation := m.firstMutation()
		if mutation == nil {
			return nil, nil
		}
		setSpec(mg, mutated(m.sample, *mutation))
		mg.SetGeneration(mg.GetGeneration() + 1)
		m.publishFirst(mg)

		return func() error { return m.callUpdate(mg) }, seen(func(_, upToDate bool) bool { return upToDate })
	case "Delete":
		setDeleted(mg)

		return func() error { return m.callDelete(mg) }, seen(func(exists, _ bool) bool { return !exists })
	default:
		return func() error { _, err := m.observe(context.Background(), mg); return err }, nil
	}
}
