package devcluster

import (
	"io"
	"time"
)

const (
	// EnvKubeconfig is the environment variable that names the kubeconfig of an
	// existing cluster. If it is set, nothing is built or started and that
	// cluster is used, unless [Options] asks for an own one.
	EnvKubeconfig = "MOORAGE_KUBECONFIG"

	// EnvAssets is the environment variable that names a folder of programs,
	// as controller-runtime's envtest reads it. If the folder holds devcluster,
	// that is started instead of building one; if it holds kube-apiserver and
	// etcd only, those are started as two processes. The latter run without
	// controllers: deleted namespaces stay Terminating and owned objects stay.
	EnvAssets = "KUBEBUILDER_ASSETS"

	// EnvRun is the environment variable that names a test run. Every process
	// in which it has the same value shares one control plane through [Join].
	// If it is empty, the processes with the same parent do: the packages of
	// one "go test ./...".
	EnvRun = "MOORAGE_DEVCLUSTER_RUN"
)

const (
	// DefaultStartTimeout is how long a control plane may take until it is
	// ready, building not included. It needs two seconds on a quiet machine.
	DefaultStartTimeout = 3 * time.Minute

	// sharedTTL is how long a shared control plane outlives the last beat of
	// its users. It spans the time in which go test compiles the next package.
	sharedTTL = 60 * time.Second

	// beats is how many there are in that time: eleven may come late.
	beats = 12

	// stopTimeout is given to a clean stop, which takes about a second on a
	// quiet machine.
	stopTimeout = 2 * time.Minute
)

// Options say how a control plane is built and started. The zero value is an
// own control plane on a free port, its data in a temporary folder.
type Options struct {
	// Dir keeps data, certificates and the port. Starting in the same Dir again
	// gives the same cluster. It is created if missing, and must be empty or
	// used by devcluster before. If it is "", a temporary folder is used, which
	// Stop removes. Join ignores it.
	Dir string

	// Port is the TCP port on 127.0.0.1. If it is 0, the port that Dir was last
	// used with is taken, or else any free one. Join ignores it.
	Port int

	// Durable makes etcd wait for the disk at every write, so that data
	// outlives a crash of the machine, not only of the process. Default: false,
	// which is 12 to 18 percent faster. Join ignores it.
	Durable bool

	// Audit makes the API server note every request, so that Cluster.Requests
	// can tell who sent what. Default: false. Join ignores it.
	Audit bool

	// Own starts a control plane even if EnvKubeconfig names an existing
	// cluster: for callers that take the API server down. Join ignores it.
	Own bool

	// Progress receives a line every few seconds while the program is built or
	// another process is waited for. Default: nil, which discards them.
	Progress io.Writer

	// StartTimeout bounds the wait until the control plane is ready. Default:
	// DefaultStartTimeout, if it is zero or less.
	StartTimeout time.Duration
}

func (o Options) progress() io.Writer {
	if o.Progress == nil {
		return io.Discard
	}
	return o.Progress
}

func (o Options) startTimeout() time.Duration {
	if o.StartTimeout <= 0 {
		return DefaultStartTimeout
	}
	return o.StartTimeout
}
