package devcluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/moorage-dev/moorage/pkg/test/port"
)

// readyPoll is the interval at which start checks whether kube-apiserver is ready, because kube-apiserver does not
// report it by itself.
const readyPoll = 50 * time.Millisecond

// supervise is a shell script that runs a program and ends it when standard input ends. Standard input ends when this
// process ends or closes it. The process that waits for this end has no output. Otherwise the output would not end
// before the input.
const supervise = `exec 3<&0
"$@" </dev/null 3<&- & p=$!
{ cat <&3; kill $p; } >/dev/null 2>&1 &
exec 3<&-
wait $p`

// assembly runs etcd and kube-apiserver from a folder of programs.
type assembly struct {
	assets    string
	dir       string
	port      int
	ports     *port.Range // keeps the port from others, also while the server is down
	durable   bool
	timeout   time.Duration
	sockets   string     // a short path, whatever dir is
	processes []*process // etcd, then kube-apiserver
}

func assembled(assets, dir string, o Options) *Cluster {
	kubeconfig := filepath.Join(dir, "kubeconfig")
	return &Cluster{
		Dir:        dir,
		Kubeconfig: kubeconfig,
		mint:       impersonate(kubeconfig),
		server:     &assembly{assets: assets, dir: dir, port: o.Port, durable: o.Durable, timeout: o.startTimeout()},
	}
}

func (a *assembly) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	token, err := a.prepare()
	if err != nil {
		return err
	}
	if a.sockets, err = os.MkdirTemp("", "devcluster-"); err != nil {
		return fmt.Errorf("cannot make a folder for sockets: %w", err)
	}
	for _, command := range [][]string{a.etcd(), a.apiserver()} {
		p, err := startProcess("/bin/sh",
			append([]string{"-c", supervise, "sh", filepath.Join(a.assets, command[0])}, command[1:]...)...)
		if err != nil {
			return errors.Join(err, a.kill())
		}
		a.processes = append(a.processes, p)
	}
	if err := a.awaitReady(ctx, token); err != nil {
		return errors.Join(err, a.kill())
	}
	return nil
}

// prepare creates the files that are the same for all starts.
func (a *assembly) prepare() (token string, err error) {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return "", err
	}
	if a.port == 0 {
		a.ports = port.NewRange()
		if a.port, err = a.ports.Find(); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(a.path("token")); err == nil {
		b, err := os.ReadFile(a.path("token"))
		return strings.SplitN(string(b), ",", 2)[0], err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(a.path("sa.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		0o600); err != nil {
		return "", err
	}
	token = rand.Text()
	return token, os.WriteFile(a.path("token"), []byte(token+",admin,admin,system:masters\n"), 0o600)
}

func (a *assembly) path(name string) string { return filepath.Join(a.dir, name) }

func (a *assembly) etcd() []string {
	return []string{
		"etcd",
		"--data-dir=" + a.path("etcd"),
		"--listen-client-urls=unix://" + a.sockets + "/etcd.sock",
		"--listen-peer-urls=unix://" + a.sockets + "/peer.sock",
		"--advertise-client-urls=http://127.0.0.1:1",
		"--initial-advertise-peer-urls=http://127.0.0.1:2",
		"--initial-cluster=default=http://127.0.0.1:2",
		"--unsafe-no-fsync=" + strconv.FormatBool(!a.durable),
		"--log-level=error",
	}
}

func (a *assembly) apiserver() []string {
	return []string{
		"kube-apiserver",
		"--etcd-servers=unix://" + a.sockets + "/etcd.sock",
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(a.port),
		"--cert-dir=" + a.path("certificates"),
		"--token-auth-file=" + a.path("token"),
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + a.path("sa.key"),
		"--service-account-signing-key-file=" + a.path("sa.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount",
		"--profiling=false",
	}
}

func (a *assembly) awaitReady(ctx context.Context, token string) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		last := a.writeKubeconfig(token)
		if last == nil {
			var config *rest.Config
			if config, last = (&Cluster{Kubeconfig: a.path("kubeconfig")}).RESTConfig(); last == nil {
				last = ready(ctx, config)
			}
		}
		if last == nil {
			return nil
		}
		select {
		case <-a.processes[0].done:
			return a.processes[0].exitError()
		case <-a.processes[1].done:
			return a.processes[1].exitError()
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver was not ready in time: %w", last)
		case <-tick.C:
		}
	}
}

// writeKubeconfig writes the kubeconfig. It returns an error until kube-apiserver has created its certificate.
func (a *assembly) writeKubeconfig(token string) error {
	ca, err := os.ReadFile(filepath.Join(a.path("certificates"), "apiserver.crt"))
	if err != nil {
		return err
	}
	config := api.NewConfig()
	config.Clusters["devcluster"] = &api.Cluster{
		Server:                   "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(a.port)),
		CertificateAuthorityData: ca,
	}
	config.AuthInfos["admin"] = &api.AuthInfo{Token: token}
	config.Contexts["devcluster"] = &api.Context{Cluster: "devcluster", AuthInfo: "admin"}
	config.CurrentContext = "devcluster"
	return clientcmd.WriteToFile(*config, a.path("kubeconfig"))
}

// stop ends kube-apiserver first, because it cannot end cleanly without etcd.
func (a *assembly) stop() error {
	var errs []error
	for i := len(a.processes) - 1; i >= 0; i-- {
		errs = append(errs, a.processes[i].stop(stopTimeout, a.processes[i].closeInput))
	}
	a.processes = nil
	errs = append(errs, os.RemoveAll(a.sockets))
	return errors.Join(errs...)
}

func (a *assembly) kill() error {
	for _, p := range a.processes {
		p.kill()
	}
	a.processes = nil
	return os.RemoveAll(a.sockets)
}
