package sim

import "github.com/moorage-dev/moorage/pkg/logging"

// Aside is the logger of a process whose reconciler follows referents. Those who follow run on goroutines of their
// own, beside the one of the world, and nobody listens to them: they tell only of kinds that cannot be watched, and
// of their end.
type aside struct{ logging.Logger }

// WithValues returns a logger that tells nothing for one who follows a kind.
func (a aside) WithValues(keysAndValues ...any) logging.Logger {
	if len(keysAndValues) == 2 && keysAndValues[0] == "kind" {
		return logging.NewNopLogger()
	}

	return aside{a.Logger.WithValues(keysAndValues...)}
}

// Debug takes a line of the log, but for the last one of who follows a kind.
func (a aside) Debug(msg string, keysAndValues ...any) {
	if msg != "Stopped trying to watch the kind of a referent" {
		a.Logger.Debug(msg, keysAndValues...)
	}
}
