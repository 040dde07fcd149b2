package providerconfig

import (
	"context"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A Database is a user of another kind.
type Database struct{ Bucket }

// A filled cache has an informer of its own for each kind of users, which has seen all of them.
type filled struct{ cache.Cache }

func (filled) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	all := make(chan struct{})
	close(all)

	return &fakeInformers{filled: all}, nil
}

// A running manager starts at once what is added to it, but for controllers.
type running struct {
	*yard

	ctx context.Context //nolint:containedctx // ends what was started
}

func (running) GetCache() cache.Cache { return filled{} }

func (r running) Add(one manager.Runnable) error {
	if follower, ok := one.(withoutLeaderElection); ok {
		go func() { _ = follower.Start(r.ctx) }()

		return nil
	}

	return r.yard.Add(one)
}

// TestSetupOfARunningManager: users of the first kind may be known while the second is added: that is noted at the same
// time.
func TestSetupOfARunningManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheme()
		s.AddKnownTypeWithName(group.WithKind("Database"), &Database{})
		s.AddKnownTypeWithName(group.WithKind("DatabaseList"), &list[Bucket, *Bucket]{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r := running{newYard(s), ctx}
		if err := Setup(r, kinds, []User{&Bucket{}, &Database{}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !r.rs[0].tracker.synced() {
			t.Error("not all users are known")
		}
		stop()
		synctest.Wait()
	})
}
