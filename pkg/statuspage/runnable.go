package statuspage

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Limits of the HTTP server.
const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = time.Minute
	maxHeaderBytes = 16 << 10
)

// A runnable serves the page while the manager runs.
type runnable struct {
	address string
	server  *server
}

// NeedLeaderElection returns false: a process that is not the leader names the leader.
func (*runnable) NeedLeaderElection() bool { return false }

// Start serves the page until ctx ends. If the address is in use, it logs that, and the provider runs without the page:
// an error would end the manager.
func (r *runnable) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.address)
	if err != nil {
		r.server.login.log.Info("Cannot serve the status page", "address", r.address, "error", err.Error())

		return nil
	}

	return r.serve(ctx, listener)
}

func (r *runnable) serve(ctx context.Context, listener net.Listener) error {
	s := &http.Server{
		Handler: r.server, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	r.server.login.announce(listener.Addr().String())
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // streams do not end by themselves
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return errors.Wrap(err, "cannot serve the status page")
	}

	return nil
}
