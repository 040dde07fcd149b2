package syncer

import (
	"cmp"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrNotLeader is returned, wrapped, by a request that would change something in either
// cluster after the lease of the leader election was over. It is not sent.
var ErrNotLeader = errors.New("this process does not lead any more")

// A LeaderElection lets several processes wait for one that syncs. The zero value is a
// usual one. Its lease is in the target namespace on the host, where the process may get,
// create and update it.
type LeaderElection struct {
	// LeaseName is that of the lease. Two programs that sync other kinds for the same
	// virtual cluster need different ones. Default: "syncer-" and the Name of the
	// RegisterOptions.
	LeaseName string

	// Identity begins the name under which the lease is held. Default: the name of the
	// machine, which is that of the pod.
	Identity string

	// LeaseDuration is how long the others wait after the last renewal that they saw.
	// Default: 15 seconds.
	LeaseDuration time.Duration

	// RenewDeadline is how long the leader tries to renew the lease before it gives up.
	// It is less than LeaseDuration. Default: 10 seconds.
	RenewDeadline time.Duration

	// RetryPeriod is how often the lease is renewed, or tried to be taken. It is less
	// than RenewDeadline by a fifth and more. Default: 2 seconds.
	RetryPeriod time.Duration
}

// complete fills in the defaults, and refuses times with which nobody could lead.
func (e LeaderElection) complete(name string) (LeaderElection, error) {
	e.LeaseDuration, e.RenewDeadline, e.RetryPeriod = cmp.Or(e.LeaseDuration, 15*time.Second), cmp.Or(e.RenewDeadline, 10*time.Second), cmp.Or(e.RetryPeriod, 2*time.Second)
	e.LeaseName = cmp.Or(e.LeaseName, "syncer-"+name)
	if problems := validation.IsDNS1123Subdomain(e.LeaseName); len(problems) > 0 {
		return e, errors.Errorf("LeaseName %q is no name: %s", e.LeaseName, problems[0])
	}
	if e.RetryPeriod < 0 || e.RenewDeadline <= time.Duration(float64(e.RetryPeriod)*leaderelection.JitterFactor) || e.LeaseDuration <= e.RenewDeadline {
		return e, errors.Errorf("LeaseDuration (%s) must be more than RenewDeadline (%s), and that more than %.1f times RetryPeriod (%s)",
			e.LeaseDuration, e.RenewDeadline, leaderelection.JitterFactor, e.RetryPeriod)
	}
	if e.Identity != "" {
		return e, nil
	}
	var err error
	e.Identity, err = os.Hostname()
	return e, errors.Wrap(err, "cannot tell the name of this machine: set Identity")
}

// elect lets a manager wait until it leads, and returns the lease by which it does. It is
// given up when the manager stops, so that the next one need not wait for its end.
func (e LeaderElection) elect(host *rest.Config, namespace string, mo *ctrl.Options, restores *controller.RestoreDetector) (*controller.Lease, error) {
	host = rest.AddUserAgent(rest.CopyConfig(host), "leader-election")
	host.Timeout = max(e.RenewDeadline/2, time.Second) // one request that hangs does not cost the lease
	leases, err := coordinationv1.NewForConfig(host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for the leader election")
	}
	lease := controller.NewLease(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: e.LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity + "_" + string(uuid.NewUUID())},
	}, e.RenewDeadline, controller.WithRestoreDetector(restores))
	mo.LeaderElection, mo.LeaderElectionID = true, e.LeaseName // the latter for metrics alone
	mo.LeaderElectionResourceLockInterface, mo.LeaderElectionReleaseOnCancel = lease, true
	mo.LeaseDuration, mo.RenewDeadline, mo.RetryPeriod = ptr.To(e.LeaseDuration), ptr.To(e.RenewDeadline), ptr.To(e.RetryPeriod)
	return lease, nil
}

// A fence is a transport that sends no changes unless the process leads: one that was
// paused for longer than its lease would go on with what it was about to do.
type fence struct {
	lease *controller.Lease
	clock clock.PassiveClock
	next  http.RoundTripper
}

// fenced returns a copy of a configuration with a fence. Without a lease there is none.
func fenced(config *rest.Config, lease *controller.Lease) *rest.Config {
	config = rest.CopyConfig(config)
	if lease != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fence{lease, clock.RealClock{}, next} })
	}
	return config
}

// RoundTrip sends a request, or refuses to.
func (f fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || f.clock.Now().Before(f.lease.Deadline()) {
		return f.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // nobody reads it
	}
	return nil, ErrNotLeader
}

// WrappedRoundTripper returns the transport below, which closes connections.
func (f fence) WrappedRoundTripper() http.RoundTripper { return f.next }
