package conformance

import (
	"context"
	"time"
)

// Figures of checkPromptness.
const (
	promptTries = 3
	promptTick  = 10 * time.Millisecond
	promptTicks = 100 // that are too many
)

// checkPromptness checks that Observe returns at once if its context has ended before the call: a sleep, or a request
// without the context, takes its time. The least of several calls counts, and only time in which this process runs.
func (m *directChecks) checkPromptness() *finding {
	for range promptTries {
		if m.ticksOfObserve() < promptTicks || m.host.stopped() {
			return nil
		}
	}

	return m.finding("calls-return", "with a context that has ended before the call, Observe of %s takes more than %s "+
		"each time: it has to end when its context does, so pass the context of the call to each request, and do not sleep",
		m.mg.GetName(), promptTicks*promptTick)
}

// ticksOfObserve calls Observe with a context that has ended, and returns how many ticks the call took. A process that
// gets no processor time misses ticks.
func (m *directChecks) ticksOfObserve() (ticks int) {
	_ = m.host.call(context.Background(), "Observe of "+m.mg.GetName(), func(ctx context.Context) error {
		mg := clone(m.mg)
		c, err := m.recorder.connecter.Connect(ctx, mg)
		if err != nil || isNil(c) {
			return err
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ticker := time.NewTicker(promptTick)
		defer ticker.Stop()
		stop, counted := make(chan struct{}), make(chan int, 1)
		go func() {
			n := 0
			for {
				select {
				case <-ticker.C:
					n++
				case <-stop:
					counted <- n

					return
				}
			}
		}()
		defer func() {
			close(stop)
			ticks = <-counted
		}()
		_, err = c.Observe(ended, mg)

		return err
	})

	return ticks
}
