package changelog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

var (
	_ manager.Runnable               = &Queue{}
	_ manager.LeaderElectionRunnable = &Queue{}
)

// memory is a sink and a logger that keeps entries and messages.
type memory struct {
	mu    sync.Mutex
	names []string
	logs  []string
	text  string
}

func (m *memory) Record(_ context.Context, e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.names = append(m.names, e.Name)
	m.text += fmt.Sprintf("%+v %s %s", e, e.Before, e.After)

	return nil
}

func (m *memory) Info(msg string, kv ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.logs = append(m.logs, msg+" "+fmt.Sprint(kv...))
}

func (m *memory) Debug(string, ...any)             {}
func (m *memory) WithValues(...any) logging.Logger { return m }

func (m *memory) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()

	return append([]string{}, m.names...)
}

func (m *memory) logged() []string {
	m.mu.Lock()
	defer m.mu.Unlock()

	return append([]string{}, m.logs...)
}

// running starts the queue. The returned function stops it, and returns how long
// that took.
func running(t *testing.T, q *Queue) func() time.Duration {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() { ended <- q.Start(ctx) }()

	return func() time.Duration {
		began := time.Now()

		cancel()

		if err := <-ended; err != nil {
			t.Errorf("Start(...) = %v", err)
		}

		return time.Since(began)
	}
}

func tell(t *testing.T, q *Queue, names ...string) {
	t.Helper()

	began := time.Now()
	for _, n := range names {
		if err := q.Record(t.Context(), entry(n)); err != nil {
			t.Errorf("Record(...) = %v, want nil always", err)
		}
	}

	if d := time.Since(began); d > 0 {
		t.Errorf("Record(...) waited for %s", d)
	}
}

func check(t *testing.T, m *memory, q *Queue, names []string, dropped uint64) {
	t.Helper()

	if diff := cmp.Diff(names, m.got()); diff != "" {
		t.Errorf("Entries: -want, +got:\n%s", diff)
	}

	if got := q.Dropped(); got != dropped {
		t.Errorf("Dropped() = %d, want %d", got, dropped)
	}
}

func TestQueueHandsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		q := NewQueue(m)

		tell(t, q, "early")

		stop := running(t, q)
		tell(t, q, "a", "b")
		synctest.Wait()
		check(t, m, q, []string{"early", "a", "b"}, 0)

		if d := stop(); d > 0 {
			t.Errorf("It took %s to stop with nothing to do", d)
		}

		tell(t, q, "late")
		check(t, m, q, []string{"early", "a", "b"}, 1)

		if err := q.Start(t.Context()); err == nil {
			t.Error("A queue started twice")
		}

		if q.NeedLeaderElection() {
			t.Error("A queue must outlive the controllers that elected a leader")
		}
	})
}

func TestQueueDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		q := NewQueue(SinkFunc(func(ctx context.Context, e Entry) error {
			select {
			case <-time.After(4 * time.Second):
				return m.Record(ctx, e)
			case <-ctx.Done():
				return ctx.Err()
			}
		}), WithLogger(m))

		stop := running(t, q)
		tell(t, q, "a", "b", "c", "d")
		synctest.Wait()

		if d := stop(); d != defaultDrainTimeout {
			t.Errorf("It took %s to stop, want %s", d, defaultDrainTimeout)
		}

		synctest.Wait()
		check(t, m, q, []string{"a", "b"}, 2)
	})
}

