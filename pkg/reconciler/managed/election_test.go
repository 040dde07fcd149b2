package managed_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A standby is the manager of a process that waits to become the leader.
type standby struct {
	*fake.Manager

	waiting []manager.Runnable
}

func (s *standby) Elected() <-chan struct{} { return make(chan struct{}) }

func (s *standby) Add(r manager.Runnable) error {
	s.waiting = append(s.waiting, r)

	return nil
}

// lead starts what waits to be elected.
func (s *standby) lead(t *testing.T) {
	t.Helper()
	for _, r := range s.waiting {
		if err := r.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// newStandby returns a reconciler in a process that waits while another one leads.
func (w *world) newStandby() (*managed.Reconciler, *standby) {
	m := &standby{Manager: w.m}

	return w.reconciler(m), m
}

// abandoned returns a world in which a process has waited for an hour, while the leader has created a disk for an
// object of which a replace took the record, and has ended.
func abandoned(t *testing.T) (*world, *managed.Reconciler, *standby) {
	t.Helper()
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.cloud.Window = 30 * time.Second
	next, m := w.newStandby()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.create(func(v *volume.Volume) { v.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second)) })
	w.cloud.After = lost()
	_, _ = w.try()
	w.cloud.After = nil
	w.change(func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, nil })
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.taken()
	w.cloud.Forget()

	return w, next, m
}

// TestWhatALeaderCreatedIsLookedUp verifies that creations of the former leader are looked up, whether the manager
// or the first pass reports the election.
func TestWhatALeaderCreatedIsLookedUp(t *testing.T) {
	for name, tells := range map[string]bool{"told by the manager": true, "known by the first pass": false} {
		t.Run(name, func(t *testing.T) {
			w, next, m := abandoned(t)
			if w.r = next; tells {
				m.lead(t)
			}
			w.pass()
			w.expect("patch, patch status", "Connect Observe Recover Observe", "")
			if n := len(w.cloud.Disks()); n != 1 {
				t.Errorf("%d disks", n)
			}
		})
	}
}

// TestTheWindowBeginsWithTheElection verifies that the recovery window is counted from the election: a create of
// the former leader may have been under way then.
func TestTheWindowBeginsWithTheElection(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.cloud.Window = 30 * time.Second
	w.create(func(v *volume.Volume) {
		v.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-time.Hour).Truncate(time.Second))
	})
	next, m := w.newStandby()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	m.lead(t)
	w.r = next
	w.clock.SetTime(w.clock.Now().Add(29 * time.Second))
	w.pass()
	w.condition("Synced", "Unknown/CreationPending")
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
}

// TestWhatIsYoungerThanTheElectionIsNotLookedUp verifies that an object that was created after the election is not
// looked up, at any time.
func TestWhatIsYoungerThanTheElectionIsNotLookedUp(t *testing.T) {
	w := newWorld(t)
	w.cloud.Window = 30 * time.Second
	next, m := w.newStandby()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	m.lead(t)
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.create(func(v *volume.Volume) { v.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second)) })
	w.r = next
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
}

// A lock is held by another process until it is free.
type lock struct {
	resourcelock.Interface

	mu   sync.Mutex
	free bool
	held *resourcelock.LeaderElectionRecord
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.held != nil:
		return l.held, []byte(l.held.RenewTime.String()), nil
	case l.free:
		return nil, nil, kerrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "it")
	default:
		now := metav1.Now()

		return &resourcelock.LeaderElectionRecord{
			HolderIdentity: "another", LeaseDurationSeconds: 15, RenewTime: now, AcquireTime: now,
		}, []byte(now.String()), nil
	}
}

func (l *lock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = &r

	return nil
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, r)
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return "me" }
func (l *lock) Describe() string   { return "a lock" }

// release lets another process become the leader.
func (l *lock) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = true
}

// A readyCache has informers that a test feeds.
type readyCache struct{ *informertest.FakeInformers }

func (readyCache) WaitForCacheSync(context.Context) bool { return true }

// TestTheManagerTellsOfTheElection verifies that an object that was created before the election counts as older
// than the process, with a manager of controller-runtime, with and without EnableWarmup.
func TestTheManagerTellsOfTheElection(t *testing.T) {
	for name, warm := range map[string]bool{"warm": true, "cold": false} {
		for name, age := range map[string]time.Duration{
			name + ", older": time.Minute, name + ", younger": -time.Minute,
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { elected(t, warm, age) })
			})
		}
	}
}

// elected runs a process that becomes the leader after an hour, and looks at an object that was created so long before.
func elected(t *testing.T, warm bool, age time.Duration) {
	t.Helper()
	w := newWorld(t)
	w.cloud.Window = 30 * time.Second
	informers := &informertest.FakeInformers{Scheme: w.API.Scheme()}
	events, err := informers.FakeInformerFor(t.Context(), &volume.Volume{})
	w.Must(err)
	l := &lock{}
	m, err := manager.New(&rest.Config{}, manager.Options{
		Scheme: w.API.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return readyCache{informers}, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return w.API, nil },
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return w.API.RESTMapper(), nil },
		LeaderElection: true, LeaderElectionID: "it", LeaderElectionResourceLockInterface: l,
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true), EnableWarmup: new(warm)},
	})
	w.Must(err)
	w.Must(managed.Setup(m, volume.Kind, controller.Options{}, managed.WithExternalConnecter(w.cloud),
		managed.WithCluster(w.m), managed.WithRecorder(w)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	defer func() { w.Must(<-ended) }()
	defer stop()

	<-time.After(time.Hour)
	l.release()
	<-m.Elected()
	created := time.Now().Add(-age)
	<-time.After(time.Hour)
	w.create(func(v *volume.Volume) { v.CreationTimestamp = metav1.NewTime(created) })
	events.Add(w.get())
	<-time.After(time.Second)
	synctest.Wait()
	want := "Connect Observe Create Observe"
	if age > 0 {
		want = "Connect Observe Recover Create Observe"
	}
	if _, calls, _ := w.taken(); calls != want {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

// double is the manager of a provider's unit test: it has what a reconciler needs, and embeds nil for the rest.
type double struct {
	manager.Manager

	of *fake.Manager
}

func (d double) GetClient() client.Client    { return d.of.GetClient() }
func (d double) GetAPIReader() client.Reader { return d.of.GetAPIReader() }
func (d double) GetScheme() *runtime.Scheme  { return d.of.GetScheme() }

// TestADoubleOfAManagerThatCannotTellOfAnElection verifies that a test double of a manager without an election
// works: unit tests of providers make reconcilers with it.
func TestADoubleOfAManagerThatCannotTellOfAnElection(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.r = w.reconciler(double{of: w.m})
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
}
