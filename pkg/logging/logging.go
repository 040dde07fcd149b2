// Package logging is the small logger that the runtime and its providers write
// to. It has two levels, because there are two readers: Info is for whoever
// runs a provider and wants to know what to do, Debug is for whoever wants to
// know what happened.
//
// Messages are constants; what varies goes into key-value pairs with
// lowerCamelCase keys. No secrets and no whole objects belong there. Loggers may
// be used concurrently.
//
// A Logger may do more, see ExtendedLogger. Those of this package do; the
// functions Error, Warn and WithName make the best of any other.
package logging

import "github.com/go-logr/logr"

// A Logger writes structured log messages.
type Logger interface {
	// Info logs a message that calls for the attention of whoever runs the
	// program, with alternating keys and values.
	Info(msg string, keysAndValues ...any)

	// Debug logs a message that helps to understand what the program did, with
	// alternating keys and values.
	Debug(msg string, keysAndValues ...any)

	// WithValues returns a logger that adds the alternating keys and values to
	// each message. The original is not changed.
	WithValues(keysAndValues ...any) Logger
}

// NewNopLogger returns a logger that drops everything.
func NewNopLogger() Logger { return nopLogger{} }

// NewLogrLogger returns a logger that writes to l: Info and Warn at its current
// level, Debug one level more verbose, Error as an error. It is an
// ExtendedLogger. Call sites are reported as the callers of this package.
func NewLogrLogger(l logr.Logger) Logger {
	return logrLogger{l: l.WithCallDepth(1)}
}

// DebugEnabled says whether what l is given by Debug may be seen by anybody. Whoever
// would have to work for that asks first. A logger of an author's own that cannot tell,
// which those with a method DebugEnabled() bool can, is taken to write everything.
func DebugEnabled(l Logger) bool {
	d, ok := l.(interface{ DebugEnabled() bool })

	return !ok || d.DebugEnabled()
}

type nopLogger struct{}

func (nopLogger) Info(string, ...any)  {}
func (nopLogger) Debug(string, ...any) {}

func (nopLogger) DebugEnabled() bool { return false }

func (nopLogger) Error(error, string, ...any) {}
func (nopLogger) Warn(string, ...any)         {}

func (n nopLogger) WithValues(...any) Logger { return n }
func (n nopLogger) WithName(string) Logger   { return n }

type logrLogger struct {
	l logr.Logger
}

func (l logrLogger) Info(msg string, keysAndValues ...any)  { l.l.Info(msg, keysAndValues...) }
func (l logrLogger) Debug(msg string, keysAndValues ...any) { l.l.V(1).Info(msg, keysAndValues...) }

func (l logrLogger) DebugEnabled() bool { return l.l.V(1).Enabled() }

func (l logrLogger) Error(err error, msg string, keysAndValues ...any) {
	l.l.Error(err, msg, keysAndValues...)
}

// Warn adds the severity as a pair: logr has no warnings, and no level is filtered by as one.
func (l logrLogger) Warn(msg string, keysAndValues ...any) {
	l.l.Info(msg, append([]any{keySeverity, severityWarning}, keysAndValues...)...)
}

func (l logrLogger) deeper() Logger { return logrLogger{l: l.l.WithCallDepth(1)} }

func (l logrLogger) WithName(name string) Logger { return logrLogger{l: l.l.WithName(name)} }

func (l logrLogger) WithValues(keysAndValues ...any) Logger {
	return logrLogger{l: l.l.WithValues(keysAndValues...)}
}
