package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd starts a single member on unix sockets: etcd has no authentication
// here, so it must not be reachable by TCP.
func startEtcd(ctx context.Context, o Options) (*embed.Etcd, string, error) {
	client, peer := filepath.Join(o.Sockets, "client.sock"), filepath.Join(o.Sockets, "peer.sock")
	c := embed.NewConfig()
	c.Dir = o.Data
	// The path is in Host, because that is all etcd reads of a peer's URL.
	c.ListenClientUrls = []url.URL{{Scheme: "unix", Host: client}}
	c.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: peer}}
	// The advertised address of a single member is never dialed, but it must look like one.
	c.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2"}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.UnsafeNoFsync = !o.Durable
	// A single member elects itself at the first tick. Each one wakes the process: ten times as many made a third of what
	// an idle server costs.
	c.TickMs, c.ElectionMs = 100, 1000
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModeRevision, "10000"
	c.Logger, c.LogLevel, c.LogOutputs = "zap", "error", []string{o.EtcdLog}

	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return nil, "", fmt.Errorf("cannot start etcd (its log is %s): %w", o.EtcdLog, err)
	}
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, "unix://" + client, nil
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = fmt.Errorf("it was not ready within %s", readyTimeout)
	}
	etcd.Close()
	return nil, "", fmt.Errorf("cannot start etcd (its log is %s): %w", o.EtcdLog, err)
}
