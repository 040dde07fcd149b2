// Package logging defines the small logger interface that the runtime and its providers write to. Begin with
// NewLogrLogger or NewSlogLogger. Loggers may be used concurrently.
//
// A Logger has two levels. Info is for the operator of a provider, who may have to act. Debug is for the analysis of
// what happened. A message is a constant. Variable parts are key-value pairs with lowerCamelCase keys, without
// secrets and whole objects.
//
// A Logger may have more methods, see ExtendedLogger. The loggers of this package have them. The functions Error,
// Warn and WithName also work with other loggers.
package logging

import "github.com/go-logr/logr"

// A Logger writes structured log messages.
type Logger interface {
	// Info logs a message that needs the attention of an operator, with alternating keys
	// and values.
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

// NewLogrLogger returns an ExtendedLogger that writes to l. It writes Info and Warn at the current level of l, Debug
// one level more verbose, and Error as an error. The log shows the caller of this package as the call site.
func NewLogrLogger(l logr.Logger) Logger {
	return logrLogger{l: l.WithCallDepth(1)}
}

// DebugEnabled reports whether l writes Debug messages. Call it before work that only Debug needs. It returns true
// for a logger without a method DebugEnabled() bool.
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

// Warn adds the severity as a pair, because logr has no warnings.
func (l logrLogger) Warn(msg string, keysAndValues ...any) {
	l.l.Info(msg, append([]any{keySeverity, severityWarning}, keysAndValues...)...)
}

func (l logrLogger) deeper() Logger { return logrLogger{l: l.l.WithCallDepth(1)} }

func (l logrLogger) WithName(name string) Logger { return logrLogger{l: l.l.WithName(name)} }

func (l logrLogger) WithValues(keysAndValues ...any) Logger {
	return logrLogger{l: l.l.WithValues(keysAndValues...)}
}
