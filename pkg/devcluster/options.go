package devcluster

import (
	"io"
	"time"
)

const (
	// EnvKubeconfig is the environment variable that names the kubeconfig of an existing cluster. If the variable is set,
	// the existing cluster is used, and nothing is built or started. Start ignores the variable if Options.Own is set.
	EnvKubeconfig = "MOORAGE_KUBECONFIG"

	// EnvAssets is the environment variable that names a folder of programs. controller-runtime's envtest reads the same
	// variable. If the folder contains the program devcluster, this program is started, and nothing is built. If the
	// folder contains only kube-apiserver and etcd, these are started as two processes. These two run without controllers,
	// so deleted namespaces stay Terminating, and owned objects are not deleted.
	EnvAssets = "KUBEBUILDER_ASSETS"

	// EnvRun is the environment variable that names a test run. All processes with the same value share one control plane
	// through [Join]. If the variable is empty, all processes with the same parent process share one control plane. An
	// example is the packages of one "go test ./...".
	EnvRun = "MOORAGE_DEVCLUSTER_RUN"
)

const (
	// DefaultStartTimeout is the maximum time until a started control plane is ready. This time does not include the
	// build. A start takes two seconds on an idle machine.
	DefaultStartTimeout = 3 * time.Minute

	// sharedTTL is the time after the last heartbeat of its users after which a shared control plane ends. It is long
	// enough for go test to compile the next package.
	sharedTTL = 60 * time.Second

	// beats is the number of heartbeats during sharedTTL. Up to eleven heartbeats may be missed.
	beats = 12

	// stopTimeout is the maximum time of a clean stop, which takes about a second on an idle machine.
	stopTimeout = 2 * time.Minute
)

// Options configures how a control plane is built and started. With the zero value, the caller owns a control plane on
// a free port, whose data is in a temporary folder.
type Options struct {
	// Dir is the folder of the data, the certificates and the port. A start with the same Dir continues the same cluster.
	// The folder is created if it does not exist. An existing folder must be empty, or must have been used by devcluster
	// before. If Dir is "", a temporary folder is used, which Stop removes. Join ignores Dir.
	Dir string

	// Port is the TCP port on 127.0.0.1. If it is 0, the port that was last used with Dir is used, or any free port. Join
	// ignores Port.
	Port int

	// Durable lets etcd sync each write to the disk, so that data survives a crash of the machine. Without Durable, data
	// survives only a crash of the process, and writes are 12 to 18 percent faster. The default is false. Join ignores
	// Durable.
	Durable bool

	// Audit lets the API server record all requests, so that Cluster.Requests can return them. The default is false. Join
	// ignores Audit.
	Audit bool

	// Own starts a control plane even if EnvKubeconfig names an existing cluster. Own is for callers that take the API
	// server down. Join ignores Own.
	Own bool

	// Progress receives a line every few seconds during a build, or while another process builds or starts. If Progress is
	// nil, these lines are discarded.
	Progress io.Writer

	// StartTimeout is the maximum time until the control plane is ready. If it is not positive, DefaultStartTimeout is
	// used.
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
