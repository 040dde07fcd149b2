// Package device is a provider that needs no Kubernetes: a NATS server that stores the objects, and the managed
// reconciler, in one process.
package device

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/types"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/moorage-dev/moorage/examples/edge/internal/files"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/natskv"
)

// The content of the directory of a device.
const (
	urlFile   = "url"   // the address of the server, with a token; only its user can read it
	uidFile   = "uid"   // the identity of the device
	natsDir   = "nats"  // the objects
	filesDir  = "files" // the external resources
	startTime = time.Minute

	// answerTime is how long the server and its clients wait for each other. The server syncs each write to the disk
	// before it responds, and the disk of a device may be slow.
	answerTime = time.Minute
)

// Options of a device.
type Options struct {
	// Dir holds the objects and the files. Serve creates it if it does not exist.
	Dir string

	// Poll is the interval between two observations of a file.
	Poll time.Duration

	// Logger of the controllers.
	Logger logr.Logger

	// Ready is called once, when objects can be applied.
	Ready func()
}

// Files returns the directory of the files of a device.
func Files(dir string) string { return filepath.Join(dir, filesDir) }

// Serve runs a device until the context ends.
func Serve(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return errors.Wrap(err, "cannot make the directory of the device")
	}
	unlock, err := lock(filepath.Join(o.Dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	token := rand.Text()
	s, err := startServer(o.Dir, token)
	if err != nil {
		return err
	}
	defer s.WaitForShutdown()
	defer s.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Token(token), nats.Timeout(startTime))
	if err != nil {
		return errors.Wrap(err, "cannot connect to the server inside")
	}
	defer nc.Close()
	c, err := cluster(ctx, nc, o.Logger)
	if err != nil {
		return err
	}
	m, err := provider(c, o)
	if err != nil {
		return err
	}
	url := filepath.Join(o.Dir, urlFile)
	if err := os.WriteFile(url, []byte("nats://"+token+"@"+s.Addr().String()), 0o600); err != nil {
		return errors.Wrap(err, "cannot write where the device is")
	}
	defer func() { _ = os.Remove(url) }()
	if err := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if _, err := m.GetCache().GetInformer(ctx, &v1.File{}); err != nil { // it waits until the cache has synced
			return err
		}
		o.Ready()

		return nil
	})); err != nil {
		return err
	}

	return m.Start(ctx)
}

// startServer starts a NATS server that accepts clients from this machine that have the token. A write that it has
// acknowledged is on the disk.
func startServer(dir, token string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "edge", Host: "127.0.0.1", Port: server.RANDOM_PORT,
		Authorization: token, AuthTimeout: answerTime.Seconds(),
		JetStream: true, StoreDir: filepath.Join(dir, natsDir), SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make the server")
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()

		return nil, errors.Errorf("the server did not start within %s", startTime)
	}

	return s, nil
}

func kinds(ctx context.Context, nc *nats.Conn) ([]kube.Kind, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, errors.Wrap(err, "cannot use JetStream")
	}
	store, err := natskv.New[*kube.Envelope[*v1.File]](ctx, js, "files", natskv.Options{
		Kind: "File.edge.moorage.dev", Create: &jetstream.KeyValueConfig{}, Timeout: answerTime,
	})
	if err != nil {
		return nil, err
	}

	return []kube.Kind{kube.Serve(store)}, nil
}

func cluster(ctx context.Context, nc *nats.Conn, log logr.Logger) (*kube.Cluster, error) {
	of, err := kinds(ctx, nc)
	if err != nil {
		return nil, err
	}

	return kube.NewCluster(v1.Scheme(), kube.Options{Cache: managed.CacheOptions(), Logger: log}, of...)
}

// provider returns a manager that runs the managed reconciler.
func provider(c *kube.Cluster, o Options) (manager.Manager, error) {
	uid, err := deviceUID(filepath.Join(o.Dir, uidFile))
	if err != nil {
		return nil, err
	}
	dir, err := files.Open(Files(o.Dir), uid)
	if err != nil {
		return nil, err
	}
	m, err := kube.NewManager(c, manager.Options{
		Logger: o.Logger, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}

	options := controller.Options{Logger: logging.NewLogrLogger(o.Logger), MaxConcurrentReconciles: 4}

	return m, managed.Setup(m, v1.FileKind, options,
		managed.WithExternalConnecter(managed.Untyped(managed.TypedExternalConnectorFn[*v1.File](dir.Connect))),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0), // a created file can be observed at once
		managed.WithPollInterval(o.Poll),
	)
}

// deviceUID returns the identity of the device. It is used in owner stamps where a cluster has the UID of a namespace.
func deviceUID(path string) (types.UID, error) {
	uid, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		uid = []byte(rand.Text())
		err = os.WriteFile(path, uid, 0o600)
	}

	return types.UID(uid), errors.Wrap(err, "cannot tell which device this is")
}

// Dial returns a client for the objects of the device that is served from a directory, and a function that closes it.
func Dial(ctx context.Context, dir string) (*kube.Client, func(), error) {
	url, err := os.ReadFile(filepath.Join(dir, urlFile))
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot reach the device: is it served?")
	}
	nc, err := nats.Connect(strings.TrimSpace(string(url)), nats.Timeout(startTime))
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot reach the device")
	}
	of, err := kinds(ctx, nc)
	if err != nil {
		nc.Close()

		return nil, nil, err
	}
	c, err := kube.NewClient(v1.Scheme(), of)

	return c, nc.Close, err
}
