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

// ErrNotLeader is returned, wrapped, for a write to either cluster after the lease of this process
// has expired. The request is not sent.
var ErrNotLeader = errors.New("this process is no longer the leader")

// LeaderElection configures the election of one process among several. Only the leader syncs. The
// zero value uses the default of each field. The lease is in the target namespace on the host. The
// process needs the permission to get, create and update leases there.
type LeaderElection struct {
	// LeaseName is the name of the lease. Programs that sync different kinds for the
	// same virtual cluster need different names. Default: "syncer-" followed by
	// RegisterOptions.Name.
	LeaseName string

	// Identity is the prefix of the holder identity; a random suffix makes it unique.
	// Default: the host name, which in a pod is the name of the pod.
	Identity string

	// LeaseDuration is the time for which other candidates wait after the last renewal that they observed. After this time
	// they take the lease. Default: 15 seconds.
	LeaseDuration time.Duration

	// RenewDeadline is how long the leader tries to renew the lease before it gives up leadership. It
	// must be less than LeaseDuration. Default: 10 seconds.
	RenewDeadline time.Duration

	// RetryPeriod is the interval between attempts to acquire or renew the lease.
	// 1.2 times RetryPeriod must be less than RenewDeadline. Default: 2 seconds.
	RetryPeriod time.Duration
}

// complete sets the defaults. It returns an error for an invalid name, and for durations with which
// no process could lead.
func (e LeaderElection) complete(name string) (LeaderElection, error) {
	e.LeaseDuration, e.RenewDeadline, e.RetryPeriod = cmp.Or(e.LeaseDuration, 15*time.Second),
		cmp.Or(e.RenewDeadline, 10*time.Second), cmp.Or(e.RetryPeriod, 2*time.Second)
	e.LeaseName = cmp.Or(e.LeaseName, "syncer-"+name)
	if problems := validation.IsDNS1123Subdomain(e.LeaseName); len(problems) > 0 {
		return e, errors.Errorf("LeaseName %q is not a valid name: %s", e.LeaseName, problems[0])
	}
	if e.RetryPeriod < 0 || e.RenewDeadline <= time.Duration(float64(e.RetryPeriod)*leaderelection.JitterFactor) ||
		e.LeaseDuration <= e.RenewDeadline {
		return e, errors.Errorf(
			"LeaseDuration (%s) must be greater than RenewDeadline (%s), which must be greater than %.1f times RetryPeriod (%s)",
			e.LeaseDuration, e.RenewDeadline, leaderelection.JitterFactor, e.RetryPeriod)
	}
	if e.Identity != "" {
		return e, nil
	}
	var err error
	e.Identity, err = os.Hostname()
	return e, errors.Wrap(err, "cannot read the host name: set Identity")
}

// configure enables leader election in the options of a manager and returns its lease. When the
// manager stops, it releases the lease, so that the next leader does not wait for the lease to
// expire.
func (e LeaderElection) configure(
	host *rest.Config, namespace string, mo *ctrl.Options, restores *controller.RestoreDetector,
) (*controller.Lease, error) {
	host = rest.AddUserAgent(rest.CopyConfig(host), "leader-election")
	host.Timeout = max(e.RenewDeadline/2, time.Second) // a request that hangs does not cost the lease
	leases, err := coordinationv1.NewForConfig(host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a client for the leader election")
	}
	lease := controller.NewLease(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: e.LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity + "_" + string(uuid.NewUUID())},
	}, e.RenewDeadline, controller.WithRestoreDetector(restores))
	mo.LeaderElection, mo.LeaderElectionID = true, e.LeaseName // the ID is used for metrics only
	mo.LeaderElectionResourceLockInterface, mo.LeaderElectionReleaseOnCancel = lease, true
	mo.LeaseDuration, mo.RenewDeadline, mo.RetryPeriod = ptr.To(e.LeaseDuration), ptr.To(e.RenewDeadline),
		ptr.To(e.RetryPeriod)
	return lease, nil
}

// A fence is a transport that sends writes only while this process holds the lease. Without it, a
// process that was suspended for longer than its lease would send the writes that it was about to
// send before.
type fence struct {
	lease *controller.Lease
	clock clock.PassiveClock
	next  http.RoundTripper
}

// withFence returns a copy of a configuration with a fence. A nil lease means no fence.
func withFence(config *rest.Config, lease *controller.Lease) *rest.Config {
	config = rest.CopyConfig(config)
	if lease != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return fence{lease, clock.RealClock{}, next}
		})
	}
	return config
}

// RoundTrip always sends reads. It sends a write only before the lease expires. After the lease has expired, it returns
// ErrNotLeader for a write.
func (f fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || f.clock.Now().Before(f.lease.Deadline()) {
		return f.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // a RoundTripper closes the body, also on errors
	}
	return nil, ErrNotLeader
}

// WrappedRoundTripper returns the wrapped transport, so that its connections can be
// closed.
func (f fence) WrappedRoundTripper() http.RoundTripper { return f.next }