func TestQueueBeforeABlockedSink(t *testing.T) {
	for name, heeds := range map[string]bool{"Heeds": true, "Deaf": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &memory{}
				release := make(chan struct{})
				q := NewQueue(SinkFunc(func(ctx context.Context, e Entry) error {
					if heeds {
						<-ctx.Done()

						return ctx.Err()
					}

					<-release

					return m.Record(ctx, e)
				}), WithBuffer(2), WithLogger(m))

				stop := running(t, q)
				tell(t, q, "inHand")
				synctest.Wait()
				tell(t, q, "a", "b", "c", "d", "e")

				if got := q.Dropped(); got != 3 {
					t.Errorf("Dropped() = %d, want what did not fit, 3", got)
				}

				<-time.After(25 * time.Second)

				if got, want := q.Dropped(), map[bool]uint64{true: 5, false: 3}[heeds]; got != want {
					t.Errorf("Dropped() = %d after two timeouts, want %d", got, want)
				}

				if d := stop(); d > defaultDrainTimeout {
					t.Errorf("It took %s to stop", d)
				}

				close(release)
				synctest.Wait()

				if got, want := q.Dropped(), map[bool]uint64{true: 6, false: 5}[heeds]; got != want {
					t.Errorf("Dropped() = %d in the end, want %d", got, want)
				}
			})
		})
	}
}

func TestQueueBeforeAFailingSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		q := NewQueue(SinkFunc(func(ctx context.Context, e Entry) error {
			switch {
			case strings.HasPrefix(e.Name, "fail"):
				return errors.New("cannot dial nats://bob:" + canary + "@h")
			case strings.HasPrefix(e.Name, "panic"):
				panic("token=" + canary)
			default:
				return m.Record(ctx, e)
			}
		}), WithLogger(m))

		stop := running(t, q)
		tell(t, q, "fail", "panic", "ok", "fail", "panic")
		synctest.Wait()
		check(t, m, q, []string{"ok"}, 4)

		want := []string{"Entries of the change log were lost lost1lostInTotal1errorcannot dial nats://[REDACTED]@h"}
		if diff := cmp.Diff(want, m.logged()); diff != "" {
			t.Errorf("It is told once in a minute: -want, +got:\n%s", diff)
		}

		<-time.After(logInterval)
		tell(t, q, "panic")
		synctest.Wait()

		want = append(want, "Entries of the change log were lost lost4lostInTotal5errorsink of change log entries "+
			"panicked: token=[REDACTED]")
		if diff := cmp.Diff(want, m.logged()); diff != "" {
			t.Errorf("A minute later: -want, +got:\n%s", diff)
		}

		tell(t, q, "fail")
		stop()

		want = append(want, "Entries of the change log were lost lost1lostInTotal6")
		if diff := cmp.Diff(want, m.logged()); diff != "" {
			t.Errorf("At the end: -want, +got:\n%s", diff)
		}
	})
}

func TestQueueHoldsNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		q := NewQueue(m)
		stop := running(t, q)

		e := leaky()
		if err := q.Record(t.Context(), e); err != nil {
			t.Error(err)
		}

		e.Details["region"] = "changed by the caller afterwards"

		stop()
		checkClean(t, m.text)

		if strings.Contains(m.text, "afterwards") {
			t.Error("The queue shares a map with its caller")
		}
	})
}

func TestQueueTakesFromMany(t *testing.T) {
	m := &memory{}
	q := NewQueue(m, WithBuffer(10))
	stop := running(t, q)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := q.Record(t.Context(), entry("a")); err != nil {
					t.Error(err)
				}
			}
		})
	}

	wg.Wait()
	stop()

	if got := uint64(len(m.got())) + q.Dropped(); got != 800 {
		t.Errorf("%d entries were handed on or counted, want 800", got)
	}
}

func TestCollector(t *testing.T) {
	q := NewQueue(&memory{}, WithBuffer(0))
	for range 3 {
		if err := q.Record(t.Context(), entry("a")); err != nil {
			t.Fatal(err)
		}
	}

	r := prometheus.NewRegistry()
	if err := r.Register(q.Collector()); err != nil {
		t.Fatal(err)
	}

	families, err := r.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}

	if name, value := families[0].GetName(), families[0].GetMetric()[0].GetCounter().
		GetValue(); name != "moorage_changelog_dropped_total" || value != 2 {
		t.Errorf("%s = %v, want 2", name, value)
	}
}
