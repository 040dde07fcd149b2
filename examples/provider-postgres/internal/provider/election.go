package provider

import (
	"bytes"
	"flag"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=provider-postgres.postgres.moorage.dev,verbs=get;update

// podNamespace is the file with the namespace of a pod.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseName is the name of the lease, which the role names, too.
const leaseName = Name + ".postgres.moorage.dev"

// An Election configures leader election. The zero value disables it. Start from DefaultElection.
type Election struct {
	// Enabled enables it. The lease is in Namespace, or if that is empty in the pod's own.
	Enabled   bool
	Namespace string

	// Identity begins the holder identity of the lease. Empty means the name of this machine, which is that of
	// the pod.
	Identity string

	// LeaseDuration is how long standby replicas wait after the last renewal that they saw, RenewDeadline how
	// long the leader tries to renew before it gives up, and RetryPeriod the time between attempts. In the
	// last second before RenewDeadline, no change in the external system begins. Each must be less than the
	// one before it, RetryPeriod by a fifth and more: see Check.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// DefaultElection returns the usual times, not enabled.
func DefaultElection() Election {
	return Election{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
}

// AddFlags adds the flags of leader election.
func (e *Election) AddFlags(flags *flag.FlagSet) {
	flags.BoolVar(&e.Enabled, "leader-election", e.Enabled, "elect one of several replicas as the leader")
	flags.StringVar(&e.Namespace, "leader-election-namespace", e.Namespace,
		"where the lease is; empty means the pod's own namespace")
	flags.StringVar(&e.Identity, "leader-elect-identity", e.Identity,
		"prefix of the holder identity of the lease; empty means the name of this machine")
	flags.DurationVar(&e.LeaseDuration, "leader-elect-lease-duration", e.LeaseDuration,
		"how long standby replicas wait after the last renewal that they saw")
	flags.DurationVar(&e.RenewDeadline, "leader-elect-renew-deadline", e.RenewDeadline,
		"how long the leader tries to renew the lease before it gives up")
	flags.DurationVar(&e.RetryPeriod, "leader-elect-retry-period", e.RetryPeriod,
		"how often replicas try to renew or acquire the lease")
}

// leaseMargin is the remaining time of a lease that a change in the external system needs to begin: a lease
// that is not renewed earlier stops all work each time.
const leaseMargin = time.Second

// Check returns an error for times with which no replica could lead. Its errors name the flags.
func (e Election) Check() error {
	// The time between two attempts may exceed a period by this factor.
	const jitter = leaderelection.JitterFactor

	switch {
	case e.RetryPeriod <= 0:
		return errors.New("--leader-elect-retry-period must be more than 0")
	case e.RenewDeadline <= time.Duration(float64(e.RetryPeriod)*jitter)+leaseMargin:
		return errors.Errorf("--leader-elect-renew-deadline must be more than "+
			"%.1f times --leader-elect-retry-period and a second", jitter)
	case e.LeaseDuration <= e.RenewDeadline:
		return errors.New("--leader-elect-lease-duration must be more than --leader-elect-renew-deadline")
	default:
		return nil
	}
}

// elect makes the manager wait until it leads, if leader election is enabled, and returns the lease. The
// lock is created here and not by the manager, because changes in the external system need its remaining
// time, and because its versions show that the API server was restored.
func (e Election) elect(
	cfg *rest.Config, mo *ctrl.Options, restores *controller.RestoreDetector,
) (*controller.Lease, error) {
	mo.LeaderElection, mo.LeaderElectionID = e.Enabled, leaseName // the latter only for metrics
	if !e.Enabled {
		return nil, nil
	}

	lock, err := e.lock(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot take part in leader election")
	}

	lease := controller.NewLease(lock, e.RenewDeadline, controller.WithRestoreDetector(restores))
	mo.LeaderElectionResourceLockInterface = lease
	mo.LeaderElectionReleaseOnCancel = true
	mo.LeaseDuration, mo.RenewDeadline, mo.RetryPeriod = &e.LeaseDuration, &e.RenewDeadline, &e.RetryPeriod

	return lease, nil
}

func (e Election) lock(cfg *rest.Config) (resourcelock.Interface, error) {
	namespace := e.Namespace
	if namespace == "" {
		text, err := os.ReadFile(podNamespace)
		if err != nil {
			return nil, errors.Wrap(err,
				"cannot determine the namespace of the lease outside of a pod: set --leader-election-namespace")
		}

		namespace = string(bytes.TrimSpace(text))
	}

	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	// One request that hangs must not cost the lease.
	cfg.Timeout = max(e.RenewDeadline/2, time.Second)

	core, err := corev1.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client")
	}

	coordination, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client")
	}

	me, err := e.identity()
	if err != nil {
		return nil, err
	}

	return resourcelock.New(resourcelock.LeasesResourceLock, namespace, leaseName, core, coordination,
		resourcelock.ResourceLockConfig{Identity: me})
}

// identity returns the holder identity. Two processes never have it in common, not even those that run one
// after the other in a pod.
func (e Election) identity() (string, error) {
	name := e.Identity
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", errors.Wrap(err, "cannot determine the name of this machine")
		}

		name = host
	}

	return name + "_" + string(uuid.NewUUID()), nil
}
