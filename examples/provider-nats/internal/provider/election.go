package provider

import (
	"bytes"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// podNamespace is where a pod finds the namespace that it is in.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseName is what the role names, too.
const leaseName = Name + "." + v1alpha1.Group

// elect makes the manager wait until it leads, if it is to, and returns the lease
// by which it does. The lock is made here and not by the manager, because whoever
// changes something in NATS has to know how long the lease still lasts.
func elect(cfg *rest.Config, o Options, mo *ctrl.Options) (*controller.Lease, error) {
	mo.LeaderElection, mo.LeaderElectionID = o.LeaderElection, leaseName // the latter for metrics alone
	if !o.LeaderElection {
		return nil, nil
	}

	lock, err := newLock(cfg, o)
	if err != nil {
		return nil, errors.Wrap(err, "cannot take part in an election")
	}

	lease := controller.NewLease(lock, o.RenewDeadline)
	mo.LeaderElectionResourceLockInterface = lease
	mo.LeaderElectionReleaseOnCancel = true
	mo.LeaseDuration, mo.RenewDeadline, mo.RetryPeriod = &o.LeaseDuration, &o.RenewDeadline, &o.RetryPeriod

	return lease, nil
}

func newLock(cfg *rest.Config, o Options) (resourcelock.Interface, error) {
	namespace := o.LeaderElectionNamespace
	if namespace == "" {
		text, err := os.ReadFile(podNamespace)
		if err != nil {
			return nil, errors.Wrap(err, "cannot tell the namespace of the lease outside of a pod")
		}

		namespace = string(bytes.TrimSpace(text))
	}

	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	// One request that hangs must not cost the lease.
	cfg.Timeout = max(o.RenewDeadline/2, time.Second)

	core, err := corev1.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client")
	}

	coordination, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client")
	}

	me, err := identity(o)
	if err != nil {
		return nil, err
	}

	return resourcelock.New(resourcelock.LeasesResourceLock, namespace, leaseName, core, coordination,
		resourcelock.ResourceLockConfig{Identity: me})
}

// identity returns who holds the lease. No two processes have it in common, not
// even those that run one after the other in a pod.
func identity(o Options) (string, error) {
	name := o.LeaderElectionIdentity
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", errors.Wrap(err, "cannot tell the name of this machine")
		}

		name = host
	}

	return name + "_" + string(uuid.NewUUID()), nil
}
