package syncer

import (
	"context"
	"net/http"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// runElected starts the manager of the process and runs the items while the process is the leader.
func (r *Runner) runElected(ctx context.Context) error {
	process := r.reg.ProcessManager
	if err := process.AddReadyzCheck("syncers", r.checkReady); err != nil {
		return errors.Wrap(err, "cannot serve probes")
	}
	leading, stopLeading := context.WithCancel(ctx)
	// The manager of the process stops last: another process may sync once the lease is
	// released.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stopLeading()
		ended <- process.Start(serving)
	}()
	var err error
	select {
	case <-leading.Done():
	case <-process.Elected():
		r.elected.Store(true)
		err = r.runUnlessStopped(leading)
	}
	stop()
	if end := <-ended; end != nil { // the cause of any other error
		err = errors.Wrap(end, "cannot run the manager of the process")
	}
	return err
}

// runUnlessStopped runs the items unless the context has ended.
func (r *Runner) runUnlessStopped(leading context.Context) error {
	if leading.Err() != nil {
		return nil
	}
	return r.run(leading)
}

// checkReady is the readiness check of the process. A process that waits to be elected
// is ready; otherwise a rolling update of a Deployment would never finish.
func (r *Runner) checkReady(*http.Request) error {
	if !r.elected.Load() {
		return nil
	}
	select {
	case <-r.ready:
		return nil
	default:
		return errors.New("the syncers are not running yet")
	}
}
