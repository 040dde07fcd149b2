package syncer

import (
	"context"
	"net/http"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// lead runs the items while the manager of the process is elected.
func (r *Runner) lead(ctx context.Context) error {
	process := r.reg.ProcessManager
	if err := process.AddReadyzCheck("syncers", r.checkReady); err != nil {
		return errors.Wrap(err, "cannot serve probes")
	}
	leading, resign := context.WithCancel(ctx)
	// It stops last: another process may sync once the lease is given up.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer resign()
		ended <- process.Start(serving)
	}()
	var err error
	select {
	case <-leading.Done():
	case <-process.Elected():
		r.leads.Store(true)
		err = r.runUnless(leading)
	}
	stop()
	if end := <-ended; end != nil { // whatever else failed then, it is why
		err = errors.Wrap(end, "cannot run the manager of the process")
	}
	return err
}

// runUnless runs the items unless the process was told to stop when it was elected.
func (r *Runner) runUnless(leading context.Context) error {
	if leading.Err() != nil {
		return nil
	}
	return r.run(leading)
}

// checkReady says whether the process does what it is for. One that waits to be elected
// does: a Deployment that replaces its pods one by one would wait for it otherwise.
func (r *Runner) checkReady(*http.Request) error {
	if !r.leads.Load() {
		return nil
	}
	select {
	case <-r.ready:
		return nil
	default:
		return errors.New("the syncers do not run yet")
	}
}
