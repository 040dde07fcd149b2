package trials

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/moorage-dev/moorage/internal/volume"
)

// TestD6RestoredToBeforeItsIntent restores etcd to a moment before the first write for an
// object, while the process runs. The process creates no resource again that it has observed.
func TestD6RestoredToBeforeItsIntent(t *testing.T) {
	each(t, assigned, func(w *world) {
		before := atKey()
		before.UID, before.Generation, before.Spec.SizeGiB, before.ResourceVersion = "uid-1", 1, 1, "1"
		w.ready()
		w.plug(newStore(w.t, before))
		w.run(10 * time.Minute)
		w.single()
	})
}

// TestD6LeaseOfAnotherHistory restores etcd, so that the version of the lease, which is renewed
// every two seconds, goes back. The process ends, so that the next one lists anew: its caches
// are of a lost history.
func TestD6LeaseOfAnotherHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlane(874)
		deadline := 10 * time.Second
		lock := server.lock(t, deadline)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: deadline, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			elector.Run(ctx)
		}()
		wait(30 * time.Second)
		if !elector.IsLeader() {
			t.Fatal("the story begins with a leader")
		}
		server.restore(server.backup(), 219)
		wait(time.Minute)
		select {
		case <-ended:
		default:
			t.Errorf("the process leads still, a minute after the version of its lease went back from over 874 to 219")
			cancel()
			<-ended
		}
	})
}

// TestD6RestoredSpecIsCarriedOut restores etcd to an older snapshot while a provider runs, and
// versions go back with it. The restored spec is applied, and a later change of a user as well.
// The process may end for that, and is then started again.
func TestD6RestoredSpecIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlane(100)
		p := &provider{t: t, plane: server, cloud: &volume.Cloud{}}
		stop := p.runs()
		defer stop()
		server.put(manifest())
		wait(time.Minute)
		p.has("a new object", 1)
		snapshot, version := server.backup(), server.version()
		server.resize(2)
		wait(15*time.Minute + 10*time.Second)
		p.has("a change before the restore", 2)

		server.restore(snapshot, version)
		wait(2 * time.Minute)
		p.has("the spec as restored", 1)
		server.resize(3)
		wait(2 * time.Minute)
		p.has("a change after the restore", 3)
	})
}

// TestD6RestoredIsMadeOnce restores etcd to a moment before the first write for an object,
// while a provider runs, and versions go back with it.
func TestD6RestoredIsMadeOnce(t *testing.T) {
	restoredIsMadeOnce(t, 0)
}

// TestD6RestoredWithABump does the same as etcd's documentation advises: versions continue from a
// higher one, so that every client lists anew. The lease has its old version all the same, and by
// that the process notices the restore.
func TestD6RestoredWithABump(t *testing.T) {
	restoredIsMadeOnce(t, 1_000_000)
}

// restoredIsMadeOnce restores etcd, with its revision so much higher than the snapshot's. The
// process ends and is started again: the external resource is not created twice.
func restoredIsMadeOnce(t *testing.T, bump int) {
	t.Helper()
	each(t, assigned, func(w *world) {
		server := newPlane(100)
		p := &provider{t: w.t, plane: server, cloud: w.cloud, options: w.options}
		stop := p.runs()
		defer stop()
		wait(time.Minute)
		server.put(manifest())
		snapshot, version := server.backup(), server.version()
		wait(2 * time.Minute)
		p.has("a new object", 1)
		server.restore(snapshot, version+bump)
		wait(3 * time.Minute)
		if disks := p.cloud.Disks(); len(disks) != 1 || p.starts.Load() < 2 {
			w.Errorf("after %d starts of the process there are %s; the object says %+v", p.starts.Load(), ids(disks),
				server.volume(w.t).Status.Conditions)
		}
	})
}
