package chaos

import (
	"context"
	stderrors "errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A world is everything that can break, and the users.
type world struct {
	o     Options
	begin time.Time

	env     *devenv.Env
	nats    *daemon
	nc      *nats.Conn
	js      jetstream.JetStream
	cluster types.UID
	gateway *gateway
	fleet   *fleet
	users   *users
	foreign map[key]asset // the state of the foreign assets at the start

	// born is when the asset of each object was created, as of the last observation.
	born map[types.UID]time.Time

	mu   sync.Mutex
	made map[faultKind]int // faults

	// suspended is the replica that is suspended, or noReplica.
	suspended int
	out       sync.Mutex
}

// start starts the servers, and creates the foreign assets.
func start(ctx context.Context, o Options) (*world, error) {
	w := &world{o: o, suspended: noReplica, begin: time.Now(), made: map[faultKind]int{}, born: map[types.UID]time.Time{}}

	if err := w.open(ctx); err != nil {
		return nil, stderrors.Join(err, w.stop())
	}

	w.say("an API server and NATS run; seed: %d", o.Seed)

	return w, nil
}

func (w *world) open(ctx context.Context) error {
	data := filepath.Join(w.o.Dir, "nats")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return errors.Wrap(err, "cannot create a folder for NATS")
	}

	var err error
	if w.nats, err = newDaemon(ctx, w.o.NATS, data); err != nil {
		return err
	}

	if w.env, err = devenv.Start(ctx, devenv.Options{
		Dir: w.o.Dir, NATSURL: w.nats.url, Unclaimed: w.o.Unclaimed, Progress: w.o.Out,
	}); err != nil {
		return err
	}

	if w.cluster, err = managed.ClusterUID(ctx, w.env.Client); err != nil {
		return err
	}

	if err := w.connect(); err != nil {
		return err
	}

	if w.foreign, err = w.createForeign(ctx); err != nil {
		return err
	}

	cfg, err := w.env.ProviderConfig(ctx)
	if err != nil {
		return err
	}

	if w.gateway, err = newGateway(cfg, w.o.Dir); err != nil {
		return err
	}

	w.fleet = &fleet{program: w.o.Provider, kubeconfig: w.gateway.kubeconfig, dir: w.o.Dir}
	w.users = newUsers(w.env.Client, w.o.Seed, slots(w.o.Objects))

	return nil
}

func (w *world) connect() error {
	var err error
	if w.nc, err = nats.Connect(w.nats.url, nats.Name("chaos"), nats.Timeout(natsReady), nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond)); err != nil {
		return errors.Wrap(err, "cannot connect to NATS")
	}

	w.js, err = jetstream.New(w.nc)

	return errors.Wrap(err, "cannot use JetStream")
}

// count returns how many faults of each kind there were.
func (w *world) count() map[faultKind]int {
	w.mu.Lock()
	defer w.mu.Unlock()

	made := maps.Clone(w.made)
	made[replace] = int(w.users.replaced.Load())

	return made
}

// stop stops everything that was started.
func (w *world) stop() error {
	if w.fleet != nil {
		w.fleet.stop()
	}

	if w.gateway != nil {
		w.gateway.stop()
	}

	if w.nc != nil {
		w.nc.Close()
	}

	var err error
	if w.env != nil {
		err = w.env.Stop()
	}

	if w.nats != nil {
		w.nats.stop(false)
	}

	return err
}
