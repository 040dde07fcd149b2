package statuspage

import (
	"net"
	"net/netip"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// Options configure the page. Only Address is required.
type Options struct {
	// Address is where the page is served: a loopback address with a port, such as "127.0.0.1:8082". Port 0 means any that
	// is free; the log says which. Empty means that there is no page.
	Address string

	// Provider and Version are the name and the version of the provider, as the page shows them.
	Provider, Version string

	// Limits are the connections whose limits the page shows. Nil means none.
	Limits *limit.Set

	// Lease is the lease of leader election. A process that is not the leader shows the holder. Nil means that there is
	// no leader election, or that the holder is not shown.
	Lease *controller.Lease

	// Logger gets the one-time links. With nil the page cannot be opened.
	Logger logging.Logger
}

// Add adds the page to the manager, which serves it also while it is not the leader. Give the returned option to each
// kind that the page is to show:
//
//	page, err := statuspage.Add(mgr, statuspage.Options{Address: address, Logger: logger})
//	...
//	managed.Setup(mgr, kind, options, page)
//
// With an empty address nothing is added, and the option does nothing. Add returns an error if the address is not a
// loopback address.
func Add(m manager.Manager, o Options) (managed.ReconcilerOption, error) {
	if o.Address == "" {
		return func(*managed.Reconciler) {}, nil
	}
	if err := CheckAddress(o.Address); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = logging.NewNopLogger()
	}
	recent := &changeLog{}
	inspector := managed.NewInspector(recent)
	source := &process{options: o, inspector: inspector, changes: recent, elected: m.Elected()}
	if err := m.Add(&runnable{address: o.Address, server: newServer(source.read, o)}); err != nil {
		return nil, errors.Wrap(err, "cannot add the status page")
	}

	return managed.WithInspector(inspector), nil
}

// CheckAddress returns an error if the page must not be served at the address. The error says what to give instead. An
// empty address is allowed.
func CheckAddress(address string) error {
	if address == "" {
		return nil
	}
	const instead = "give a loopback address with a port, such as 127.0.0.1:8082, and reach it by kubectl port-forward"
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.Errorf("the status page cannot be served at %q: %s", address, instead)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.Errorf("the status page cannot be served at the port %q: %s", port, instead)
	}
	if !isLoopback(host) {
		return errors.Errorf("the status page is not served at %q, because others could reach it there: %s", address,
			instead)
	}

	return nil
}

// isLoopback reports whether a host without a port is this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)

	return err == nil && ip.IsLoopback()
}
