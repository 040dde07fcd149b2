package controllerruntime

import (
	"github.com/go-logr/logr"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A sink passes the log of controller-runtime, such as reconcile errors, to the logger of the runtime.
type sink struct{ to logging.Logger }

func (s sink) Init(logr.RuntimeInfo) {}

func (s sink) Enabled(int) bool { return true }

func (s sink) Info(level int, msg string, keysAndValues ...any) {
	if level > 0 {
		s.to.Debug(msg, keysAndValues...)

		return
	}
	s.to.Info(msg, keysAndValues...)
}

func (s sink) Error(err error, msg string, keysAndValues ...any) {
	logging.Error(s.to, err, msg, keysAndValues...)
}

func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.to.WithValues(keysAndValues...)}
}

func (s sink) WithName(name string) logr.LogSink { return sink{logging.WithName(s.to, name)} }
