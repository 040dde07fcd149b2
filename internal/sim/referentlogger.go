package sim

import "github.com/moorage-dev/moorage/pkg/logging"

// A referentLogger is the logger of a process whose reconciler watches referents. It discards what the watching
// goroutines log, because they are not the goroutine of the world. They log only kinds that cannot be watched, and
// their own end.
type referentLogger struct{ logging.Logger }

// WithValues returns a logger that discards everything if it is for a goroutine that watches a kind.
func (a referentLogger) WithValues(keysAndValues ...any) logging.Logger {
	if len(keysAndValues) == 2 && keysAndValues[0] == "kind" {
		return logging.NewNopLogger()
	}

	return referentLogger{a.Logger.WithValues(keysAndValues...)}
}

// Debug logs a debug line. It discards the line with which a goroutine that watches a kind ends.
func (a referentLogger) Debug(msg string, keysAndValues ...any) {
	if msg != "Stopped trying to watch the kind of a referent" {
		a.Logger.Debug(msg, keysAndValues...)
	}
}
